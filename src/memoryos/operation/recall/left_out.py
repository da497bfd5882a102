"""Left out: what was derived from memories that the caller already has.

A fact, trait or profile field goes if the caller has all that it rests on. What it had replaced is then told with its
end, because the words of it would otherwise look as if they still held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoryos.cube import Fact, MemCube, ProfileField
from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import Subject
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import Hit, Recall
from memoryos.operation.recall.line import as_compared
from memoryos.operation.recall.moment import first_said
from memoryos.operation.recall.overview import lasting
from memoryos.operation.recall.replaced import given_way


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the caller has: ids of memories, or ids in the source data."""

    names: frozenset[str]
    readers: Sequence[Reader]  #: of the owner, and of the user's persona
    _pages: dict[str, MemCube | None] = field(default_factory=dict)

    def without(self, recalled: Recall) -> Recall:
        """What was found without what the caller has."""
        return replace(
            recalled,
            user_facts=self._other(recalled.user_facts),
            agent_facts=self._other(recalled.agent_facts),
            knowledge=self._other(recalled.knowledge),
            profile=tuple(cube for cube in recalled.profile if not self.has(cube)),
            traits=tuple(cube for cube in recalled.traits if not self.has(cube)),
        )

    def with_ended(self, recalled: Recall, ended_by: datetime, now: datetime) -> Recall:
        """What was found with the facts of its pages that ended, if the caller has what replaced them."""
        ended = {Subject.USER: recalled.user_facts, Subject.AGENT: recalled.agent_facts}
        for fact in lasting(self._ended(recalled, ended_by), now):
            subject = fact.subject or Subject.USER
            ended[subject] = (*ended[subject], Hit(fact, 0.0))
        return replace(recalled, user_facts=ended[Subject.USER], agent_facts=ended[Subject.AGENT])

    def _other(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        return tuple(hit for hit in hits if not self.has(hit.cube))

    def _ended(self, recalled: Recall, by: datetime) -> Iterator[MemCube]:
        pages = {hit.cube.id for hit in (*recalled.hits, *recalled.recent) if hit.mount is None}
        told = [page for page in pages if page not in self.names]
        for reader in self.readers:
            facts = given_way(reader, told, by)
            heirs = reader.get({fact.version.superseded_by or "" for fact in facts})
            had = {heir.id for heir in heirs.values() if self.has(heir)}
            yield from (fact for fact in facts if fact.version.superseded_by in had and not self.has(fact))

    def has(self, cube: MemCube) -> bool:
        """Whether the caller has the memory, or all that it rests on."""
        known = cube.descriptive
        if not self.names.isdisjoint((cube.id, *known.source_ids)):
            return True
        return bool(known.provenance) and all(self._is_told(page, cube) for page in known.provenance)

    def _is_told(self, page_id: str, cube: MemCube) -> bool:
        """Whether the caller has what a page says of it, or the page says nothing of it now."""
        if page_id in self.names:
            return True
        page = self._page(page_id)
        if page is None:
            return False
        turns, quote = turns_of(page), _quote(cube)
        saying = [turn for turn in turns if quote and quote in as_compared(turn.words)]
        if not saying and isinstance(cube.payload, ProfileField) and page.at < first_said(cube):
            return True  # it told a former value
        sources = [turn.source_id for turn in saying or turns] or page.descriptive.source_ids
        return not self.names.isdisjoint(source for source in sources if source)

    def _page(self, page_id: str) -> MemCube | None:
        if page_id not in self._pages:
            found = (reader.whole.get([page_id]).get(page_id) for reader in self.readers)
            self._pages[page_id] = next(filter(None, found), None)
        return self._pages[page_id]


def _quote(cube: MemCube) -> str:
    return as_compared(cube.payload.quote) if isinstance(cube.payload, Fact | ProfileField) else ""
