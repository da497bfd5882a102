"""Mention: a command as lists and completion show it, by name and docstring, without its module being imported."""

from __future__ import annotations

from importlib.abc import InspectLoader
from importlib.util import find_spec
from inspect import cleandoc
from types import CodeType

from typer.core import TyperCommand


def mention(name: str, module: str, function: str) -> TyperCommand:
    """The command with its help, for a list; it cannot run."""
    return TyperCommand(name, help=cleandoc(_docstring(module, function)))


def _docstring(module: str, function: str) -> str:
    """The docstring of a function in a module, read from the compiled module: it is the first constant."""
    spec = find_spec(f"{__package__}.{module}")
    loader = spec.loader if spec else None
    code = loader.get_code(spec.name) if spec and isinstance(loader, InspectLoader) else None
    for constant in code.co_consts if code else ():
        if isinstance(constant, CodeType) and constant.co_name == function and constant.co_consts:
            return str(constant.co_consts[0] or "")
    raise LookupError(f"{module} has no function {function}")
