"""Correction: changing or removing a memory, and everything that was derived from it.

Raw pages are the truth. When one changes or goes, its segment is described anew from the pages that
remain, the summaries of its chain are made again, and what LPM derived from it is derived again from
the pages that still support it, or goes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.cube import Fact, Kind, MemCube, Origin, Page, ProfileField, Role, Subject, Trait
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Entry, JobKind, Link, LinkKind, Operation, Reader, Vault, Writer
from memoryos.language.words import keywords
from memoryos.operation.consolidation.confirm import confirmed
from memoryos.operation.consolidation.promotion import Promoter, persona_scope, was_extracted
from memoryos.operation.hierarchy.changes import Urgency
from memoryos.operation.hierarchy.knowledge import relatives
from memoryos.operation.hierarchy.lesson import Lesson, identities, identity
from memoryos.operation.hierarchy.recent import ask_for_recent, is_asked_for
from memoryos.operation.hierarchy.redescribe import in_order, redescribe_chains, redescribe_segments
from memoryos.operation.passages import page_entries, topic_words
from memoryos.operation.stated import restated
from memoryos.scope import Scope

ReadCubes = Callable[[Iterable[str]], dict[str, MemCube]]


@dataclass(frozen=True)
class Corrector:
    """Changes and removes memories of one scope."""

    promoter: Promoter
    scope: Scope

    def delete(self, cube_id: str) -> None:
        """Remove a memory with what rests on it alone; a segment goes with its pages. Raises NotFound.

        One that is damaged goes as well: nothing but its kind is read.
        """
        kind, home = self._kind(cube_id)
        self._load_rules()
        if self._persona != self._owner and kind in (Kind.PAGE, Kind.SEGMENT):
            # First what was derived: a crash in between leaves the page, and the user can ask again.
            with self._vault.write(self._owner) as writer:
                pages = _pages_of(writer, cube_id, kind)
                _renumber(writer, pages)  # who is reading them now learns nothing from them any more
            with self._vault.write(self._persona) as writer:
                self._derive_again(writer, self._persona, self._of_all_agents, pages, gone=pages)
        with self._vault.write(home) as writer:
            pages = _pages_of(writer, cube_id, kind)
            freed = [relatives(writer, cube) for cube in writer.get([cube_id]).values() if kind is Kind.FACT]
            self._derive_again(writer, home, writer.get, pages, gone=pages)
            self._remove(writer, [cube_id, *pages], pages)
            if pages and not is_asked_for(writer):  # the job went with its page
                ask_for_recent(writer, self.promoter.settings)
            self.promoter.learn(writer, home, [], freed=freed)

    def postpone(self, cube_id: str) -> None:
        """Note that a memory is to be deleted as soon as the object store answers. Raises NotFound."""
        for home in dict.fromkeys((self._owner, self._persona)):
            with self._vault.write(home) as writer:
                if writer.added([cube_id]):
                    writer.enqueue(JobKind.ERASE, [cube_id], priority=Urgency.ASKED)
                    return
        raise NotFound(f"there is no memory {cube_id!r} in this scope")

    def revise(self, cube_id: str, text: str, *, role: Role = Role.USER) -> MemCube:
        """Give a memory new words; the old ones stay in its history. Raises NotFound.

        `role` says which turn of a page is meant.
        """
        _, home = self.find(cube_id)
        self._load_rules()
        with self._vault.write(home) as writer:
            cube = self._present(writer, cube_id)
            revised = _revised(cube, text, role, self.promoter.clock())
            writer.update([self._entry(revised)], Operation.REVISE)
            pages = [cube_id] if cube.kind is Kind.PAGE else []
            read = [page for page in pages if was_extracted(writer, page)]
            if self.promoter.reader:  # a model reads the new words, later: it is not asked while others wait
                writer.enqueue(JobKind.EXTRACT, read, priority=Urgency.HOT)
                read = []
            self._derive_again(writer, home, writer.get, pages, read_before=read)
            self._redescribe(writer, pages, writer.targets(pages, LinkKind.MEMBER_OF))
        if pages and self._persona != self._owner:
            with self._vault.write(self._persona) as persona:
                self._derive_again(persona, self._persona, self._of_all_agents, pages, read_before=read)
        return self.find(cube_id)[0]

    def find(self, cube_id: str) -> tuple[MemCube, Scope]:
        """A memory of the scope, or of the persona its agents share, and where it lives. Raises NotFound."""
        for home in dict.fromkeys((self._owner, self._persona)):
            with self._vault.read(home) as reader:
                if cube := reader.one(cube_id):
                    return cube, home
        raise NotFound(f"there is no memory {cube_id!r} in this scope")

    def _kind(self, cube_id: str) -> tuple[Kind, Scope]:
        """What kind a memory is of, and where it lives. Raises NotFound."""
        for home in dict.fromkeys((self._owner, self._persona)):
            with self._vault.read(home) as reader:
                if kind := reader.kinds([cube_id]).get(cube_id):
                    return kind, home
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

    def _load_rules(self) -> None:
        """Load what reads pages again, the first time for 0.2 s or longer, before others wait for our lock."""
        self.promoter.extractor.extract([])

    def _present(self, reader: Reader, cube_id: str) -> MemCube:
        """The memory as it is now, within the transaction that will change it."""
        found = reader.one(cube_id)
        if found is None:
            raise NotFound(f"there is no memory {cube_id!r} in this scope")
        return found

    def _entry(self, cube: MemCube) -> Entry:
        if cube.kind is Kind.PAGE:
            return page_entries([cube], self.promoter.embedder)[0]
        is_fact = cube.kind is Kind.FACT
        return Entry(cube, self.promoter.embedder.embed([cube.meaning])[0] if is_fact else None)

    def _remove(self, writer: Writer, ids: Sequence[str], pages: Sequence[str]) -> None:
        homes = writer.targets(pages, LinkKind.MEMBER_OF)
        followers = [link.source for link in writer.sources(pages, LinkKind.CHAIN)]
        writer.delete(ids)
        self._redescribe(writer, followers, homes)

    def _redescribe(self, writer: Writer, pages: Sequence[str], homes: Sequence[Link]) -> None:
        """Describe the chains from these pages on, and the segments these links lead to."""
        redescribe_chains(writer, pages)
        redescribe_segments(writer, [link.target for link in homes], self.promoter.clock())

    def _derive_again(
        self,
        writer: Writer,
        home: Scope,
        read: ReadCubes,
        pages: Sequence[str],
        *,
        gone: Sequence[str] = (),
        read_before: Sequence[str] = (),
    ) -> None:
        """Derive again what in `home` rests on these pages, from the support that still stands.

        Of the pages that were `read_before` and have new words, everything is learned.
        """
        links = writer.sources(pages, LinkKind.DERIVED_FROM)
        derived = list(writer.get(link.source for link in links).values())
        support = {page for cube in derived for page in cube.descriptive.provenance}
        evidence = read(support.union(read_before).difference(gone))
        lessons = [*self._confirmed(derived, evidence, pages), *self._lessons(home, in_order(evidence))]
        wanted = {name for cube in derived for name in identities(cube.payload)}
        true = [one for one in lessons if identity(one.payload) in wanted or set(one.pages).intersection(read_before)]
        freed = [relatives(writer, cube) for cube in derived if cube.kind is Kind.FACT]
        kept = self._keep(writer, derived, true)
        lost = [cube for cube in derived if cube.id not in kept]
        stated = [restated([*writer.history(cube.id), cube], self.promoter.embedder) for cube in lost]
        unreadable = {link.source for link in links}.difference(cube.id for cube in derived)  # may quote what is gone
        writer.delete([*(cube.id for cube in lost), *unreadable])
        settled = {identity(cube.payload) for cube in derived if cube.id in kept}
        again = [lesson for lesson in true if identity(lesson.payload) not in settled]
        self.promoter.learn(writer, home, [*(lesson for lesson in stated if lesson), *again], freed=freed)

    def _lessons(self, home: Scope, pages: Sequence[MemCube]) -> list[Lesson]:
        """What the pages say that belongs into `home`."""
        lessons = self.promoter.lessons(self.promoter.extractor.extract(pages))
        if self._persona == self._owner:
            return lessons
        subject = Subject.USER if home == self._persona else Subject.AGENT
        return [lesson for lesson in lessons if lesson.payload.subject is subject]

    def _confirmed(
        self, derived: Sequence[MemCube], evidence: Mapping[str, MemCube], changed: Sequence[str]
    ) -> Iterator[Lesson]:
        """What a model had found and still stands."""
        promoter = self.promoter
        return confirmed(derived, evidence, changed, promoter.embedder, rules=promoter.extractor.name)

    def _keep(self, writer: Writer, derived: Sequence[MemCube], true: Sequence[Lesson]) -> set[str]:
        """Leave in place what is as true as before, with the support it has now; returns the ids.

        What has a history is not kept: an old version may quote a page that is gone.
        """
        by_identity = {identity(lesson.payload): lesson for lesson in reversed(true)}  # confirmed ones come first
        kept = set()
        for cube in derived:
            lesson = by_identity.get(identity(cube.payload))
            if lesson and lesson.payload == cube.payload and cube.version.number == 1:
                self._rest_on(writer, cube, lesson)
                kept.add(cube.id)
        return kept

    def _rest_on(self, writer: Writer, cube: MemCube, lesson: Lesson) -> None:
        pages = lesson.pages
        lost = set(cube.descriptive.provenance).difference(pages)
        mentions = tuple(one for one in cube.descriptive.mentions if one.source not in lost)
        descriptive = replace(cube.descriptive, provenance=tuple(pages), mentions=mentions)
        if cube.kind is Kind.FACT and not mentions and descriptive.origin is Origin.INFERENCE:
            descriptive = replace(descriptive, event_at=lesson.event_at, valid_from=lesson.first_at)
        writer.update([Entry(replace(cube, descriptive=descriptive))], Operation.REFRESH)
        stale = [link for link in writer.targets([cube.id], LinkKind.DERIVED_FROM) if link.target not in pages]
        writer.unlink(stale)

    def _of_all_agents(self, ids: Iterable[str]) -> dict[str, MemCube]:
        """These pages, whichever agent of the user has them: a shared persona rests on all of them."""
        wanted = list(ids)
        found: dict[str, MemCube] = {}
        for scope in self._vault.owners(self.scope.tenant):
            if scope.across_agents == self._persona:
                with self._vault.read(scope) as reader:
                    found |= reader.get(wanted)
        return found


def _renumber(writer: Writer, pages: Sequence[str]) -> None:
    """Give pages another version, with the same words."""
    cubes = writer.get(pages).values()
    changed = [replace(cube, version=replace(cube.version, number=cube.version.number + 1)) for cube in cubes]
    writer.update([Entry(cube) for cube in changed], Operation.REFRESH)


def _pages_of(reader: Reader, cube_id: str, kind: Kind) -> list[str]:
    """The pages that go when a cube of that kind goes."""
    if kind is Kind.SEGMENT:
        return [link.source for link in reader.sources([cube_id], LinkKind.MEMBER_OF)]
    return [cube_id] if kind is Kind.PAGE else []


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
