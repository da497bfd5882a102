"""Snapshot: a named moment of an owner's log. It is no copy: what it shows is read from the versions of memories."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from pydantic import AwareDatetime

from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class Snapshot(Plain):
    """A named moment of the log of one owner."""

    name: str  #: name, for `as_of`
    at: AwareDatetime  #: the moment
    sequence: int  #: number of the last event before it
    by: str  #: identity of the caller who made it
    expires_at: AwareDatetime  #: when it is dropped


SNAPSHOTS = Note("snapshots", as_json(list[Snapshot]))


def snapshots(reader: Reader, now: datetime) -> list[Snapshot]:
    """The snapshots that are in force, by their moments."""
    found = SNAPSHOTS.of(reader) or []
    return sorted((one for one in found if one.expires_at > now), key=lambda one: (one.at, one.name))


def write_snapshots(writer: Writer, kept: list[Snapshot]) -> None:
    """Keep these and no others."""
    told = [one.to_dict() for one in kept]
    writer.write_note(SNAPSHOTS.key, json.dumps(told, ensure_ascii=False) if told else None)


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
