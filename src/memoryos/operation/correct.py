"""Correction: changing or removing a memory, and everything that was derived from it.

Raw pages are the truth. When one changes or goes, its segment is described anew from the pages that
remain, the summaries of its chain are made again, and what LPM derived from it is derived again from
the pages that still support it, or goes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from memoryos.cube import Fact, Kind, MemCube, Origin, Page, ProfileField, Role, Trait
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Entry, Link, LinkKind, Operation, Vault, Writer
from memoryos.language.words import keywords, terms
from memoryos.operation.consolidation.promotion import Promoter, persona_scope
from memoryos.operation.hierarchy.chain import chain_summary
from memoryos.operation.hierarchy.long_term import Learned, Lesson, identity
from memoryos.operation.hierarchy.mid_term import formed, page_of
from memoryos.operation.ingest import topic_words
from memoryos.scope import Scope

ReadCubes = Callable[[Iterable[str]], dict[str, MemCube]]


@dataclass(frozen=True)
class Corrector:
    """Changes and removes memories of one scope."""

    promoter: Promoter
    scope: Scope

    def delete(self, cube_id: str) -> None:
        """Remove a memory with what rests on it alone; a segment goes with its pages. Raises NotFound."""
        cube, home = self.find(cube_id)
        with self._vault.read(home) as reader:
            members = [link.source for link in reader.sources([cube_id], LinkKind.MEMBER_OF)]
        pages = members if cube.kind is Kind.SEGMENT else [cube_id] if cube.kind is Kind.PAGE else []
        if pages and self._persona != self._owner:
            # First what was derived: a crash in between leaves the page, and the user can ask again.
            with self._vault.write(self._persona) as persona:
                self._derive_again(persona, self._of_all_agents, pages, gone=pages)
        with self._vault.write(home) as writer:
            self._derive_again(writer, writer.get, pages, gone=pages)
            self._remove(writer, [cube_id, *members], pages)

    def revise(self, cube_id: str, text: str, *, role: Role = Role.USER) -> MemCube:
        """Give a memory new words; the old ones stay in its history. Raises NotFound.

        `role` says which turn of a page is meant.
        """
        cube, home = self.find(cube_id)
        revised = _revised(cube, text, role, self.promoter.clock())
        has_vector = cube.kind in (Kind.PAGE, Kind.FACT)
        vector = self.promoter.embedder.embed([revised.meaning])[0] if has_vector else None
        pages = [cube_id] if cube.kind is Kind.PAGE else []
        with self._vault.write(home) as writer:
            writer.update([Entry(revised, vector, terms(revised.text))], Operation.REVISE)
            self._derive_again(writer, writer.get, pages)
            self._refresh(writer, pages, writer.targets(pages, LinkKind.MEMBER_OF))
        if pages and self._persona != self._owner:
            with self._vault.write(self._persona) as persona:
                self._derive_again(persona, self._of_all_agents, pages)
        return self.find(cube_id)[0]

    def find(self, cube_id: str) -> tuple[MemCube, Scope]:
        """A memory of the scope, or of the persona its agents share, and where it lives. Raises NotFound."""
        for home in dict.fromkeys((self._owner, self._persona)):
            with self._vault.read(home) as reader:
                if cube := reader.get([cube_id]).get(cube_id):
                    return cube, home
        raise NotFound(f"there is no memory {cube_id!r} in this scope")

    @property
    def _vault(self) -> Vault:
        return self.promoter.vault

    @property
    def _owner(self) -> Scope:
        return self.scope.owner

    @property
    def _persona(self) -> Scope:
        return persona_scope(self.scope, self.promoter.settings)

    def _remove(self, writer: Writer, ids: Sequence[str], pages: Sequence[str]) -> None:
        homes = writer.targets(pages, LinkKind.MEMBER_OF)
        followers = [link.source for link in writer.sources(pages, LinkKind.CHAIN)]
        writer.delete(ids)
        self._refresh(writer, followers, homes)

    def _refresh(self, writer: Writer, pages: Sequence[str], homes: Sequence[Link]) -> None:
        """Describe the chains from these pages on, and the segments these links lead to."""
        _refresh_chain(writer, pages)
        _refresh_segments(writer, [link.target for link in homes], self.promoter.clock())

    def _derive_again(self, writer: Writer, read: ReadCubes, pages: Sequence[str], *, gone: Sequence[str] = ()) -> None:
        """Derive again what in the writer's scope rests on these pages, from the support that still stands."""
        links = writer.sources(pages, LinkKind.DERIVED_FROM)
        derived = list(writer.get(link.source for link in links).values())
        support = {page for cube in derived for page in cube.descriptive.provenance}.difference(gone)
        lessons = self.promoter.lessons(self.promoter.extractor.extract(_in_order(read(support))))
        stated = [lesson for cube in derived for lesson in self._stated(writer, cube)]
        wanted = {identity(cube.payload) for cube in derived}
        subjects = {cube.subject for cube in derived}
        revised = set(pages).difference(gone)
        still_true = [
            lesson
            for lesson in lessons
            if identity(lesson.payload) in wanted
            or (lesson.payload.subject in subjects and not revised.isdisjoint(lesson.pages))
        ]
        writer.delete([cube.id for cube in derived])
        if stated or still_true:
            self.promoter.learn(writer, derived[0].scope, [*stated, *still_true])

    def _stated(self, writer: Writer, cube: MemCube) -> Iterator[Lesson]:
        """What was last said of it outright, which no page can take back."""
        for version in [cube, *reversed(writer.history(cube.id))]:
            if version.descriptive.origin is not Origin.INFERENCE and isinstance(version.payload, Learned):
                is_fact = version.kind is Kind.FACT
                yield Lesson(
                    payload=version.payload,
                    pages=(),
                    event_at=version.descriptive.event_at,
                    semantic_type=version.descriptive.semantic_type,
                    origin=version.descriptive.origin,
                    vector=self.promoter.embedder.embed([version.text])[0] if is_fact else None,
                )
                return

    def _of_all_agents(self, ids: Iterable[str]) -> dict[str, MemCube]:
        """These pages, whichever agent of the user has them: a shared persona rests on all of them."""
        wanted = list(ids)
        found: dict[str, MemCube] = {}
        for scope in self._vault.owners(self.scope.tenant):
            if scope.across_agents == self._persona:
                with self._vault.read(scope) as reader:
                    found |= reader.get(wanted)
        return found


