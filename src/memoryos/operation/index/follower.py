"""Follower: keeps the candidate index of large owners in step with the store, by its event log.

An index beside the store may be away. Then nobody has one for a while, and memory holds all their turns.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from time import monotonic

from memoryos.bounded import Bounded
from memoryos.errors import IndexFailed
from memoryos.infrastructure.candidates.port import CandidateIndex, Candidates, Change
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Event, Operation
from memoryos.kinds import Kind
from memoryos.scope import Scope

_EVENTS = 2_000  # taken in at once

_ABSENT_SECONDS = 60.0  # that an owner is taken to have no index; all their turns in memory serve as well

_AWAY_SECONDS = 60.0  # that an index is left alone that failed: to find out again may take seconds

_CHANGES = {Operation.ADD, Operation.REVISE, Operation.REFRESH}  # of a page's words
_UNNOTED = {  # no index knows; the last two come with another operation
    Operation.CHAIN,
    Operation.JOIN,
    Operation.VISIT,
    Operation.REHOME,
    Operation.PROMOTE,
    Operation.TRANSITION,
    Operation.LABEL,
}

logger = logging.getLogger(__name__)


class Follower:
    """Feeds one candidate index from one store."""

    def __init__(self, index: CandidateIndex) -> None:
        self._index = index
        self._absent = Bounded[Scope, float]()  # owners without an index, and when that was seen
        self._failed = -_AWAY_SECONDS  # when the index did last

    @property
    def is_away(self) -> bool:
        """Whether the index failed recently and is not used."""
        return monotonic() - self._failed < _AWAY_SECONDS

    def build(self, owner: Scope, reader: Reader) -> None:
        """Build the owner's index again from the reader."""
        self._index.build(owner.owner, reader.passages(), reader.sequence())
        self._absent.pop(owner.owner, None)
        self._failed = -_AWAY_SECONDS

    def forget(self, owner: Scope) -> None:
        """Remove the owner's index; searches read all their turns into memory again."""
        self._index.forget(owner.owner)

    def may_have(self, owner: Scope) -> bool:
        """Whether there may be an index of the owner: not of those, nearly all, who had none a moment ago."""
        return not self.is_away and monotonic() - self._absent.get(owner.owner, -_ABSENT_SECONDS) >= _ABSENT_SECONDS

    def has(self, owner: Scope) -> bool:
        """Whether there is an index of the owner; one that another process made may be seen a minute later."""
        return self._reached(owner.owner) is not None

    def follow(self, owner: Scope, reader: Reader) -> bool:
        """Take in what the reader sees and the index does not know yet; False when there is no index of the owner."""
        reached = self._reached(owner.owner)
        if reached is None:
            return False
        while events := reader.events(after=reached, limit=_EVENTS):
            self._index.apply(owner.owner, _change(reader, events, reached))
            reached = events[-1].sequence
        return True

    def _reached(self, owner: Scope) -> int | None:
        """How far the index of an owner got; those without one are not looked up each time."""
        if not self.may_have(owner):
            return None
        try:
            reached = self._index.reached(owner)
        except IndexFailed as error:
            self.put_off(error)
            return None
        if reached is None:
            self._absent[owner] = monotonic()
        else:
            self._absent.pop(owner, None)
        return reached

    def asking(self, owner: Scope) -> AbstractContextManager[Candidates]:
        """The owner's turns, for one question."""
        return self._index.asking(owner.owner)

    def put_off(self, error: IndexFailed) -> None:
        """Do not use the index for a while after a failure."""
        self._failed = monotonic()
        logger.warning(
            "candidate index put off: %s",
            type(error).__name__,
            extra={"action": "search", "error": type(error).__name__},
        )

    def close(self) -> None:
        """Release the index."""
        self._index.close()


def _change(reader: Reader, events: Sequence[Event], after: int) -> Change:
    """The effect of the events on pages, as the reader sees them now."""
    done: dict[str, set[Operation]] = {}
    for event in events:
        if event.kind is Kind.PAGE:
            done.setdefault(event.cube_id, set()).add(event.operation)
    gone = {page for page, operations in done.items() if Operation.DELETE in operations}
    changed = [page for page, operations in done.items() if page not in gone and operations & _CHANGES]
    noted = [page for page, operations in done.items() if page not in {*gone, *changed} and operations - _UNNOTED]
    return Change(
        after=after,
        reached=events[-1].sequence,
        changed=list(reader.passages(changed)),
        noted=[passage for passage in reader.passages(noted) if passage.part],
        gone=gone,
    )
