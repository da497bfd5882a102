"""Promotion: what a hot segment's new pages say goes into LPM (MemoryOS paper, section 3.3)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from memoryos.about import About
from memoryos.clock import Clock
from memoryos.config import PersonaSharing, Settings
from memoryos.cube import Fact, MemCube, Segment
from memoryos.errors import ChangedMeanwhile, StoreCorrupt
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, Operation
from memoryos.kinds import Kind, Origin, Subject
from memoryos.language.summary import extended
from memoryos.models.embedder import Embedder
from memoryos.operation.calls.permission import changeable, check_end, check_opened
from memoryos.operation.consolidation.earnest import played, previous_pages, taken_back, without
from memoryos.operation.consolidation.extractor import Extractor
from memoryos.operation.consolidation.finding import Finding
from memoryos.operation.consolidation.model_reader import ModelReader, Reading, SummaryTarget
from memoryos.operation.consolidation.portion import Portion, told_summary
from memoryos.operation.consolidation.stretch import Stretch, have_changed, stretches, write_metas
from memoryos.operation.consolidation.utterance import utterances
from memoryos.operation.hierarchy.changes import Changes, Urgency
from memoryos.operation.hierarchy.heat import extracted_by, is_hot
from memoryos.operation.hierarchy.mid_term import SUMMARY_CHARS, segment_of
from memoryos.operation.hierarchy.recent import (
    ask_for_recent,
    due_recent,
    extracted,
    note_early,
    note_extracted,
    read_early,
    unread_recent,
)
from memoryos.operation.knowledge.carried import CarriedChains
from memoryos.operation.knowledge.fact_base import doubts
from memoryos.operation.knowledge.lesson import Lesson
from memoryos.operation.knowledge.likeness import Judge, Verdicts, judged
from memoryos.operation.knowledge.long_term import LongTerm, nothing
from memoryos.operation.knowledge.page_ends import ending
from memoryos.operation.knowledge.tally import Tally, count
from memoryos.operation.paging.calibrator import tuned_for
from memoryos.operation.scheduler.job_runner import LEASE
from memoryos.operation.scheduler.step import Step, some_at_a_time, take
from memoryos.privacy.protection import UNPROTECTED, Protection
from memoryos.scope import Scope

SEGMENTS_AT_ONCE = 16  # whose jobs are taken together
PAGES_AT_ONCE = 64  # read by rules and written in one transaction
LATER_PAGES = 16  # unread ones that the summary of a model is extended by at once; the others, when they are read
READINGS = 5  # of pages that change while they are read; then the job waits, like one that failed

_SUMMARISED = json.dumps({"reason": "a model summarised it"})

REJECTED = Note("rejected", as_json(dict[str, int]))  # counts what was not believed


def persona_scope(scope: Scope, settings: Settings) -> Scope:
    """Where the user's persona of this scope lives."""
    return scope.across_agents if settings.persona_sharing is PersonaSharing.USER else scope.owner


