"""Paging: how pages find their chain in STM, move to MTM and from there towards LPM or the archive.

One `Pager` serves one write transaction of one owner. It starts from the STM that is stored and the MTM that is
resident, moves pages in memory, and writes the difference at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from memoryos.config import Settings
from memoryos.cube import Kind, State, Tier
from memoryos.infrastructure.vault.contract import Entry, LinkKind, Operation, Writer
from memoryos.operation.hierarchy.calibrator import Calibrator
from memoryos.operation.hierarchy.chain import chain_summary, continues
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.mid_term import MidTerm, joined, opened, page_of
from memoryos.operation.hierarchy.reform import form_anew
from memoryos.operation.hierarchy.short_term import ShortTerm
from memoryos.operation.index.resident import Resident
from memoryos.operation.passages import page_vectors, topic_words


class Pager:
    """The page moves of one transaction."""

    def __init__(self, writer: Writer, resident: Resident, settings: Settings, now: datetime) -> None:
        """Begin; the resident follows the writer, which has not written yet."""
        self._writer = writer
        self._now = now
        self._capacity = settings.short_term_capacity
        self.changes = Changes(writer)
        self._calibrator = Calibrator(writer, resident, self.changes, settings)
        self._mid_term = MidTerm(resident.topics, self._calibrator.settings)
        if self._calibrator.asks_for_other_segments:
            self._form_anew()

    def move(self, limit: int) -> bool:
        """Chain up to `limit` pages that came in, and move those that STM has no room for; whether more may wait."""
        short_term = ShortTerm(self._capacity)
        wanted = self._capacity + limit
        stored = self._stored(wanted)
        for entry in stored:
            page = self._chained(entry, short_term.last) if entry.cube.state is State.GENERATED else entry
            for leaving in short_term.push(page):
                self._place(leaving)
            if self._calibrator.asks_for_other_segments:
                return True  # the next transaction begins with that
        return len(stored) == wanted

    def visit(self, visits: Mapping[str, tuple[int, datetime]]) -> None:
        """Count retrievals: cube id to (times, last time). Cubes that are gone are passed over."""
        for cube in self.changes.get(visits):
            times, last = visits[cube.id]
            visited = cube.visited(times, last)
            self.changes.change(Entry(visited), Operation.VISIT)
            if topic := self._mid_term.get(cube.id):
                self._mid_term.put(replace(topic, cube=visited))
                self._promote_if_hot(cube.id)

    def promote_all(self) -> None:
        """Send every segment with pages not yet extracted to LPM extraction, hot or not."""
        for topic in self._mid_term:
            if topic.cube.behaviour.interactions > 0 and topic.cube.id not in self.changes.waiting:
                self.changes.enqueue(topic.cube.id)

    def flush(self) -> bool:
        """Write the moves; returns whether jobs wait, of these moves or from before."""
        return self.changes.flush()

    def _form_anew(self) -> None:
        """Form the segments of a young scope again, by the theta that it has now."""
        settings = self._calibrator.settings
        self._mid_term = MidTerm(form_anew(self._writer, settings, self._now), settings)
        self._calibrator.formed()
        for topic in list(self._mid_term):
            self._promote_if_hot(topic.cube.id)

    def _stored(self, limit: int) -> list[Entry]:
        """The first pages of STM, oldest first, as this transaction left them so far."""
        cubes = self._writer.cubes(Kind.PAGE, tiers=[Tier.STM], first=limit)
        vectors = page_vectors(self._writer, (cube.id for cube in cubes))
        return [Entry(self.changes.present(cube), vectors.get(cube.id)) for cube in cubes]

    def _chained(self, page: Entry, last: Entry | None) -> Entry:
        """The page with its keywords and its chain summary, linked to the page it continues."""
        previous = last.cube if last and continues(last, page) else None
        if previous:
            self.changes.link(page.cube.id, LinkKind.CHAIN, previous.id)
        payload = page_of(page.cube)
        payload = replace(payload, chain_summary=payload.chain_summary or chain_summary(previous, payload))
        behaviour = replace(page.cube.behaviour, fingerprint=topic_words(payload))
        chained = replace(page.cube, payload=payload, behaviour=behaviour, state=State.ACTIVATED)
        self.changes.change(Entry(chained), Operation.CHAIN)
        return replace(page, cube=chained)

    def _place(self, page: Entry) -> None:
        """Move a page from STM into the segment it fits, or into one of its own."""
        self.changes.move([page.cube], Tier.MTM)
        home = self._mid_term.home_of(page)
        topic = joined(home, page, self._now) if home else opened(page, self._now)
        if home:
            self.changes.change(topic.entry, Operation.JOIN)
        else:
            self.changes.add(topic.entry)
        self._mid_term.put(topic)
        self.changes.link(page.cube.id, LinkKind.MEMBER_OF, topic.cube.id)
        self._promote_if_hot(topic.cube.id)
        self._evict(fresh=topic.cube.id)
        self._calibrator.placed(page.cube.id, topic.cube.id, self._mid_term)

    def _promote_if_hot(self, segment_id: str) -> None:
        topic = self._mid_term.get(segment_id)
        if topic and segment_id not in self.changes.waiting and self._mid_term.is_hot(topic, self._now):
            self.changes.enqueue(segment_id)

    def _evict(self, *, fresh: str) -> None:
        """Archive the coldest segments with their pages; never the fresh one, nor one that awaits extraction."""
        for topic in self._mid_term.evict(self._now, spared={fresh} | self.changes.waiting):
            members = self.changes.members(topic.cube.id)
            self.changes.move([topic.cube, *members], Tier.ARCHIVE)
