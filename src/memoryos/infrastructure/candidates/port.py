"""The port of candidate indexes: what finds some turns of a very large scope that may answer a question.

The index is fed by following the store's event log, so it may lag behind the store, and never leads it. It says only
where to look: what a search returns is read from the store, and ranked as in a small scope. So what was deleted, or
belongs to somebody else, is not served even by an index that is wrong. It can be forgotten and built again at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from memoryos.filter import EVERYTHING, Filter
from memoryos.infrastructure.vault.records import COLD_TIER, MERGED_TIER, StoredPassage, Vector
from memoryos.kinds import Tier
from memoryos.scope import Scope


class Place(NamedTuple):
    """Where a turn is."""

    page: str
    part: int  #: of the page, from 1


@dataclass(frozen=True, slots=True)
class Narrow:
    """Which turns may be found; an index applies it before it ranks."""

    now: int  #: leave out what has expired by then; microseconds since the epoch, like the others
    tiers: frozenset[Tier] = frozenset(Tier)
    session: str | None = None
    labels: Filter = EVERYTHING
    since: int | None = None
    until: int | None = None
    cold: bool = True  #: whether archived pages with documents in the object store are included
    merged: bool = False  #: whether pages that others took in are included

    @property
    def tier_names(self) -> list[str] | None:
        """The tiers as `StoredPassage.tier` names them; None if all are included."""
        if self.cold and self.merged and self.tiers == set(Tier):
            return None
        cold = [COLD_TIER] if self.cold and Tier.ARCHIVE in self.tiers else []
        return [*self.tiers, *cold, *([MERGED_TIER] if self.merged else ())]


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of an owner's pages between two positions in the event log."""

    after: int  #: the sequence that the index had reached
    reached: int  #: and the one it reaches with this
    changed: Sequence[StoredPassage] = ()  #: the turns of new pages, and of those whose words changed
    noted: Sequence[StoredPassage] = ()  #: of pages of which only tier, tags or expiry changed
    gone: Collection[str] = ()  #: pages


@dataclass(frozen=True, slots=True)
class IndexTotals:
    """Counts of an owner's turns in an index."""

    turns: int
    words: int


class Candidates(Protocol):
    """One owner's turns, for one question."""

    @property
    def totals(self) -> IndexTotals:
        """Return the counts."""
        ...

    def nearest(self, vector: Vector, limit: int, narrow: Narrow) -> list[Place]:
        """The turns nearest to a unit vector by cosine, the nearest first."""
        ...

    def matching(self, stems: Sequence[str], limit: int, narrow: Narrow) -> list[Place]:
        """The turns with the highest BM25 for these stems, the best first; none without one of them."""
        ...

    def farthest(self, vector: Vector) -> float:
        """The lowest cosine of a turn with a unit vector, roughly; 0 when there is no turn."""
        ...

    def frequencies(self, stems: Collection[str]) -> Mapping[str, int]:
        """The number of turns with each of these stems; stems that do not occur are left out."""
        ...


class CandidateIndex(Protocol):
    """The turns of large owners."""

    def reached(self, owner: Scope) -> int | None:
        """The number of the last event that was applied for the owner; None without an index for our embedder."""
        ...

    def asking(self, owner: Scope) -> AbstractContextManager[Candidates]:
        """The owner's turns. Raises StorageError if they have no index."""
        ...

    def build(self, owner: Scope, passages: Iterable[StoredPassage], reached: int) -> None:
        """Make the owner's index anew from all their turns: all of it or, when it is cut off, nothing.

        Searches go on with the one before, meanwhile.
        """
        ...

    def apply(self, owner: Scope, change: Change) -> None:
        """Apply a change; skip it if `after` is not the last applied event, because another process was faster."""
        ...

    def forget(self, owner: Scope) -> None:
        """Remove everything about the owner."""
        ...

    def close(self) -> None:
        """Release all resources. A second call does nothing."""
        ...
