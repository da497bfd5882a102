"""Snapshot: a named moment of an owner's log. It is no copy: what it shows is read from the versions of memories."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.plain import Plain

INDEX = "snapshots"  # the note with all snapshots of an owner


@dataclass(frozen=True, slots=True)
class Snapshot(Plain):
    """A named moment of the log of one owner."""

    name: str  #: for `as_of`
    at: datetime  #: the moment
    sequence: int  #: of the last event before it
    by: str  #: identity of the caller who made it
    expires_at: datetime  #: when it is dropped


def snapshots(reader: Reader, now: datetime) -> list[Snapshot]:
    """The snapshots that are in force, by their moments."""
    found = [_read(one) for one in json.loads(reader.note(INDEX) or "[]")]
    return sorted((one for one in found if one.expires_at > now), key=lambda one: (one.at, one.name))


def write_snapshots(writer: Writer, kept: list[Snapshot]) -> None:
    """Keep these and no others."""
    told = [one.to_dict() for one in kept]
    writer.write_note(INDEX, json.dumps(told, ensure_ascii=False) if told else None)


def sequence_at(reader: Reader, moment: datetime) -> int:
    """The sequence of the last event up to a moment; 0 before the first one."""
    last = after = 0
    while events := reader.whole.events(after=after):
        for event in events:
            if event.at > moment:
                return last
            last = event.sequence
        after = last
    return last


def _read(told: dict[str, str]) -> Snapshot:
    at, end = (datetime.fromisoformat(told[name]) for name in ("at", "expires_at"))
    return Snapshot(told["name"], at, int(told["sequence"]), told["by"], end)
