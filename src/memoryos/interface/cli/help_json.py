"""The help of a command as a JSON document."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any


def help_json(command: Any, ctx: Any) -> str:
    """What a command or group does, with its arguments, options and commands."""
    shown = [one for one in command.params if not one.hidden]
    document = {
        "command": ctx.command_path,
        "help": _line(command.help),
        "arguments": [_argument(one) for one in shown if one.param_type_name == "argument"],
        "options": [_option(one) for one in shown if one.param_type_name == "option"],
    }
    if names := getattr(command, "places", ()):
        document["commands"] = {name: _line(command.get_command(ctx, name).help) for name in names}
    return json.dumps(document, ensure_ascii=False, indent=2)


def _argument(one: Any) -> dict[str, Any]:
    return {"name": one.name.upper(), "required": one.required, "repeated": one.nargs < 0, "help": _line(one.help)}


def _option(one: Any) -> dict[str, Any]:
    names = [*one.opts, *one.secondary_opts]
    value = one.default.value if isinstance(one.default, Enum) else one.default
    told = None if callable(value) else value
    return {"names": names, "required": one.required, "default": told, "help": _line(one.help)}


def _line(text: str | None) -> str:
    return " ".join((text or "").split())
