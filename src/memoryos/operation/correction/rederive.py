"""Deriving again: what rests on pages that change or go, made anew from the support that still stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind, Origin, Subject
from memoryos.operation.consolidation.confirm import confirmed
from memoryos.operation.consolidation.finding import Finding
from memoryos.operation.consolidation.promotion import Promoter, persona_scope
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.redescribe import in_order
from memoryos.operation.knowledge.carried import CarriedChains
from memoryos.operation.knowledge.lesson import Lesson, identities, identity
from memoryos.operation.knowledge.long_term import LongTerm
from memoryos.operation.knowledge.page_ends import ending, ending_at
from memoryos.operation.knowledge.rivals import relatives
from memoryos.operation.knowledge.stated import restated
from memoryos.scope import Scope

IsWanted = Callable[[Finding], bool]
ReadCubes = Callable[[Iterable[str]], dict[str, MemCube]]


def derived_from(reader: Reader, pages: Iterable[str]) -> list[str]:
    """The memories that rest on these pages."""
    return list(dict.fromkeys(link.source for link in reader.sources(pages, LinkKind.DERIVED_FROM)))


@dataclass(frozen=True)
class Again:
    """Derives again what rests on pages of one scope."""

    promoter: Promoter
    scope: Scope  #: of the pages
    home: Scope  #: of what is derived
    carried: CarriedChains = field(default_factory=CarriedChains)  #: from one plan to the next

    def planned(
        self,
        changes: Changes,
        derived: Sequence[MemCube],
        pages: Sequence[str],
        *,
        read: ReadCubes,
        read_before: Sequence[str] = (),
        freed: Sequence[Sequence[MemCube]] = (),
        corrected_at: datetime | None = None,
    ) -> LongTerm:
        """Derive these memories again, from the support that still stands when these pages have changed or gone.

        `freed` are more facts to be put in order. Of the pages that were `read_before` and have new words, everything
        is learned. After a correction, snapshots still show what is lost; what goes with a page goes from there, too.
        """
        former = [cube for cube in derived if cube.is_withdrawn]
        derived = [cube for cube in derived if not cube.is_withdrawn]
        support = {page for cube in derived for page in cube.descriptive.provenance}
        evidence = read(support.union(read_before))
        true = self._true(derived, evidence, pages, read_before)
        chains = self.carried.of(changes.reader, self.home)
        facts = [cube for cube in derived if cube.kind is Kind.FACT and not any(cube.id in one for one in chains)]
        related = relatives(changes.reader, facts)
        kept = _keep(changes, derived, true)
        lost = [cube for cube in derived if cube.id not in kept]
        embedder, history = self.promoter.embedder, changes.reader.history
        stated = [restated([*history(cube.id), cube], embedder) for cube in lost]
        _let_go(changes, lost, former, corrected_at)
        for cube, lesson in zip(lost, stated, strict=True):
            if lesson is None and corrected_at is None and cube.version.number > 1:
                changes.shed(cube.id)
        settled = {identity(cube.payload) for cube in derived if cube.id in kept}
        again = [lesson for lesson in true if identity(lesson.payload) not in settled]
        lessons = [*(lesson for lesson in stated if lesson), *again]
        return self.promoter.planned(
            changes.reader, self.home, lessons, changes=changes, freed=[*related, *freed], carried=self.carried
        )

    def lessons(self, pages: Sequence[MemCube], is_wanted: IsWanted = lambda _: True) -> list[Lesson]:
        """The lessons that rules find in the pages, that belong to `home` and are wanted; no other is embedded."""
        lessons = self.promoter.lessons(list(filter(is_wanted, self.promoter.extractor.extract(pages))))
        persona = persona_scope(self.scope, self.promoter.settings)
        if persona == self.scope.owner:
            return lessons
        subject = Subject.USER if self.home == persona else Subject.AGENT
        return [lesson for lesson in lessons if lesson.payload.subject is subject]

    def _true(
        self,
        derived: Sequence[MemCube],
        evidence: Mapping[str, MemCube],
        changed: Sequence[str],
        read_before: Sequence[str],
    ) -> list[Lesson]:
        """Of what the evidence says, what was derived before or is read again."""
        wanted = {name for cube in derived for name in identities(cube.payload)}

        def is_wanted(one: Finding | Lesson) -> bool:
            return identity(one.payload) in wanted or not set(one.pages).isdisjoint(read_before)

        still = filter(is_wanted, self._confirmed(derived, evidence, changed))
        return [ending(one, evidence) for one in (*still, *self.lessons(in_order(evidence), is_wanted))]

    def _confirmed(
        self, derived: Sequence[MemCube], evidence: Mapping[str, MemCube], changed: Sequence[str]
    ) -> Iterator[Lesson]:
        """The lessons that a model found and that are still supported."""
        promoter = self.promoter
        return confirmed(derived, evidence, changed, promoter.embedder, rules=promoter.extractor.name)


def _keep(changes: Changes, derived: Sequence[MemCube], true: Sequence[Lesson]) -> set[str]:
    """Leave in place what is as true as before, with the support it has now; returns the ids.

    What has a history is not kept: an old version may quote a page that is gone.
    """
    by_identity = {identity(lesson.payload): lesson for lesson in reversed(true)}  # confirmed ones come first
    kept = set()
    for cube in derived:
        lesson = by_identity.get(identity(cube.payload))
        if lesson and lesson.payload == cube.payload and cube.version.number == 1:
            _rest_on(changes, cube, lesson)
            kept.add(cube.id)
    return kept


def _let_go(
    changes: Changes, lost: Sequence[MemCube], former: Sequence[MemCube], corrected_at: datetime | None
) -> None:
    """Leave what a correction lost to snapshots; without one, what was withdrawn before goes, too."""
    if corrected_at is not None:
        for cube in lost:
            changes.withdraw(cube, corrected_at)
        return
    for cube in (*lost, *former):
        changes.remove(cube.id)


def _rest_on(changes: Changes, cube: MemCube, lesson: Lesson) -> None:
    known = set(cube.descriptive.provenance)
    lost = known.difference(lesson.pages)
    mentions = tuple(one for one in cube.descriptive.mentions if one.source not in lost)
    descriptive = replace(cube.descriptive, provenance=tuple(lesson.pages), mentions=mentions)
    if cube.kind is Kind.FACT and not mentions and descriptive.origin is Origin.INFERENCE:
        descriptive = replace(descriptive, event_at=lesson.event_at, valid_from=lesson.first_at)
    gained = [page for page in lesson.pages if page not in known]
    resting = ending_at(replace(cube, descriptive=descriptive), lesson.about.expires_at)
    changes.rest(resting, gained, has_lost=True)
