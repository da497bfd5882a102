"""Tallies: what became of the facts that were found."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.plain import Plain

NOTE = "facts"  # the note that sums the tallies of a scope


@dataclass(frozen=True, slots=True)
class Tally(Plain):
    """How many facts went which way."""

    kept: int = 0  #: new ones
    merged: int = 0  #: known ones in other words, whose pages became support
    superseded: int = 0  #: facts that gave way to a later one
    proposed: int = 0  #: changes that wait for an answer
    unsure: int = 0  #: pairs that a judge was asked about, or would have been
    rejected: int = 0  #: findings that their pages do not bear out

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Tally)))


def tally_of(reader: Reader) -> Tally:
    """The sum for a scope."""
    noted = reader.note(NOTE)
    known = {one.name for one in fields(Tally)}
    return Tally(**{name: count for name, count in json.loads(noted or "{}").items() if name in known})


def count(writer: Writer, tally: Tally) -> None:
    """Add to the sum of a scope, in the transaction of what was counted."""
    if tally != Tally():
        writer.write_note(NOTE, json.dumps(asdict(tally_of(writer) + tally)))
