"""Tallies: counts of what happened to extracted facts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class Tally(Plain):
    """Counts of extracted facts by outcome."""

    kept: int = 0  #: new facts
    merged: int = 0  #: known facts in other words; their pages became support
    superseded: int = 0  #: facts that a later one replaced
    proposed: int = 0  #: changes that wait for a decision
    unsure: int = 0  #: uncertain pairs, for a judge
    rejected: int = 0  #: findings that their pages do not support

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Tally)))


TALLIES = Note("facts", as_json(Tally))  # their sum in a scope


def tally_of(reader: Reader) -> Tally:
    """Return the total for a scope."""
    return TALLIES.of(reader) or Tally()


def count(writer: Writer, tally: Tally) -> None:
    """Add to the total of a scope, in the transaction that changes the facts."""
    if tally != Tally():
        writer.write_note(TALLIES.key, json.dumps(asdict(tally_of(writer) + tally)))
