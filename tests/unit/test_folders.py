"""Folders import one way: of two folders, at most one imports the other."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path

from sources import SOURCE, tree


def imported(module: Path) -> Iterator[str]:
    """The names that a module imports, also inside functions: modules, or what stands in one."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def folder_of(name: str, root: Path) -> Path | None:
    """The folder of the module that an imported name is or stands in; None for another library."""
    first, *parts = name.split(".")
    if first != root.name:
        return None
    place = root
    for part in parts:
        if not (place / part).is_dir():
            break
        place /= part
    return place


@cache
def imports_between(root: Path) -> dict[Path, set[Path]]:
    """Which folders the modules of each folder import from."""
    found = defaultdict(set)
    for module in root.rglob("*.py"):
        found[module.parent] |= {folder for name in imported(module) if (folder := folder_of(name, root))}
    return found


def both_ways(root: Path) -> list[tuple[str, str]]:
    """The pairs of folders, neither inside the other, with all that is in them, that import each other."""
    found = imports_between(root)
    around = {folder: [folder, *folder.parents] for folder in {*found}.union(*found.values())}
    reached = {
        (one, other)
        for folder, targets in found.items()
        for target in targets
        for one, other in product(around[folder], around[target])
    }
    return [
        (str(one.relative_to(root)), str(other.relative_to(root)))
        for one, other in combinations(sorted(found), 2)
        if (one, other) in reached and (other, one) in reached
        if not one.is_relative_to(other) and not other.is_relative_to(one)
    ]


def test_no_two_folders_import_each_other():
    assert len(imports_between(SOURCE)) > 30
    assert both_ways(SOURCE) == []


def test_every_folder_of_modules_is_a_package():
    assert {folder for folder in imports_between(SOURCE) if not (folder / "__init__.py").exists()} == set()


def test_two_folders_that_import_each_other_are_noticed(tmp_path):
    root = tmp_path / "memoryos"
    codes = {"a": "", "a/x": "from memoryos.b import y\n", "b": "def f():\n    import memoryos.a.x\n"}
    for name, code in codes.items():
        (root / name).mkdir(parents=True)
        (root / name / "m.py").write_text(code)
    assert both_ways(root) == [("a", "b"), ("a/x", "b")]
