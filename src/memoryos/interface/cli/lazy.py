"""Groups of commands whose modules are loaded when a command is asked for: `--version` loads none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer.main
from typer.core import TyperGroup

# By the name of each command its module, beside this one, and the function or Typer in it.
Places = Mapping[str, tuple[str, str]]


class LazyGroup(TyperGroup):
    """A group that loads its commands when they are needed."""

    places: ClassVar[Places]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: dict[str, Any] = dict.fromkeys(self.places)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, created at the first call, or None."""
        if cmd_name in self.places and self.commands[cmd_name] is None:
            self.commands[cmd_name] = _command(cmd_name, *self.places[cmd_name])
        return super().get_command(ctx, cmd_name)


def _command(name: str, module: str, attribute: str) -> Any:
    found = getattr(import_module(f"{__package__}.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
        command.name = name
        return command
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    return typer.main.get_command(alone)
