"""The page of the doors: each operation in Python, over HTTP, as MCP and on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from memoryos import Memory, MemoryOS
from memoryos.interface.doors import COMMANDS, NOT_CLI, NOT_MCP, NOT_REST, OTHER_NAMES, OTHER_TOOLS
from memoryos.interface.mcp.mcp_resources import RESOURCES
from memoryos.interface.mcp.mcp_tools import TOOLS
from memoryos.interface.rest.route import VERSION, Route
from memoryos.interface.rest.routes import ROUTES
from memoryos.interface.rest.streamed_routes import RESPOND, STREAMED


def operations() -> Iterator[str]:
    """The names of all public methods; those of MemoryOS have `store:` before them."""
    for kind, before in ((Memory, ""), (MemoryOS, "store:")):
        yield from (before + name for name in sorted(_methods(kind)))


def addresses() -> dict[str, Route]:
    """The routes by their operations."""
    found = {route.operation: route for route in (*ROUTES, *STREAMED)}
    return found | {"respond_stream": RESPOND}


def _methods(kind: type) -> Iterator[str]:
    for name, value in inspect.getmembers_static(kind):
        if name.startswith("_"):
            continue
        if inspect.isfunction(value):
            yield name
        elif isinstance(value, property):
            held = inspect.get_annotations(value.fget, eval_str=True).get("return") if value.fget else None
            if inspect.isclass(held) and held.__module__.startswith("memoryos.nouns"):
                yield from (f"{name}.{verb}" for verb in _methods(held))


def doors_page(generated: str) -> str:
    """The table, and why an operation lacks a door."""
    found = addresses()
    rows = [f"| `{name}` | {_address(name, found)} | {_mcp(name)} | {_command(name)} |" for name in operations()]
    reasons = [_reason(name) for name in operations() if name in {**NOT_REST, **NOT_MCP, **NOT_CLI}]
    return "\n".join(
        [
            "# Doors",
            "",
            generated,
            "",
            "The operations of `Memory`, and behind `store:` those of `MemoryOS`. The names are the same, except for",
            "those of [the second table](#other-names): the command of `noun.verb` is `memoryos noun verb`, with `-`",
            "for `_`; the `operationId` of an address is `noun_verb` or `store_noun_verb`; a tool of MCP has the",
            "noun or the verb.",
            "A dash stands for a door that an operation does not have; the [last table](#what-a-door-lacks) says why.",
            "",
            "| Python | REST | MCP | command |",
            "|---|---|---|---|",
            *rows,
            "",
            "## Other names",
            "",
            "| Python | its name | why |",
            "|---|---|---|",
            *_others(),
            "",
            "## What a door lacks",
            "",
            "| Python | REST | MCP | command |",
            "|---|---|---|---|",
            *reasons,
            "",
        ]
    )


def _others() -> Iterator[str]:
    for name in operations():
        if name in OTHER_NAMES:
            yield f"| `{name}` | {_command(name)} | {OTHER_NAMES[name]} |"
        for tool in TOOLS:
            if tool.name in OTHER_TOOLS and name in tool.operations:
                yield f"| `{name}` | tool `{tool.name}` | {OTHER_TOOLS[tool.name]} |"


def _address(name: str, found: dict[str, Route]) -> str:
    if name not in found:
        return "–"
    route = found[name]
    more = ", Accept: text/event-stream" if name == "respond_stream" else ""
    return f"`{route.verb} {VERSION}{route.path.replace(':path', '')}`{more}"


def _command(name: str) -> str:
    return f"`memoryos {COMMANDS[name]}`" if name in COMMANDS else "–"


def _mcp(name: str) -> str:
    tools = [f"tool `{tool.name}`" for tool in TOOLS if name in tool.operations]
    return ", ".join([*tools, *(f"`{one.uri}`" for one in RESOURCES if one.operation == name)]) or "–"


def _reason(name: str) -> str:
    return f"| `{name}` | {NOT_REST.get(name, '')} | {NOT_MCP.get(name, '')} | {NOT_CLI.get(name, '')} |"