@dataclass(frozen=True)
class Promoter:
    """Does the extraction jobs of one store; what it learns of some pages is one transaction with the jobs' end."""

    vault: Vault
    embedder: Embedder
    extractor: Extractor  #: reads by rules: without a model, and what must be derived again at once
    settings: Settings
    clock: Clock
    reader: ModelReader | None = None
    at_once: int = SEGMENTS_AT_ONCE
    protection: Protection = UNPROTECTED  #: tags what is learned, as what was said
    judge: Judge | None = None  #: compares facts where words cannot tell

    @property
    def takes_early(self) -> bool:
        """A model's call is filled with pages that would be read later; rules gain nothing by it."""
        return self.reader is not None

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: Callable[[], bool]) -> Sequence[Job]:
        """Read the new pages of the jobs' segments, learn what they say, and finish the jobs; returns those left.

        Jobs that are not due yet only fill the calls for those that are.
        """
        waiting, before = list(jobs), list[str]()
        carried = CarriedChains()
        while any(job.not_before is None for job in waiting) and goes_on():
            portions = self._promoted(scope, waiting, carried)
            wanted = [page.id for portion in portions for page in portion.pages]
            if wanted and wanted == before:
                raise StoreCorrupt(
                    "pages that were read are still marked as unread: run `memoryos verify` to find the damage"
                )
            before = wanted
            ended = {portion.job.id for portion in portions if portion.ends_job}
            waiting = [job for job in waiting if job.id not in ended]
        return waiting

    def _promoted(self, scope: Scope, jobs: Sequence[Job], carried: CarriedChains) -> list[Portion]:
        """What was read next and learned; what changes meanwhile is read again."""
        for _ in range(READINGS - 1):
            portions = self._portions(scope, jobs)
            with suppress(ChangedMeanwhile):
                self._promote(scope, portions, carried)
                return portions
        portions = self._portions(scope, jobs)
        self._promote(scope, portions, carried)
        return portions

    def _portions(self, scope: Scope, jobs: Sequence[Job]) -> list[Portion]:
        """The pages to read next: the new pages of the first jobs, as many as are read together."""
        portions: list[Portion] = []
        room = self.settings.batch_pages if self.reader else PAGES_AT_ONCE
        with self.vault.read(scope) as reader:
            for job in jobs:
                if room <= 0:
                    break
                portion = self._portion(reader, job, room)
                portions.append(portion)
                room -= len(portion.pages) + (not portion.ends_job)
        return portions

    def _portion(self, reader: Reader, job: Job, room: int) -> Portion:
        """What a job asks to read next: of many pages, the first ones that there is room for."""
        if job.kind == JobKind.READ_RECENT:
            is_asked, now = job.priority >= Urgency.ASKED, self.clock()
            pages = unread_recent(reader, now) if is_asked else due_recent(reader, self.settings, now)
            return Portion(job, None, pages[:room], len(pages) <= room, expired=self._expired(pages[:room]))
        cube = reader.get([job.known_cube_id]).get(job.known_cube_id)
        if cube is None or cube.kind is Kind.PAGE:
            pages = [cube] if cube else []
            return Portion(job, cube, pages, ends_job=True, expired=self._expired(pages))
        unread = reader.unread(cube.id)
        pages = _readable(reader, unread, room + 1)
        taken = [page.id for page in pages[:room]]
        early = read_early(reader, taken)
        later = [page for page in unread if page not in set(taken)]
        summary = told_summary(reader, cube) if self.reader else ""  # only a model is shown it
        expired = self._expired(pages[:room])
        return Portion(job, cube, pages[:room], len(pages) <= room, early, later, expired, summary)

    def _expired(self, pages: Sequence[MemCube]) -> frozenset[str]:
        return frozenset(page.id for page in pages if page.has_expired(self.clock()))

    def _promote(self, scope: Scope, portions: Sequence[Portion], carried: CarriedChains) -> None:
        seen = self._stretches(scope, [page for portion in portions if portion.segment for page in portion.told])
        unread = [page for portion in portions for page in portion.unread]
        previous = self._previous(scope, unread)
        jokes = taken_back(previous, unread)
        reading = self._read(scope, portions, seen, jokes | played(previous, unread))
        lessons = self.lessons(reading.findings, self.reader.name if self.reader else self.extractor.name)
        pages = {page.id: page for portion in portions for page in portion.pages}
        lessons = [ending(one, pages) for one in lessons]
        home = persona_scope(scope, self.settings)
        if home != scope.owner:
            about_user = [one for one in lessons if one.payload.subject is Subject.USER]
            for some in in_parts(about_user) or ([[]] if jokes else []):
                self._take_in(home, some, carried, lambda _: self._check_elsewhere(scope, portions), jokes=jokes)
            # What an agent learned of itself stays with this user: it may quote the user's words.
            lessons = [one for one in lessons if one.payload.subject is Subject.AGENT]
        *first, last = in_parts(lessons) or [[]]
        for some in first:
            self._take_in(scope, some, carried, lambda writer: _check_ours(writer, portions))

        def check(writer: Writer) -> None:
            _check_unchanged(writer, portions)
            if self.reader:
                with self.vault.view(scope, writer) as told:
                    _check_known(writer, portions, is_other=have_changed(told, seen))

        def end(writer: Writer) -> None:
            write_metas(writer, seen, reading.summaries)
            self._end(writer, portions, reading)

        self._take_in(scope, last, carried, check, end, jokes=jokes)

    def _take_in(
        self,
        scope: Scope,
        lessons: Sequence[Lesson],
        carried: CarriedChains,
        check: Callable[[Writer], None],
        end: Callable[[Writer], None] = nothing,
        *,
        jokes: Collection[str] = (),
    ) -> None:
        """Learn some lessons in one transaction, if they still hold then, with what belongs to it.

        What was concluded from pages that were `jokes` is withdrawn.
        """
        verdicts = self.verdicts(scope, lessons)

        def plan(reader: Reader) -> Step:
            changes, freed = without(reader, jokes, self.clock())
            planned = self.planned(
                reader, scope, lessons, verdicts=verdicts, changes=changes, freed=freed, carried=carried
            )
            return planned.step(check, end)

        take(self.vault, scope, plan)

    def learn(self, scope: Scope, lessons: Sequence[Lesson], verdicts: Verdicts | None = None) -> set[str]:
        """Add what a caller states to the personas of the scope, and return the ids of the new memories.

        Some are added in each transaction, planned beside other writers. They are compared with what the caller may
        read and change. Raises PermissionDenied if one ends a memory that the caller may not delete, or opens
        one that it may not administer.
        """
        new, carried = set[str](), CarriedChains()
        for some in in_parts(lessons):
            take(self.vault, scope, partial(self._learning, scope, some, verdicts, new, carried))
        return new

    def _learning(
        self,
        scope: Scope,
        lessons: Sequence[Lesson],
        verdicts: Verdicts | None,
        new: set[str],
        carried: CarriedChains,
        reader: Reader,
    ) -> Step:
        known = changeable(self.vault, scope, reader)
        left = carried if known.whole is known else None  # what the caller may see can change between the parts
        planned = self.planned(known, scope, lessons, verdicts=verdicts, carried=left)
        added = planned.added
        ended = planned.ended() if any(lesson.about.expires_at for lesson in lessons) else []
        opened = planned.opened() if any(lesson.about.access for lesson in lessons) else []

        def check(reader: Reader) -> None:
            check_end(self.vault, scope, reader, ended)
            check_opened(self.vault, scope, reader, opened)

        check(reader)
        return planned.step(check, lambda _: new.update(added))  # policies may be others when it is written

    def _check_elsewhere(self, scope: Scope, portions: Sequence[Portion]) -> None:
        with self.vault.read(scope) as reader:  # who changes pages looks in here afterwards
            _check_unchanged(reader, portions)

    def _stretches(self, scope: Scope, pages: Sequence[MemCube]) -> list[Stretch]:
        """The chains that a model is to summarise; rules summarised them when the pages came in."""
        if self.reader is None:
            return []
        with self.vault.view(scope) as reader:  # no chain tells what has expired
            return stretches(reader, pages)

    def _previous(self, scope: Scope, pages: Sequence[MemCube]) -> dict[str, MemCube]:
        """The page before each of these in its session."""
        with self.vault.read(scope) as reader:
            return previous_pages(reader, pages)

    def _read(
        self, scope: Scope, portions: Sequence[Portion], seen: Sequence[Stretch], unmeant: Collection[str]
    ) -> Reading:
        pages = [page for portion in portions for page in portion.unread if page.id not in unmeant]
        if self.reader is None:
            return Reading(self.extractor.extract(pages))
        segments = [portion.target for portion in portions]
        chains = [SummaryTarget(one.last, one.known, one.pages) for one in seen]
        return self.reader.read(scope, pages, [*filter(None, segments), *chains])

    def _end(self, writer: Writer, portions: Sequence[Portion], reading: Reading) -> None:
        count_rejected(writer, reading.rejected)
        count(writer, Tally(rejected=sum(reading.rejected.values())))
        _note_read(writer, portions)
        left = _mark_extracted(writer, portions, reading.summaries, self.clock())
        for portion in portions:
            if portion.ends_job:
                writer.finish(portion.job)
                segment = left.get(portion.job.known_cube_id)
                if portion.is_of_stm:
                    ask_for_recent(writer, self.settings, self.clock())  # pages came in meanwhile
                elif segment and segment.behaviour.interactions:  # pages joined meanwhile
                    self._ask_again(writer, segment)

    def _ask_again(self, writer: Writer, segment: MemCube) -> None:
        """Have the rest of a segment read: soon when it is hot, some day when it is not."""
        now = self.clock()
        if is_hot(segment.behaviour, now, tuned_for(writer, self.settings)):
            wait = timedelta(seconds=self.settings.batch_seconds) if self.reader else timedelta()
            writer.enqueue(JobKind.EXTRACT, [segment.id], priority=Urgency.HOT, not_before=now + wait)
        elif latest := extracted_by(self.settings, now):
            writer.enqueue(JobKind.EXTRACT, [segment.id], not_before=latest)

    def planned(
        self,
        reader: Reader,
        scope: Scope,
        lessons: Sequence[Lesson],
        *,
        verdicts: Verdicts | None = None,
        changes: Changes | None = None,
        freed: Iterable[Sequence[MemCube]] = (),
        carried: CarriedChains | None = None,
    ) -> LongTerm:
        """The personas of the reader's scope with these lessons, to be written.

        `changes` come before it; `freed` are groups of facts that exclude each other, of which some were removed.
        """
        long_term = LongTerm(reader, scope, self.settings, self.clock(), verdicts, changes, carried)
        long_term.resettle(freed)
        long_term.learn(lessons)
        long_term.settle()
        return long_term

    def verdicts(self, scope: Scope, lessons: Sequence[Lesson]) -> Verdicts:
        """What the judge says of the lessons that only it can tell; asked while no transaction waits."""
        judge = self.judge or (self.reader.judge(scope) if self.reader else None)
        if judge is None:
            return {}
        with self.vault.read(scope) as reader:
            pairs = doubts(changeable(self.vault, scope, reader), lessons, self.clock())
        return judged(judge, pairs)

    def lessons(self, findings: Sequence[Finding], derived_by: str | None = None) -> list[Lesson]:
        """Findings, by rules unless told otherwise, as lessons; facts get their vectors."""
        facts = [index for index, finding in enumerate(findings) if isinstance(finding.payload, Fact)]
        vectors = self.embedder.embed([findings[index].payload.text for index in facts])
        by_index = dict(zip(facts, vectors, strict=True))
        return [
            Lesson(
                payload=finding.payload,
                pages=finding.pages,
                event_at=finding.event_at,
                semantic_type=finding.semantic_type,
                origin=Origin.INFERENCE,
                derived_by=derived_by or self.extractor.name,
                vector=by_index.get(index),
                moments=finding.moments,
                is_over=finding.is_over,
                about=About(self.protection.tags(finding.payload)),
            )
            for index, finding in enumerate(findings)
        ]