def _in_order(cubes: Mapping[str, MemCube]) -> list[MemCube]:
    return sorted(cubes.values(), key=lambda cube: (cube.descriptive.event_at, cube.id))


def _refresh_chain(writer: Writer, pages: Sequence[str]) -> None:
    """Make the chain summaries again, from these pages to the end of their chains."""
    waiting = list(pages)
    while waiting:
        page_id = waiting.pop()
        for cube in writer.get([page_id]).values():
            previous = [link.target for link in writer.targets([page_id], LinkKind.CHAIN)]
            before = next(iter(writer.get(previous).values()), None)
            page = page_of(cube)
            payload = replace(page, chain_summary=chain_summary(before, page))
            writer.update([Entry(replace(cube, payload=payload))], Operation.REFRESH)
        waiting += [link.source for link in writer.sources([page_id], LinkKind.CHAIN)]


def _refresh_segments(writer: Writer, segments: Iterable[str], now: datetime) -> None:
    """Describe segments anew from the pages they still have; an empty one goes."""
    for segment in writer.get(segments).values():
        ids = [link.source for link in writer.sources([segment.id], LinkKind.MEMBER_OF)]
        if not ids:
            writer.delete([segment.id])
            continue
        vectors = writer.vectors(ids)
        cube = replace(
            segment,
            payload=formed(_in_order(writer.get(ids))),
            descriptive=replace(segment.descriptive, updated_at=now),
            behaviour=replace(segment.behaviour, interactions=min(segment.behaviour.interactions, len(ids))),
        )
        centroid = np.stack(list(vectors.values())).mean(axis=0, dtype=np.float32)
        writer.update([Entry(cube, centroid)], Operation.REFRESH)


def _revised(cube: MemCube, text: str, role: Role, now: datetime) -> MemCube:
    payload = cube.payload
    if isinstance(payload, Page):
        payload = _with_turn(payload, text, role)
        fingerprint = topic_words(payload)
    elif isinstance(payload, Fact):
        payload = replace(payload, text=text)
        fingerprint = keywords(text)
    elif isinstance(payload, ProfileField):
        payload = replace(payload, value=text)
        fingerprint = keywords(text)
    elif isinstance(payload, Trait):
        payload = replace(payload, reason=text)
        fingerprint = keywords(text)
    else:
        raise InvalidInput("id", f"a {cube.kind.value} cannot be edited", "Edit its pages instead")
    # What the user corrects is the user's word from now on: no page can take it back.
    return replace(
        cube,
        payload=payload,
        descriptive=replace(cube.descriptive, updated_at=now, origin=Origin.USER_INPUT),
        behaviour=replace(cube.behaviour, fingerprint=fingerprint),
        version=replace(cube.version, number=cube.version.number + 1),
    )


def _with_turn(page: Page, text: str, role: Role) -> Page:
    if page.turn_of(role) is None:
        raise InvalidInput("role", f"the page has no {role.value} turn", "Name the role of a turn it has")
    return replace(page, turns=tuple(replace(turn, text=text) if turn.role is role else turn for turn in page.turns))
