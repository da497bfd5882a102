"""Paging: how pages find their chain in STM, move to MTM and from there towards LPM or the archive.

One `Pager` plans the moves of one step for one owner. It starts from the STM that is stored and the MTM that is
resident, moves pages in memory, and writes the difference at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from datetime import datetime, timedelta

from memoryos.caller import SYSTEM
from memoryos.config import ExtractorKind, Settings
from memoryos.cube import MemCube
from memoryos.explained import altered
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, JobKind, LinkKind, Operation
from memoryos.kinds import Kind, State, Tier
from memoryos.lifecycle import CubeMark
from memoryos.operation.hierarchy.chain import continues, summarised
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes, Urgency, chars_to_write
from memoryos.operation.hierarchy.heat import extracted_by
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, has_doubled, joined, opened, page_of
from memoryos.operation.hierarchy.page_entries import topic_words
from memoryos.operation.hierarchy.recent import ask_for_recent, read_early
from memoryos.operation.hierarchy.reform import form_anew
from memoryos.operation.hierarchy.short_term import ShortTerm
from memoryos.operation.index.resident import Resident
from memoryos.operation.paging.calibrator import Calibrator
from memoryos.operation.paging.departure import Departure

ARCHIVED_AT_ONCE = 128  # pages that leave MTM in one step; the others of a larger segment follow it

_JOINED = json.dumps({"reason": "pages joined it after it was read"})


class Pager:
    """The page moves of one step."""

    def __init__(self, reader: Reader, resident: Resident, settings: Settings, now: datetime) -> None:
        """Start from the reader, which the resident follows; nothing is written yet."""
        self._reader = reader
        self._resident = resident
        self._now = now
        self._settings = settings
        self._latest = extracted_by(settings, now)
        self._is_sent = False  # whether the hot segments wait no longer
        self._unread: Set[str] = frozenset()  # pages that leave STM before rules, which do not wait, have read them
        self._kept: set[str] = set()  # segments that may not be evicted, as far as this step has seen
        self._archived = 0  # pages of the segments that this step evicted
        self._is_full = False  # whether the next segment has to wait for another step
        self._capacity = settings.short_term_capacity
        self._written = set[str]()  # the pages that are written
        self._chars = 0  # of these
        self.changes = Changes(reader)
        self._departure = Departure(reader, self.changes)
        self._calibrator = Calibrator(resident, self.changes, settings)
        self._mid_term = MidTerm(resident.topics, self._calibrator.settings)

    @property
    def asks_for_other_segments(self) -> bool:
        """Whether the segments should be formed anew before a page is moved."""
        return self._calibrator.asks_for_other_segments

    def move(self, limit: int) -> bool:
        """Chain up to `limit` pages that came in, and move those that STM has no room for; whether more may wait."""
        self._archived += self._departure.go_on(ARCHIVED_AT_ONCE)
        short_term = ShortTerm(self._capacity)
        wanted = self._capacity + limit
        stored = self._stored(wanted)
        self._unread = self._not_read(entry.cube.id for entry in stored[: max(0, len(stored) - self._capacity)])
        for entry in stored:
            page = self._chained(entry, short_term.last) if entry.cube.mark is None else entry
            for leaving in short_term.push(page):
                self._place(leaving)
            if self.asks_for_other_segments or self._chars > CHARS_AT_ONCE:
                return True  # the next step begins with that, or goes on
        return len(stored) == wanted or bool(self._departure)

    def visit(self, visits: Mapping[str, tuple[int, datetime]]) -> None:
        """Count retrievals: cube id to (times, last time). Deleted cubes are skipped."""
        for cube in self.changes.get(visits):
            times, last = visits[cube.id]
            visited = cube.visited(times, last)
            if cube.state is State.ARCHIVED and self._was_archived_since(cube.id, last):
                visited = replace(visited, state=cube.state)
            self.changes.change(Entry(visited), Operation.VISIT)
            if topic := self._mid_term.get(cube.id):
                self._mid_term.put(replace(topic, cube=visited))
                self._promote_if_hot(cube.id)

    def _was_archived_since(self, cube_id: str, moment: datetime) -> bool:
        """Whether a caller archived it then or later; a rule goes by visits, so one that waited speaks against it."""
        latest = self._reader.transitions(cube_id)[-1:]
        return any(one.by != SYSTEM.identity and one.at >= moment for one in latest)

    def promote_all(self) -> None:
        """Send every segment with pages not yet extracted to LPM extraction, hot or not."""
        for topic in self._mid_term:
            if topic.cube.behaviour.interactions > 0:
                self.changes.enqueue(topic.cube.id, Urgency.ASKED)

    def flush(self, writer: Writer) -> bool:
        """Write the moves; returns whether jobs wait, of these moves or from before."""
        self.changes.flush(writer)
        waits = self.changes.leave_jobs(writer)
        waits_for_recent = self.changes.waits_for(JobKind.READ_RECENT) or ask_for_recent(
            writer, self._settings, self._now
        )
        return waits or waits_for_recent

    def form_anew(self, writer: Writer) -> None:
        """Form the segments of a young scope again with its current theta; the writer also serves as reader.

        Nothing changes if one of them is frozen.
        """
        if any(topic.cube.is_frozen for topic in self._mid_term):
            self._calibrator.formed()
            return
        settings = self._calibrator.settings
        self._mid_term = MidTerm(form_anew(writer, settings, self._now), settings)
        self._calibrator.formed()
        for topic in list(self._mid_term):
            is_new_to_rules = bool(self._not_read(writer.unread(topic.cube.id)))
            self._promote_if_hot(topic.cube.id, at_once=is_new_to_rules)

    def _stored(self, limit: int) -> list[Entry]:
        """The first pages of STM, oldest first, as this step left them so far."""
        cubes = self._reader.cubes(Kind.PAGE, tiers=[Tier.STM], first=limit)
        vectors = self._resident.page_vectors(self._reader, (cube.id for cube in cubes))
        return [Entry(self.changes.present(cube), vectors.get(cube.id)) for cube in cubes]

    def _chained(self, page: Entry, last: Entry | None) -> Entry:
        """The page with its keywords and its chain summary, linked to the page it continues."""
        previous = last.cube if last and continues(last, page) else None
        if previous:
            self.changes.link(page.cube.id, LinkKind.CHAIN, previous.id)
        payload = page_of(page.cube)
        payload = payload if payload.chain_summary else summarised(previous, payload)
        behaviour = altered(page.cube.behaviour, fingerprint=topic_words(payload))
        chained = altered(page.cube, payload=payload, behaviour=behaviour, mark=CubeMark.CHAINED)
        self.changes.change(Entry(chained), Operation.CHAIN)
        self._count(page.cube)
        return altered(page, cube=chained)

    def _count(self, page: MemCube) -> None:
        """Count what is to be written of a page, once."""
        if page.id not in self._written:
            self._written.add(page.id)
            self._chars += chars_to_write(page)

    def _place(self, page: Entry) -> None:
        """Move a page from STM into the segment it fits, or into one of its own."""
        self.changes.move([page.cube], Tier.MTM)
        self._count(page.cube)
        home = self._open_home_of(page)
        topic = joined(home, page, self._now) if home else opened(page, self._now)
        if home is None:
            self.changes.add(topic.entry)
        elif topic.cube.version.number > home.cube.version.number:
            self.changes.revise(topic.entry, _JOINED)
        else:
            self.changes.change(topic.entry, Operation.JOIN)
        self._mid_term.put(topic)
        self.changes.link(page.cube.id, LinkKind.MEMBER_OF, topic.cube.id)
        self._promote_if_hot(topic.cube.id, at_once=page.cube.id in self._unread)
        if self._settings.self_repair and has_doubled(topic):
            self.changes.look_at(topic.cube.id)
        self._evict(fresh=topic.cube.id)
        self._calibrator.placed(page.cube.id, topic.cube.id, self._mid_term)

    def _open_home_of(self, page: Entry) -> Topic | None:
        """The segment that the page joins; a frozen one takes no page."""
        home = self._mid_term.home_of(page)
        return None if home and home.cube.is_frozen else home

    def _promote_if_hot(self, segment_id: str, *, at_once: bool = False) -> None:
        """Add an extraction job for a segment: soon if it is hot or `at_once`, otherwise later."""
        topic = self._mid_term.get(segment_id)
        if topic is None:
            return
        if not self.changes.jobs.get(segment_id):
            self._ask_for(topic, at_once=at_once)
        if self._settings.extractor is ExtractorKind.MODEL:
            self._send_full_batch()

    def _ask_for(self, topic: Topic, *, at_once: bool) -> None:
        is_asked = topic.cube.id in self.changes.jobs and not at_once
        if self._mid_term.is_hot(topic, self._now):
            self.changes.enqueue(topic.cube.id, Urgency.HOT, self._companions_until)
        elif topic.cube.behaviour.interactions and not is_asked and self._latest:
            self.changes.enqueue(topic.cube.id, Urgency.SOME_DAY, None if at_once else self._latest)

    def _not_read(self, leaving: Iterable[str]) -> Set[str]:
        """Of the pages that leave STM, those that rules have not read there: more came at a time than it holds."""
        ids = frozenset(leaving) if self._settings.recent_within == 0 else frozenset()
        return ids - read_early(self._reader, ids) if ids else ids

    @property
    def _companions_until(self) -> datetime | None:
        """How long a hot segment waits for others, so that a model reads several pages in one call."""
        if self._settings.extractor is ExtractorKind.RULES:
            return None
        return self._now + timedelta(seconds=self._settings.batch_seconds)

    def _send_full_batch(self) -> None:
        """Make the jobs due once the hot segments have enough pages for one call."""
        hot = [topic for topic in self._mid_term if self.changes.jobs.get(topic.cube.id)]
        if not self._is_sent and sum(topic.cube.behaviour.interactions for topic in hot) >= self._settings.batch_pages:
            self._is_sent = True
            for topic in hot:
                self.changes.enqueue(topic.cube.id, Urgency.HOT)

    def _evict(self, *, fresh: str) -> None:
        """Archive the coldest segments with their pages, but not the fresh one or those that wait for extraction.

        A frozen segment stays, and so does one with a frozen page: MTM is larger by these. If very many wait no longer,
        some go in each step in which pages come.
        """
        if self._is_full or not self._mid_term.surplus:
            return
        for topic in self._mid_term.evict(self._now, spared={fresh} | self.changes.waiting | self._kept):
            members = [] if self._is_full else self.changes.members(topic.cube.id)
            self._is_full |= bool(self._archived) and self._archived + len(members) > ARCHIVED_AT_ONCE
            if self._is_full:
                self._mid_term.put(topic)
            elif any(cube.is_frozen for cube in (topic.cube, *members)):
                self._mid_term.put(topic)
                self._kept.add(topic.cube.id)
            else:
                first = members[:ARCHIVED_AT_ONCE]
                self._archived += len(first)
                self.changes.move([topic.cube, *first], Tier.ARCHIVE)
                if len(members) > ARCHIVED_AT_ONCE:
                    self._departure.begin(topic.cube.id, first[-1].id)
