"""The modules of the library as syntax trees, each parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import memoryos

SOURCE = Path(memoryos.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text("utf-8"))


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Each node of each module, with the path of the module."""
    return ((module, node) for module in MODULES for node in ast.walk(tree(module)))
