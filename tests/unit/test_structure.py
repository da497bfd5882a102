"""The code's own measures: no long file, and no name that stands for two things."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import memoryos

SOURCE = Path(memoryos.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_LINES = 500


def doubled(names: list[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_no_module_is_long(module):
    assert len(module.read_text("utf-8").splitlines()) <= MOST_LINES


def test_no_two_modules_have_one_name():
    assert doubled([module.stem for module in MODULES if module.stem != "__init__"]) == []


def test_no_two_public_classes_have_one_name():
    nodes = [node for module in MODULES for node in ast.walk(ast.parse(module.read_text("utf-8")))]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    assert len(classes) > 300
    assert doubled([name for name in classes if not name.startswith("_")]) == []


def test_what_is_doubled_is_noticed():
    assert doubled(["store", "page", "store"]) == ["store"]
