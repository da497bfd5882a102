"""`memoryos privacy find` and `governance reveal`: personal data and secrets in a text, and pseudonyms turned back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory
from memoryos.operation.intake.decoded import Decoded, undecodable
from memoryos.privacy.detector import detect

if TYPE_CHECKING:
    from memoryos.privacy.sensitive import SensitiveSpan

_STANDARD_INPUT = "-"

File = Annotated[str, typer.Argument(metavar="FILE", help="A file with the text, or - for standard input.")]


def find(
    file: File = _STANDARD_INPUT,
    show: Annotated[bool, typer.Option("--show", help="Print the words, too.")] = False,
    json: Json = False,
) -> None:
    """Find e-mail addresses, phone, card and identity numbers, network addresses and secrets in a text.

    Without --show, it prints only kinds and places.
    """
    text = _read(file)
    found = list(_told(text, detect(text), show=show))
    if json:
        render.print_json({"found": found})
        return
    columns = ("kind", "line", "start", "end", *(("text",) if show else ()))
    table = Table(*columns)
    for one in found:
        table.add_row(*(Text(str(one[column])) for column in columns))
    render.console().print(table if found else "Nothing was found.")


def reveal(
    file: File = _STANDARD_INPUT,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Turn the pseudonyms of a user back; MEMORYOS_PRIVACY_KEY must be the key that they were made with."""
    text = _read(file)
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        revealed = memory.governance.reveal(text)
    if json:
        render.print_json({"text": revealed})
    else:
        render.say(revealed.removesuffix("\n"))


def _told(text: str, spans: Iterable[SensitiveSpan], *, show: bool) -> Iterator[dict[str, Any]]:
    line, counted = 1, 0
    for span in spans:
        line, counted = line + text.count("\n", counted, span.start), span.start
        yield {**span.to_dict(), "line": line, **({"text": text[span.start : span.end]} if show else {})}


def _read(source: str) -> str:
    if source == _STANDARD_INPUT:
        return "".join(Decoded([sys.stdin.buffer.read()], "standard input"))
    try:
        return Path(source).read_text("utf-8")
    except OSError as error:
        raise InvalidInput("file", f"{source}: {error.strerror}", "Name a file that can be read") from None
    except UnicodeDecodeError:
        raise undecodable(Path(source), "file", "Convert it to UTF-8") from None