def _readable(reader: Reader, ids: Sequence[str], limit: int) -> list[MemCube]:
    """The first of these pages, up to the limit, without those that are damaged."""
    pages: list[MemCube] = []
    for some in some_at_a_time(ids, limit):
        stored = reader.get(some)
        pages += [stored[page] for page in some if page in stored]
        if len(pages) >= limit:
            break
    return pages[:limit]


def was_extracted(reader: Reader, page_id: str) -> bool:
    """Whether the page was read: in STM, or with its segment."""
    return bool(read_early(reader, [page_id]) or extracted(reader, [page_id]))


def count_rejected(writer: Writer, rejected: Mapping[str, int]) -> None:
    """Add to what was not believed of models' answers, by flaw."""
    if rejected:
        known = rejections(writer)
        writer.write_note(REJECTED.key, json.dumps(Counter(known) + Counter(rejected)))


def rejections(reader: Reader) -> dict[str, int]:
    """The rejected statements of models, counted by flaw."""
    return REJECTED.of(reader) or {}


def _note_read(writer: Writer, portions: Sequence[Portion]) -> None:
    """Keep which pages were read before they joined a segment."""
    early = [page.id for portion in portions if portion.is_of_stm for page in portion.pages]
    joined = frozenset[str]().union(*(portion.noted for portion in portions))
    if early or joined:
        note_early(writer, early, joined=joined)


