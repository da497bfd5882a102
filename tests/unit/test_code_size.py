"""Functions stay short enough to be read at once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from sources import nodes

LONGEST = 55  # lines, without the docstring

SOURCE = Path(__file__).parents[2] / "src"


def lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def docstrings_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    return function.body[:1] if ast.get_docstring(function) else []


def test_no_function_is_longer_than_a_screen():
    functions = [
        (path.name, node.name, lines_of(node) - sum(map(lines_of, docstrings_of(node))))
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 100
    assert [found for found in functions if found[2] > LONGEST] == []


def test_only_the_settings_read_the_environment():
    readers = sorted(
        path.name for path in SOURCE.rglob("*.py") if re.search(r"\bos\.environ\b", path.read_text("utf-8"))
    )
    # minilm sets one variable that keeps onnxruntime from telling its use over the network, short_waits one of OpenMP;
    # configured_traces reads those of OpenTelemetry, which have one meaning for all programs.
    assert readers == ["__init__.py", "configured_traces.py", "short_waits.py"]
    assert "ORT_DISABLE_TELEMETRY" in (SOURCE / "memoryos/models/minilm/__init__.py").read_text("utf-8")
