"""The reference of the command line: each command with its arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args

from memoryos.interface.cli.app import command
from memoryos.interface.faults import EXIT_CODES, INTERRUPTED, UNCONFIRMED


def commands_page(generated: str) -> str:
    """Every command, in the order of the help."""
    head = [
        "# Commands",
        "",
        generated,
        "",
        "[The command line](../how-to/command-line.md) shows the commonest commands.",
        "[Errors](errors.md#exit-codes) lists the exit codes.",
        "",
    ]
    return "\n".join([*head, *_under(command(), "memoryos")])


def exit_codes() -> Iterator[tuple[int, str]]:
    """Each exit code of the command with its meaning."""
    yield 0, "Done."
    for _, code, meaning in sorted(EXIT_CODES, key=lambda row: row[1]):
        yield code, meaning
    yield UNCONFIRMED, "Nothing was changed: `memoryos requests do` showed what would be, and nobody confirmed it."
    yield INTERRUPTED, "Interrupted with Ctrl-C."


def _under(one: Any, name: str) -> Iterator[str]:
    """A command, or the commands of a group."""
    if not hasattr(one, "list_commands"):
        yield from _command(one, name)
        return
    context = one.context_class(one, info_name=name)
    for part in one.list_commands(context):
        yield from _under(one.get_command(context, part), f"{name} {part}")


def _command(one: Any, name: str) -> Iterator[str]:
    shown = [parameter for parameter in one.params if parameter.name != "help"]
    arguments = "".join(f" {_placeholder(parameter)}" for parameter in shown if parameter.param_type_name == "argument")
    yield from (f"## `{name}{arguments}`", "", " ".join((one.help or "").split()), "")
    if shown:
        yield from ("| option | default | meaning |", "|---|---|---|", *map(_row, shown), "")


def _placeholder(one: Any) -> str:
    name = f"{one.name.upper()}..." if one.nargs < 0 else one.name.upper()
    return name if one.required else f"[{name}]"


def _row(one: Any) -> str:
    is_argument = one.param_type_name == "argument"
    names = f"`{one.name.upper()}`" if is_argument else ", ".join(f"`{name}`" for name in one.opts + one.secondary_opts)
    meaning = " ".join(filter(None, [one.help, _choices(one.type_descriptor.annotation)]))
    return f"| {names} | {_default(one)} | {_cell(meaning)} |"


def _default(one: Any) -> str:
    if one.required:
        return "required"
    value = one.default.value if isinstance(one.default, Enum) else one.default
    return "" if value is None or value is False or callable(value) else f"`{_cell(str(value))}`"


def _choices(annotation: Any) -> str:
    """The values of a choice, or of a list of choices."""
    for kind in (annotation, *get_args(annotation)):
        if inspect.isclass(kind) and issubclass(kind, Enum):
            return "One of " + ", ".join(f"`{choice.value}`" for choice in kind) + "."
    return ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
