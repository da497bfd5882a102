"""No operation lacks a door silently: each has an address, a tool and a command, or a reason for having none."""

from __future__ import annotations

import re

import pytest

from memoryos import Memory, MemoryOS
from memoryos.interface.cli.app import command
from memoryos.interface.doors import COMMANDS, NOT_CLI, NOT_MCP, NOT_REST, OTHER_NAMES, OTHER_TOOLS, own_name
from memoryos.interface.mcp.mcp_resources import RESOURCES
from memoryos.interface.mcp.mcp_tools import TOOLS
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.routes import ROUTES
from memoryos.interface.rest.streamed_routes import STREAMED
from public import methods_of

OPERATIONS = {*methods_of(Memory), *(f"store:{name}" for name in methods_of(MemoryOS))}
ADDRESSES = {route.operation for route in (*ROUTES, *STREAMED)} | {"respond_stream"}


MCP = {operation for one in TOOLS for operation in one.operations} | {one.operation for one in RESOURCES}


@pytest.mark.parametrize(
    ("doors", "reasons"),
    [(ADDRESSES, NOT_REST), (MCP, NOT_MCP), (COMMANDS, NOT_CLI)],
    ids=["rest", "mcp", "cli"],
)
def test_each_operation_has_a_door_or_a_reason(doors, reasons):
    assert OPERATIONS - {*doors} - reasons.keys() == set()
    assert {*doors} & reasons.keys() == set()
    assert {*doors, *reasons} - OPERATIONS == set(), "doors of operations that do not exist"
    assert all(reasons.values())


def test_a_command_has_the_name_of_its_operation_or_a_reason_for_another():
    named = {operation: line.partition(" --")[0] for operation, line in COMMANDS.items()}
    assert {operation for operation, name in named.items() if name != own_name(operation)} == OTHER_NAMES.keys()
    assert all(OTHER_NAMES.values())


def test_a_tool_has_the_name_of_its_operations_or_a_reason_for_another():
    other = {one.name for one in TOOLS if any(one.name not in operation.split(".") for operation in one.operations)}
    assert other == OTHER_TOOLS.keys()


def test_a_branch_is_worked_on_by_the_ways_that_its_reasons_name():
    assert "`branch=NAME`" in NOT_REST["branch"]
    assert any("branch" in Parameters.of(route).query.model_fields for route in ROUTES)
    assert "`memoryos --branch NAME COMMAND`" in NOT_CLI["branch"]
    assert "--branch" in {name for one in command().params for name in one.opts}


@pytest.mark.parametrize("reasons", [NOT_REST, NOT_CLI, NOT_MCP, OTHER_NAMES, OTHER_TOOLS])
def test_a_reason_names_addresses_and_commands_that_exist(reasons):
    told = " ".join(reasons.values())
    addresses = {f"{route.verb} /v1{route.path}" for route in (*ROUTES, *STREAMED)}
    assert {*re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`", told)} - addresses == set()
    for line in {*re.findall(r"`memoryos ([a-z][a-z -]*?)(?: --[^`]*)?`", told)}:
        found = command()
        for word in line.split():
            found = found.get_command(found.context_class(found), word)
            assert found is not None, line


def test_no_two_routes_have_one_address():
    addresses = [(route.verb, route.path) for route in (*ROUTES, *STREAMED)]
    assert len(addresses) == len({*addresses}) == len(ADDRESSES) - 1


@pytest.mark.parametrize("line", sorted({*COMMANDS.values()}))
def test_the_command_of_an_operation_exists(line):
    found = command()
    for word in line.split():
        if word.startswith("--"):
            assert word in {name for parameter in found.params for name in parameter.opts}
        elif hasattr(found, "list_commands"):
            found = found.get_command(found.context_class(found), word)
            assert found is not None
        else:
            assert found.params, "the word is an argument"
