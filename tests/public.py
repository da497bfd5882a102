"""The public methods of Memory, MemoryOS and their async twins, with those of their nouns, found by reflection."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, get_type_hints

from memoryos import Memory, MemoryOS


@cache
def nouns_of(kind: type) -> Mapping[str, type]:
    """The parts with verbs of their own, by the name of their property."""
    properties = inspect.getmembers(kind, lambda member: isinstance(member, property))
    made = {name: get_type_hints(member.fget)["return"] for name, member in properties if not name.startswith("_")}
    return {name: one for name, one in made.items() if hasattr(one, "_hand") or hasattr(one, "__orig_bases__")}


def methods_of(kind: type) -> list[str]:
    """The names of the methods, those of a noun with its name before them: "add", "facts.add"."""
    own = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    static = [name for name in own if isinstance(inspect.getattr_static(kind, name), staticmethod)]
    verbs = [f"{noun}.{verb}" for noun, one in nouns_of(kind).items() for verb in methods_of(one)]
    return [*(name for name in own if name not in static), *verbs]


def function_of(kind: type, name: str) -> Callable[..., Any]:
    """The function behind a method that `methods_of` names."""
    noun, _, verb = name.rpartition(".")
    fix = "add its class to async_nouns.py, and a property to async_memory.py"
    assert not noun or noun in nouns_of(kind), f"{kind.__name__} has no noun {noun!r}: {fix}"
    return getattr(nouns_of(kind)[noun] if noun else kind, verb)


def method_of(thing: object, name: str) -> Callable[..., Any]:
    """The method of an object."""
    return attrgetter(name)(thing)


def store_of(memory: Memory) -> MemoryOS:
    """The store that a memory is in."""
    return MemoryOS(memory._engine)