def in_parts(lessons: Sequence[Lesson]) -> list[Sequence[Lesson]]:
    """The lessons as they are learned, each part in one transaction; what is learned twice changes nothing.

    Traits and fields come with the last facts: a trait counts what one reading says of it together.
    """
    facts = [one for one in lessons if isinstance(one.payload, Fact)]
    others = [one for one in lessons if not isinstance(one.payload, Fact)]
    *first, last = some_at_a_time(facts) or [[]]
    return [*first, [*last, *others]] if lessons else []


def _check_unchanged(reader: Reader, read: Sequence[Portion]) -> None:
    """Refuse lessons from pages that were corrected or deleted while they were read; the job runs again."""
    pages = [page for portion in read for page in portion.pages]
    present = reader.versions(page.id for page in pages)
    if any(present.get(page.id) != page.version.number for page in pages):
        raise ChangedMeanwhile("pages changed while they were read; nothing was written")


def _check_ours(writer: Writer, read: Sequence[Portion]) -> None:
    """Refuse lessons when the pages changed, or when another worker has taken a job over."""
    _check_unchanged(writer, read)
    for portion in read:
        writer.extend(portion.job, lasting=LEASE)


def _check_known(reader: Reader, portions: Sequence[Portion], *, is_other: bool) -> None:
    """Refuse summaries that rest on earlier ones, when these lost words while a model read them: it may quote them."""
    segments = [one.segment for one in portions if one.segment and one.segment.kind is Kind.SEGMENT]
    now = reader.get(segment.id for segment in segments)
    lost = (_lost_words(segment, now[segment.id]) for segment in segments if segment.id in now)
    if is_other or any(lost):
        raise ChangedMeanwhile("summaries changed while they were read; nothing was written")


