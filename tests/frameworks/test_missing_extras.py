"""A module whose library is not installed says how to install it."""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from memoryos.errors import MissingExtra

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("langgraph", "langgraph.store.base", "langgraph"),
        ("llamaindex", "llama_index.core.base.llms.types", "llamaindex"),
        ("agent_framework", "agent_framework", "agent-framework"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, module, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"memoryos.frameworks.{module}", raising=False)
    with pytest.raises(MissingExtra) as error:
        importlib.import_module(f"memoryos.frameworks.{module}")
    assert f"pip install 'memoryos-engine[{extra}]'" in str(error.value)
    assert extra in EXTRAS


@pytest.mark.parametrize("module", ["function_tools", "mem0", "mem0_terms", "openai_agents", "session_items"])
def test_the_others_need_no_library(module):
    tree = ast.parse((ROOT / "src/memoryos/frameworks" / f"{module}.py").read_text("utf-8"))
    froms = {node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
    assert "memoryos" in froms
    assert froms | names <= {"memoryos", "pydantic"} | sys.stdlib_module_names
