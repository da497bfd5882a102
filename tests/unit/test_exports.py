"""What a public method takes or returns can be imported from `memoryos`: nobody needs to know the packages inside."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import datetime
import inspect
import pathlib
import typing
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

import numpy
import numpy.typing
import pydantic_settings
import pytest

import memoryos
from memoryos import AsyncMemory, AsyncMemoryOS, Memory, MemoryOS, errors
from public import function_of, methods_of, nouns_of

KINDS = [Memory, MemoryOS, AsyncMemory, AsyncMemoryOS]


def named_in(hint: Any) -> Iterator[type]:
    """The project's own classes in an annotation."""
    for one in (get_origin(hint), hint):
        if inspect.isclass(one) and one.__module__.startswith("memoryos."):
            yield one
    for inner in get_args(hint):
        yield from named_in(inner) if not isinstance(inner, list) else (one for each in inner for one in named_in(each))


def functions_of(kind: type) -> list[Any]:
    """Its methods with those of its nouns, and what opens it."""
    return [*(function_of(kind, name) for name in methods_of(kind)), getattr(kind, "open", memoryos.open)]


def functions_in(exported: Any) -> Iterator[Any]:
    """The public functions of an exported name: its methods and properties, or itself."""
    if inspect.isfunction(exported):
        yield exported
    for name, one in inspect.getmembers_static(exported) if inspect.isclass(exported) else ():
        found = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
        if not name.startswith("_") and inspect.isfunction(found) and found.__module__.startswith("memoryos."):
            yield inspect.unwrap(found)


EXPORTED = [getattr(memoryos, name) for name in memoryos.__all__]
FUNCTIONS = [
    *(function for kind in KINDS for function in functions_of(kind)),
    *(function for one in EXPORTED for function in functions_in(one)),
]
IN_SIGNATURES = {one for function in FUNCTIONS for hint in get_type_hints(function).values() for one in named_in(hint)}
GIVEN = {  # what a program makes to answer the library: what the methods of protocols return
    one
    for kind in EXPORTED
    if getattr(kind, "_is_protocol", False)
    for function in functions_in(kind)
    for one in named_in(get_type_hints(function).get("return"))
}
IN_GIVEN = {part for one in GIVEN for hint in get_type_hints(one).values() for part in named_in(hint)}
ERRORS = {one for one in vars(errors).values() if inspect.isclass(one)}  # `memoryos.errors` is public itself
NOUNS = {noun for kind in KINDS for noun in nouns_of(kind).values()}
NEEDED = sorted((IN_SIGNATURES | IN_GIVEN | NOUNS) - ERRORS, key=lambda one: one.__name__)


OF_OTHERS = {
    name
    for module in (builtins, typing, collections.abc, datetime, pathlib, numpy, numpy.typing, pydantic_settings)
    for name in dir(module)
}


def words_in(annotation: str) -> Iterator[str]:
    """The names that are written in an annotation, without those of other libraries."""
    tree = ast.parse(annotation)
    modules = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr not in OF_OTHERS:
            yield node.attr
        elif isinstance(node, ast.Name) and id(node) not in modules and node.id not in OF_OTHERS:
            yield node.id


WRITTEN = sorted(
    {
        word: written.__globals__
        for function in FUNCTIONS
        for written in [inspect.unwrap(getattr(function, "__func__", function))]
        for annotation in written.__annotations__.values()
        for word in words_in(annotation)
        if word not in vars(errors)
    }.items(),
    key=lambda found: found[0],
)


@pytest.mark.parametrize(("name", "where"), WRITTEN, ids=[name for name, _ in WRITTEN])
def test_a_name_in_a_public_signature_is_exported_aliases_included(name, where):
    assert name in memoryos.__all__
    assert name not in where or getattr(memoryos, name) is where[name]


def test_aliases_are_among_the_names():
    assert {"Messages", "NameFinder", "Progress", "Clock"} <= {name for name, _ in WRITTEN}


@pytest.mark.parametrize("needed", NEEDED, ids=lambda one: one.__name__)
def test_a_class_in_a_public_signature_is_exported(needed):
    assert getattr(memoryos, needed.__name__) is needed
    assert needed.__name__ in memoryos.__all__


def test_every_exported_name_is_there():
    assert all(getattr(memoryos, name) is not None for name in memoryos.__all__)
    assert sorted(memoryos.__all__) == memoryos.__all__
