"""The reference of MCP: each tool with what it takes and returns, the resources and the prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memoryos.interface.mcp.mcp_resources import RECALL, RESOURCES
from memoryos.interface.mcp.mcp_tools import TOOLS, McpTool


def mcp_page(generated: str) -> str:
    """Every tool, resource and prompt, in the order in which a client lists them."""
    head = [
        "# MCP tools",
        "",
        generated,
        "",
        "[Use it with an MCP client](../how-to/mcp.md) says how to connect one.",
        "",
        "## Tools",
        "",
        "| tool | operation | reads only | destructive | idempotent |",
        "|---|---|---|---|---|",
        *map(_row, TOOLS),
        "",
    ]
    rest = [
        "## Resources",
        "",
        "| address | title | what it is |",
        "|---|---|---|",
        *(f"| `{one.uri}` | {one.title} | {one.description} |" for one in RESOURCES),
        "",
        "## Prompt",
        "",
        f"`{RECALL.name}` ({RECALL.title}): {RECALL.description} It takes:",
        "",
        *(f"- `{one.name}`: {one.description}" for one in RECALL.arguments or ()),
    ]
    return "\n".join([*head, *(line for tool in TOOLS for line in _tool(tool)), *rest, ""])


def _row(tool: McpTool) -> str:
    told = tool.told().annotations
    hints = (told.read_only_hint, told.destructive_hint, told.idempotent_hint) if told else ()
    told_hints = " | ".join("yes" if one else "no" for one in hints)
    return f"| [`{tool.name}`](#{tool.name}) | {', '.join(f'`{one}`' for one in tool.operations)} | {told_hints} |"


def _tool(tool: McpTool) -> Iterator[str]:
    told = tool.told()
    yield from (f"### `{tool.name}`", "", f"{tool.title}. {_cell(tool.description)}", "")
    yield from ("| argument | type | meaning |", "|---|---|---|")
    yield from _fields(told.input_schema)
    yield from ("", "It returns:", "", "| field | type | meaning |", "|---|---|---|")
    yield from _fields(dict(tool.result))
    yield ""


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    needed = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        told = _cell(one.get("description", ""))
        is_needed = " (required)" if name in needed and "additionalProperties" in schema else ""
        yield f"| `{name}` | {_type(one)}{is_needed} | {told} |"


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(f"`{one}`" for one in field["enum"])
    if "$ref" in field:
        return "object"
    if field["type"] == "array":
        return f"list of {_type(field['items'])}"
    least, most = field.get("minimum"), field.get("maximum")
    bounds = f", {least:,} to {most:,}" if least is not None else ""
    longest = f", at most {field['maxLength']:,} characters" if "maxLength" in field else ""
    return f"{field['type']}{bounds}{longest}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<memory>", "`<memory>`").replace("</memory>", "`</memory>`")