def _lost_words(segment: MemCube, now: MemCube) -> bool:
    """Whether pages that LPM had read before left the segment, or what a model wrote of them did."""
    read, left = (segment_of(one).pages - one.behaviour.interactions for one in (segment, now))
    return left < read or segment_of(now).written != segment_of(segment).written


def _mark_extracted(
    writer: Writer, portions: Sequence[Portion], summaries: Mapping[str, str], now: datetime
) -> Mapping[str, MemCube]:
    """Mark what was read, lower L_interaction, and write the summaries; returns the segments that are there, by id."""
    cubes = writer.get(portion.job.known_cube_id for portion in portions)
    segments = {name: cube for name, cube in cubes.items() if isinstance(cube.payload, Segment)}
    here = {one.job.known_cube_id: one for one in reversed(portions) if one.job.known_cube_id in segments}
    note_extracted(writer, [page.id for portion in here.values() for page in portion.pages])
    told = {name: summary for name, summary in summaries.items() if name in segments and _takes(segments[name])}
    read = {name: _read_on(writer, segments[name], one, told.get(name), now) for name, one in here.items()}
    summarised = {name for name, cube in read.items() if cube.version.number > segments[name].version.number}
    writer.update([Entry(cube) for name, cube in read.items() if name not in summarised], Operation.PROMOTE)
    writer.update([Entry(read[name]) for name in read if name in summarised], Operation.REVISE, detail=_SUMMARISED)
    return read


def _takes(segment: MemCube) -> bool:
    """Whether a model may summarise a segment: not over the words of a person."""
    return not segment.is_frozen and segment.descriptive.origin is Origin.INFERENCE


def _read_on(reader: Reader, segment: MemCube, portion: Portion, summary: str | None, now: datetime) -> MemCube:
    """The segment after a portion of it was read, with the summary that a model wrote.

    What is left to read was counted before the transaction; what came or went since shows in the count of the segment.
    """
    before = portion.segment.behaviour.interactions if portion.segment else 0
    left = max(0, len(portion.later) + segment.behaviour.interactions - before)
    cube = replace(segment, behaviour=replace(segment.behaviour, interactions=left))
    if not summary or summary == segment_of(segment).written:
        return cube
    later = reader.get(portion.later[:LATER_PAGES])
    return _summarised(cube, summary, [later[page] for page in portion.later[:LATER_PAGES] if page in later], now)


def _summarised(segment: MemCube, summary: str, later: Sequence[MemCube], now: datetime) -> MemCube:
    """The next version of the segment, with the summary of a model and what the pages say that it has not read."""
    said = [one.text for one in utterances(later)]
    whole = extended(summary, said, limit_chars=SUMMARY_CHARS, written=summary)
    return replace(
        segment,
        payload=replace(segment_of(segment), summary=whole, written=summary),
        descriptive=replace(segment.descriptive, updated_at=now),
        version=replace(segment.version, number=segment.version.number + 1),
    )
