"""The code's own measures: no long file, and no name that stands for two things."""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import memoryos
from memoryos import exports
from sources import MODULES, SOURCE, nodes, tree

EXPORTED = [one for name in memoryos.__all__ if inspect.isclass(one := getattr(memoryos, name))]
MOST_LINES = 500
MOST_METHODS = 25
LOCKS = ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore")


@cache
def classes() -> list[ast.ClassDef]:
    return [node for _, node in nodes() if isinstance(node, ast.ClassDef)]


def doubled(names: list[str]) -> list[str]:
    return sorted(name for name, times in Counter(names).items() if times > 1)


def test_no_module_is_long():
    lines = {str(module.relative_to(SOURCE)): len(module.read_text("utf-8").splitlines()) for module in MODULES}
    assert len(lines) > 300
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_two_modules_have_one_name():
    assert doubled([module.stem for module in MODULES if module.stem != "__init__"]) == []


def test_no_two_classes_have_one_name():
    assert len(classes()) > 300
    assert doubled([node.name for node in classes()]) == []


def test_no_text_of_the_program_points_to_a_page_of_the_clone():
    """A wheel has none: what is shown names the setting or the command itself. Docstrings of modules may."""
    docstrings = {
        id(node.body[0].value)
        for _, node in nodes()
        if isinstance(node, ast.Module) and node.body[:1] and isinstance(node.body[0], ast.Expr)
    }
    texts = [
        (module.name, node.value)
        for module, node in nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]
    assert [(name, text) for name, text in texts if "docs/" in text] == []


def test_no_import_is_hidden_from_the_layers():
    """Allowed are names at their first use, commands that are asked for, and a module that a person names."""
    hidden = {
        str(module.relative_to(SOURCE))
        for module, node in nodes()
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))
    }
    assert hidden == {"__init__.py", "interface/cli/lazy.py", "interface/cli/worker_command.py"}


def test_no_lock_of_a_process_outlives_a_fork():
    """A child would wait for a thread that it does not have: use our own `cached_property` and `ProcessLock`."""
    shared = {
        str(module.relative_to(SOURCE))
        for module in MODULES
        for owner in ast.walk(tree(module))
        if isinstance(owner, ast.Module | ast.ClassDef)
        for one in owner.body
        if isinstance(one, ast.Assign | ast.AnnAssign)
        and isinstance(one.value, ast.Call)
        and ast.unparse(one.value.func).split(".")[-1]
        in ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore")
    }
    assert shared == {"infrastructure/vault/sqlite/fork_gate.py"}  # for which a fork waits
    locking = {
        module.name
        for module, node in nodes()
        if isinstance(node, ast.ImportFrom)
        and node.module == "functools"
        and "cached_property" in [one.name for one in node.names]
    }
    assert locking == set()


def test_what_is_doubled_is_noticed():
    assert doubled(["store", "page", "store"]) == ["store"]


def methods_in(node: ast.ClassDef) -> list[str]:
    """The public methods that a class defines itself; its properties are attributes to those who use it."""
    functions = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [one.name for one in functions if not one.name.startswith("_") and not is_property(one)]


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id in ("property", "cached_property") for one in function.decorator_list
    )


def test_no_class_defines_more_than_25_methods():
    assert [(node.name, len(methods_in(node))) for node in classes() if len(methods_in(node)) > MOST_METHODS] == []


def test_no_exported_class_has_more_than_25_methods_with_those_it_inherits():
    assert len(EXPORTED) > 50
    assert {kind.__name__: found for kind in EXPORTED if len(found := public_methods_of(kind)) > MOST_METHODS} == {}


def public_methods_of(kind: type) -> set[str]:
    own = [base for base in kind.__mro__ if base.__module__.startswith("memoryos")]
    return {name for base in own for name, one in vars(base).items() if callable_of(one) and not name.startswith("_")}


def callable_of(member: object) -> bool:
    return inspect.isfunction(member) or isinstance(member, staticmethod | classmethod)


def test_what_the_store_names_through_the_package_lies_below_it():
    """`lint-imports` leaves out that import of the whole package."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    store = next(number for number, layer in enumerate(layers) if "memoryos.memory_os" in layer)
    lower = {one.removeprefix("memoryos.") for layer in layers[store + 1 :] for one in layer.split(" | ")}
    named = {
        node.attr
        for node in ast.walk(tree(SOURCE / "memory_os.py"))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "memoryos"
    }
    assert {"Memory", "Settings", "Users"} <= named
    homes = {name: exports.MODULES[name].partition(".")[0] for name in named}
    listed = {one.removeprefix("memoryos.") for layer in layers for one in layer.split(" | ")}
    assert {name: home for name, home in homes.items() if home in listed and home not in lower} == {}
