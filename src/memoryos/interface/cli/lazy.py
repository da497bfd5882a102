"""Groups of commands whose modules are loaded when a command is asked for: `--version` loads none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

import typer.main
from typer.core import TyperCommand, TyperGroup

from memoryos.errors import InvalidInput, Refused
from memoryos.interface.cli.json_wanted import JSON, JsonFlag, is_json_wanted
from memoryos.interface.cli.mention import mention

# By the name of each command its module, beside this one, and the function or Typer in it.
Places = Mapping[str, tuple[str, str]]

_GROUPS = "groups"  # the module of all groups


class LazyCommand(TyperCommand):
    """A command of a lazy group. With `--json`, its help is a JSON document. Its errors name its own parameters."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        for one in self.params:
            if one.param_type_name == "argument" and one.metavar is None:
                one.metavar = one.name.upper()

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except InvalidInput as error:
            if error.step:  # a step has fields of its own
                raise
            from memoryos.interface.cli.parameter_names import worded

            raise worded(error, self.params) from error
        except Refused as error:
            from memoryos.interface.cli.parameter_names import reworded

            error.args = (reworded(str(error), self.params),)
            raise

    def get_help(self, ctx: Any) -> str:
        """The help, for a person or for a program."""
        return _help_json(self, ctx) if is_json_wanted() else super().get_help(ctx)


class LazyGroup(TyperGroup):
    """A group that loads its commands when they are needed. Without a command it prints its help."""

    places: ClassVar[Places]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "suggest_commands": False})  # of its own alone
        self.commands: dict[str, Any] = dict.fromkeys(self.places)
        self._is_listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, created at the first call, or None. In a list, it has only a name and its help."""
        if self._is_listing and cmd_name in self.places and self.places[cmd_name][0] != _GROUPS:
            return mention(cmd_name, *self.places[cmd_name])
        if cmd_name in self.places and self.commands[cmd_name] is None:
            self.commands[cmd_name] = _command(cmd_name, *self.places[cmd_name])
        return super().get_command(ctx, cmd_name)

    def get_help(self, ctx: Any) -> str:
        """The help, for a person or for a program."""
        with self._listing():
            return _help_json(self, ctx) if is_json_wanted() else super().get_help(ctx)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """What may stand here, for a shell."""
        with self._listing():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        """Commands are only named meanwhile."""
        self._is_listing = True
        try:
            yield
        finally:
            self._is_listing = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments of the group; without a command, ask for the help."""
        has_command = any(argument != JSON for argument in args)
        return super().parse_args(ctx, args if has_command or ctx.resilient_parsing else ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command and its arguments; it gets the `--json` of its group. Tells which one may be meant instead."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except typer.TyperException as error:
            error.message += self._hint([one for one in args if not one.startswith("-")])
            raise
        return name, command, [JSON, *rest] if is_json_wanted() and JSON not in rest else rest

    def _hint(self, asked: list[str]) -> str:
        from memoryos.interface.cli.suggestion import suggested

        known = self.known()
        found = suggested(asked, known)
        if not found:
            return "" if any(known.values()) else f" There are: {', '.join(known)}"
        told = f"{', '.join(map(repr, found[:-1]))} or {found[-1]!r}" if found[1:] else repr(found[0])
        return f" Did you mean {told}?"

    def known(self) -> dict[str, list[str]]:
        """The verbs of each noun, and none of each command."""
        groups = {name: attribute for name, (module, attribute) in self.places.items() if module == _GROUPS}
        module = import_module(f"{__package__}.{_GROUPS}") if groups else None
        verbs = {name: list(getattr(module, attribute).info.cls.places) for name, attribute in groups.items()}
        return {name: verbs.get(name, []) for name in self.places}


def group(kind: type[LazyGroup], text: str) -> typer.Typer:
    """A group of commands with its help."""
    made = typer.Typer(cls=kind, help=text)
    made.callback()(_accept_json)
    return made


def _accept_json(_json: JsonFlag = False) -> None: ...


def _command(name: str, module: str, attribute: str) -> Any:
    found = getattr(import_module(f"{__package__}.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
        command.name = name
        return command
    alone = typer.Typer(add_completion=False)
    alone.command(name, cls=LazyCommand)(found)
    return typer.main.get_command(alone)


def _help_json(command: Any, ctx: Any) -> str:
    from memoryos.interface.cli.help_json import help_json

    return help_json(command, ctx)
