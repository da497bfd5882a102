"""The words of the command line for an error of the library: its options and arguments, and the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memoryos.config import Settings
from memoryos.errors import InvalidInput, PrivacyRefused
from memoryos.interface.doors import COMMANDS

# The parameter of a command that gives an argument of the library, where their names differ.
_PARAMETERS = {
    "actions": "action",
    "any_tags": "any_tag",
    "attachment": "attach",
    "file": "path",
    "filters.any_tags": "any_tag",
    "filters.metadata": "meta",
    "filters.no_tags": "no_tag",
    "id": "memory_id",
    "kinds": "kind",
    "metadata": "meta",
    "mounts": "mount",
    "no_tags": "no_tag",
    "pages": "limit",
    "policies": "paths",
    "poll_seconds": "poll",
    "scope.agent": "agent",
    "scope.session": "session",
    "scope.tenant": "tenant",
    "scope.user": "user",
    "store": "db",
    "tags": "tag",
    "text": "path",
    "target": "path",
    "tiers": "tier",
}


def worded(error: InvalidInput, parameters: Sequence[Any]) -> InvalidInput:
    """The error of a command with these parameters, in their names."""
    names = {one.name: _shown(one) for one in parameters}
    problem, fix = (_text(text, names) for text in (error.problem, error.fix))
    field = _named(error.field, names, error.field)
    return (
        PrivacyRefused(field, error.kinds) if isinstance(error, PrivacyRefused) else InvalidInput(field, problem, fix)
    )


def reworded(message: str, parameters: Sequence[Any]) -> str:
    """The message of another error, in the names of a command with these parameters."""
    return _text(message, {one.name: _shown(one) for one in parameters})


def _text(message: str, names: Mapping[str, str]) -> str:
    """A text with options for the parameters, and commands for the operations, that it names."""

    def named(found: re.Match[str]) -> str:
        command = COMMANDS.get(found[1]) if "." in found[1] else None
        return f"`memoryos {command}`" if command else _named(found[1], names, found[0])

    return re.sub(r"`([\w.]+)`", named, message)


def _named(field: str, names: Mapping[str, str], otherwise: str) -> str:
    """The name of the option, the argument or the variable."""
    for known in (field, _PARAMETERS.get(field, field)):
        if known in names:
            return names[known]
    setting, dot, rest = field.partition(".")
    if setting == "parameters" and "param" in names:
        return names.get(rest, f"{names['param']} {rest}")
    return f"MEMORYOS_{setting.upper()}{dot}{rest}" if setting in Settings.model_fields else otherwise


def _shown(one: Any) -> str:
    return str(one.name.upper() if one.param_type_name == "argument" else max(one.opts, key=len))
