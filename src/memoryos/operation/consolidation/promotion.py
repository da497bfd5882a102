"""Promotion: what a hot segment's new pages say goes into LPM (MemoryOS paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memoryos.clock import Clock
from memoryos.config import PersonaSharing, Settings
from memoryos.cube import Fact, Kind, MemCube, Origin, Subject
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.contract import Entry, Job, LinkKind, Operation, Reader, Vault, Writer
from memoryos.models.embedder import Embedder
from memoryos.operation.consolidation.extractor import Extractor, Finding
from memoryos.operation.hierarchy.knowledge import doubts
from memoryos.operation.hierarchy.lesson import Lesson
from memoryos.operation.hierarchy.likeness import Judge, Verdicts, judged
from memoryos.operation.hierarchy.long_term import LongTerm
from memoryos.operation.hierarchy.tally import Tally
from memoryos.scope import Scope

SEGMENTS_AT_ONCE = 8  # extracted in one transaction


def persona_scope(scope: Scope, settings: Settings) -> Scope:
    """Where the user's persona of this scope lives."""
    return scope.across_agents if settings.persona_sharing is PersonaSharing.USER else scope.owner


@dataclass(frozen=True)
class Promoter:
    """Does the extraction jobs of one store."""

    vault: Vault
    embedder: Embedder
    extractor: Extractor
    settings: Settings
    clock: Clock
    at_once: int = SEGMENTS_AT_ONCE
    judge: Judge | None = None  #: compares facts where words cannot tell

    def run(self, scope: Scope, jobs: Sequence[Job]) -> None:
        """Extract the new pages of the jobs' segments, learn what they say, and finish the jobs."""
        with self.vault.read(scope) as reader:
            pages = {job.cube_id: new_pages(reader, job.cube_id) for job in jobs}
        read = [page for found in pages.values() for page in found]
        lessons = self.lessons(self.extractor.extract(read))
        home = persona_scope(scope, self.settings)
        about_user = [lesson for lesson in lessons if lesson.payload.subject is Subject.USER]
        about_agent = [lesson for lesson in lessons if lesson.payload.subject is Subject.AGENT]
        if home != scope.owner:
            verdicts = self.verdicts(home, about_user)
            with self.vault.write(home) as writer:
                self.learn(writer, home, about_user, verdicts=verdicts)
        own = about_agent if home != scope.owner else lessons
        verdicts = self.verdicts(scope, own)
        with self.vault.write(scope) as writer:
            _check_unchanged(writer, read)
            # What an agent learned of itself stays with this user: it may quote the user's words.
            self.learn(writer, scope, own, verdicts=verdicts)
            for job in jobs:
                _mark_extracted(writer, job.cube_id, len(pages[job.cube_id]))
                writer.finish(job)

    def learn(
        self,
        writer: Writer,
        scope: Scope,
        lessons: Sequence[Lesson],
        *,
        verdicts: Verdicts | None = None,
        freed: Iterable[Sequence[MemCube]] = (),
    ) -> Tally:
        """Add lessons to the personas of the writer's scope.

        `freed` are groups of facts that exclude each other, of which some were removed.
        """
        long_term = LongTerm(writer, scope, self.settings, self.clock(), verdicts)
        long_term.resettle(freed)
        tally = long_term.learn(lessons)
        long_term.flush()
        return tally

    def verdicts(self, scope: Scope, lessons: Sequence[Lesson]) -> Verdicts:
        """What the judge says of the lessons that only it can tell; asked while no transaction waits."""
        if self.judge is None:
            return {}
        with self.vault.read(scope) as reader:
            pairs = doubts(reader, lessons)
        return judged(self.judge, pairs)

    def lessons(self, findings: Sequence[Finding]) -> list[Lesson]:
        """Findings as lessons; facts get their vectors."""
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
                derived_by=self.extractor.name,
                vector=by_index.get(index),
                moments=finding.moments,
            )
            for index, finding in enumerate(findings)
        ]


def new_pages(reader: Reader, segment_id: str) -> list[MemCube]:
    """The pages that joined the segment since its last extraction: L_interaction counts them."""
    segment = reader.get([segment_id]).get(segment_id)
    if segment is None or segment.kind is not Kind.SEGMENT:
        return []
    ids = [link.source for link in reader.sources([segment_id], LinkKind.MEMBER_OF)]
    fresh = ids[max(0, len(ids) - segment.behaviour.interactions) :]
    pages = reader.get(fresh)
    return [pages[page] for page in fresh if page in pages]


def was_extracted(reader: Reader, page_id: str) -> bool:
    """Whether the page is in a segment and is not one of its new pages."""
    homes = reader.targets([page_id], LinkKind.MEMBER_OF)
    return any(page_id not in {page.id for page in new_pages(reader, link.target)} for link in homes)


def _check_unchanged(reader: Reader, pages: Sequence[MemCube]) -> None:
    """Refuse lessons from pages that were corrected or deleted while they were read; the job runs again."""
    present = reader.get(page.id for page in pages)
    if any(page.id not in present or present[page.id].version != page.version for page in pages):
        raise StorageError("pages changed while they were read; nothing was written")


def _mark_extracted(writer: Writer, segment_id: str, pages: int) -> None:
    """Reset L_interaction, and nothing else; pages that joined meanwhile still count."""
    for segment in writer.get([segment_id]).values():
        left = max(0, segment.behaviour.interactions - pages)
        cube = replace(segment, behaviour=replace(segment.behaviour, interactions=left))
        writer.update([Entry(cube)], Operation.PROMOTE)
