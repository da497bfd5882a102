"""Whether the command line asks for JSON, in whichever place `--json` stands."""

from __future__ import annotations

import sys
from itertools import takewhile
from typing import Annotated

import typer

JSON = "--json"
JsonFlag = Annotated[bool, typer.Option(JSON, help="Print one JSON document and nothing else.")]


def is_json_wanted() -> bool:
    """Whether `--json` is among the options: all that follows `--` is text."""
    return JSON in takewhile(lambda argument: argument != "--", sys.argv[1:])
