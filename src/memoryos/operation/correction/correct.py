"""Correction: changing or removing a memory and everything that was derived from it.

Raw pages are the truth. When a page changes or goes, its segment is described again from the remaining pages, the
summaries of its chain are made again, and what LPM derived from it is derived again from the pages that still support
it, or removed.

Much of this takes several steps (`step`), derived memories first: a crash in between leaves the page, and the user can
call again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoryos.about import NOTHING, About
from memoryos.caller import Action, concerns
from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.built_cubes import undeletable
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, JobKind, LinkKind, Operation
from memoryos.kinds import Kind
from memoryos.operation.calls.permission import check_stored
from memoryos.operation.consolidation.promotion import Promoter, persona_scope, was_extracted
from memoryos.operation.correction.followers import Followers, Shortened, shorten_chains
from memoryos.operation.correction.kept_versions import unexpired
from memoryos.operation.correction.merging import give_back, taken_in
from memoryos.operation.correction.protectors import refuse_protected
from memoryos.operation.correction.rederive import Again, derived_from
from memoryos.operation.correction.remaining_pages import RemainingPages, readable
from memoryos.operation.correction.removal import Removal, pages_of, pages_with
from memoryos.operation.correction.renewal import Renewal
from memoryos.operation.correction.revised import NextVersion, next_version, refuse_absorbed, refuse_gone
from memoryos.operation.hierarchy.changes import Changes, Urgency
from memoryos.operation.hierarchy.mid_term import page_of
from memoryos.operation.hierarchy.page_entries import direction_of, page_entries
from memoryos.operation.hierarchy.redescribe import describe_corrected, described_chains
from memoryos.operation.hierarchy.told_topics import check_told, told_topics, without_words
from memoryos.operation.knowledge.carried import CarriedChains
from memoryos.operation.knowledge.support import thin_out
from memoryos.operation.scheduler.step import CUBES_AT_ONCE, Step, some_at_a_time, take, take_all
from memoryos.scope import Scope

SHORT_CHARS = 1_000  # a page of fewer says few things


@dataclass(frozen=True)
class Corrector:
    """Changes and removes memories of one scope."""

    promoter: Promoter
    scope: Scope

    def delete(self, cube_id: str) -> None:
        """Remove a memory with what rests on it alone; deleting a segment deletes its pages.

        Raises NotFound, and CubeProtected if something that would go or change is frozen. A damaged memory can be
        deleted, too, because only its kind is read.
        """
        kind, home = self.removable(cube_id)
        with self._vault.read(home) as reader:
            pages = pages_of(reader, cube_id, kind)
        self._before_removal(home, pages, [cube_id])
        removal = self._removal(home)
        if kind is Kind.PAGE:
            removal.remove_pages(pages)
        else:
            removal.remove(cube_id, kind)

    def delete_pages(self, pages: Sequence[str], going: Collection[str] = frozenset()) -> None:
        """Remove pages of the owner, given in the order in which they were added, with what rests on them alone.

        What rests on several of them is derived again once, and not from those that are `going` next. Of these ids,
        those of no page that the caller may read stay out. Raises CubeProtected if something that would go or change is
        frozen: then nothing goes.
        """
        with self._vault.view(self._owner) as reader:
            kinds = reader.kinds(pages)
            known = [page for page in pages if kinds.get(page) is Kind.PAGE]
            check_stored(self._vault, self._owner, reader, known, Action.DELETE)
        for page in known:
            concerns(self._owner, page, Kind.PAGE)
        if known:
            self._before_removal(self._owner, known, (), going)
            self._removal(self._owner).remove_pages(known, going)

    def _before_removal(
        self, home: Scope, pages: Sequence[str], others: Sequence[str], going: Collection[str] = frozenset()
    ) -> None:
        """What comes before the removal of memories; raises CubeProtected if they may not go."""
        self.refuse_frozen(pages, others)
        self._load_rules()
        give_back(self._vault, home, list(dict.fromkeys([*pages, *others])))
        if pages:
            self._vault.kept_chains.forget(self._owner)
            self.withdraw(pages, going)

    def _removal(self, home: Scope) -> Removal:
        return Removal(self.promoter, self.again(home))

    def postpone(self, cube_id: str) -> Scope:
        """Record that a memory is to be deleted once the object store answers; returns its home. Raises NotFound."""
        for home in self.homes:
            with self._vault.write(home) as writer:
                if writer.added([cube_id]):
                    writer.enqueue(JobKind.ERASE, [cube_id], priority=Urgency.ASKED)
                    return home
        raise NotFound(f"there is no memory {cube_id!r} of this user and agent")

    def revise(
        self, cube_id: str, change: NextVersion, *, labels: About = NOTHING, detail: str | None = None
    ) -> MemCube:
        """Give a memory other words; its old version stays in the history.

        Raises NotFound, StaleVersion, and CubeProtected if the memory, or one that depends on it, is frozen, or it is
        read-only. The `labels` are added to those of the memory, and the `detail` to the event.
        """
        cube, home = self.find(cube_id, Action.WRITE)
        self.refuse_frozen([cube_id] if cube.kind is Kind.PAGE else [], [cube_id])
        self._load_rules()
        revision = _Revising(self, home, [Revision(cube_id, change, labels, detail)])
        chain = Shortened()
        with ExitStack() as refused:  # whatever ends it, the chain does not tell words that were not stored
            refused.callback(self._undo, chain, revision)
            if cube.kind is Kind.PAGE:
                self._done_before(revision, cube, change, chain)
            take(self._vault, home, revision.planned)
            refused.pop_all()
        revised = self._found(cube_id)[0]  # its end may have come since
        if revised.kind is Kind.PAGE and self.shares_persona:
            self._derive_in_persona(revised, revision.read_before)
        return revised

    def _done_before(self, revision: _Revising, page: MemCube, change: NextVersion, chain: Shortened) -> None:
        """What comes before the new words of a page; of what another version may still prevent, only the chain."""
        home = revision.home
        shorten_chains(self._vault, home, lambda reader: described_chains(revision.changes(reader), [page.id]), chain)
        if not change.rests_on_stored:  # else what rests on the page follows in one step
            with self._vault.read(home) as reader:
                _, *later = some_at_a_time(derived_from(reader, [page.id])) or [[]]
            for some in later:
                take(self._vault, home, lambda reader, some=some: revision.prepared(reader, some))  # type: ignore[misc]

    def _undo(self, chain: Shortened, revision: _Revising) -> None:
        """Describe the chain as before, unless the new words were stored: an interrupt may come after that."""
        with self._vault.read(revision.home) as reader:
            is_stored = revision.is_stored(reader)
        if not is_stored:
            chain.undo(self._vault, revision.home)

    def revising(self, home: Scope, revisions: Sequence[Revision]) -> Callable[[Reader], Step]:
        """The same for several memories of one home, as a plan of one step. Raises CubeProtected."""
        ids = [one.cube_id for one in revisions]
        with self._vault.read(home) as reader:
            pages = [one for one, kind in reader.kinds(ids).items() if kind is Kind.PAGE]
        self.refuse_frozen(pages, ids)
        self._load_rules()
        return _Revising(self, home, revisions).planned

    def find(self, cube_id: str, action: Action = Action.READ) -> tuple[MemCube, Scope]:
        """Return a memory of the scope, or of the shared persona, and its home scope.

        Raises NotFound if there is none that the caller may read, also if it has expired and only a hold or the next
        sweep keeps it, as have all pages of a segment, and PermissionDenied if the caller may not do more with it.
        """
        cube, home = self._found(cube_id, action)
        if cube.kind is Kind.SEGMENT:
            with self._vault.read(home) as reader:
                check_told(reader, cube)
        return unexpired(cube, self.promoter.clock()), home

    def told(self, cube: MemCube) -> MemCube:
        """A memory as its caller may see it: a segment or a page without the words of other pages that have expired."""
        if cube.kind is Kind.SEGMENT:
            with self._vault.read(cube.scope.owner) as reader:
                return next(iter(told_topics(reader, [cube])), without_words(cube))  # what was done to it is done
        with self._vault.view(cube.scope.owner) as reader:
            return reader.shown(cube)

    def _found(self, cube_id: str, action: Action = Action.READ) -> tuple[MemCube, Scope]:
        for home in self.homes:
            with self._vault.view(home) as reader:
                if cube := reader.one(cube_id):
                    concerns(home, cube_id, cube.kind)
                    if action is not Action.READ:
                        check_stored(self._vault, home, reader, [cube_id], action)
                    return cube, home
        raise NotFound(f"there is no memory {cube_id!r} of this user and agent")

    def removable(self, cube_id: str) -> tuple[Kind, Scope]:
        """The kind of a memory that is to be removed, and its home scope. Raises NotFound, PermissionDenied."""
        for home in self.homes:
            with self._vault.view(home) as reader:
                if kind := reader.kinds([cube_id]).get(cube_id):
                    concerns(home, cube_id, kind)
                    pages = pages_of(reader.whole, cube_id, kind)
                    check_stored(self._vault, home, reader, [cube_id, *pages], Action.DELETE)
                    return kind, home
        raise NotFound(f"there is no memory {cube_id!r} of this user and agent")

    def refuse_frozen(self, pages: Sequence[str], others: Iterable[str] = ()) -> None:
        """Raise CubeProtected if the end or a change of these pages would reach a frozen memory, or one of `others`.

        It would reach their segments, what is derived from them or built from all this, and the facts that are in order
        with it. Raises OnHold if one of them, or of `others`, is on hold, or something is by itself that depends on
        them.
        """
        segments = self._segments_of(pages)
        for home in self.homes:
            with self._vault.read(home) as reader:
                refuse_protected(reader, pages, segments, {*pages, *others})

    def refuse_ends(self, home: Scope, ids: Sequence[str]) -> None:
        """Raise CubeProtected if memories of this home may not go: what `delete` of each of them refuses."""
        with self._vault.read(home) as reader:
            pages = pages_with(reader, ids)
        self.refuse_frozen(pages, ids)

    def protected_in_persona(self, pages: Sequence[str]) -> Set[str]:
        """What rests on these pages in a shared persona, and is frozen or on hold by itself."""
        if not self.shares_persona:
            return frozenset()
        with self._vault.read(self.persona) as reader:
            return undeletable(reader, derived_from(reader, pages))

    def absorbed(self, ids: Sequence[str]) -> list[str]:
        """The memories that were merged into these, and into those."""
        found: list[str] = []
        for home in self.homes:
            with self._vault.read(home) as reader:
                found += taken_in(reader, ids)
        return found

    def dependents(self, ids: Sequence[str]) -> set[str]:
        """These memories, the pages of segments among them, and what may go with them."""
        with self._vault.read(self._owner) as reader:
            pages = pages_with(reader, ids)
        found = {*ids, *pages, *self._segments_of(pages)}
        for home in self.homes:
            with self._vault.read(home) as reader:
                found.update(derived_from(reader, pages))
        return found

    def _segments_of(self, pages: Sequence[str]) -> list[str]:
        with self._vault.read(self._owner) as reader:
            return [link.target for link in reader.targets(pages, LinkKind.MEMBER_OF)]

    @property
    def shares_persona(self) -> bool:
        """Whether facts about the user are stored in a persona that other agents share."""
        return self.persona != self._owner

    @property
    def _vault(self) -> Vault:
        return self.promoter.vault

    @property
    def _owner(self) -> Scope:
        return self.scope.owner

    @property
    def homes(self) -> tuple[Scope, ...]:
        """The scopes that hold memories of this owner: its own, and that of a shared persona."""
        return tuple(dict.fromkeys((self._owner, self.persona)))

    @property
    def persona(self) -> Scope:
        """The scope that holds what is learned about the user."""
        return persona_scope(self.scope, self.promoter.settings)

    def _load_rules(self) -> None:
        """Load the extraction rules (0.2 s or longer the first time) before a snapshot is taken."""
        self.promoter.extractor.extract([])

    def again(self, home: Scope) -> Again:
        """The object that derives memories in `home` again from pages of the scope."""
        return Again(self.promoter, self.scope, home)

    # Deletion

    def withdraw(self, pages: Sequence[str], going: Collection[str] = frozenset()) -> None:
        """Remove the support of pages from a persona that is shared with other agents, if there is one.

        Nothing is derived again from those that are `going` next.
        """
        if not self.shares_persona:
            return
        for some in some_at_a_time(pages):
            with self._vault.write(self._owner) as writer:
                _renumber(writer, some)  # who is reading them now learns nothing from them any more
        with self._vault.read(self.persona) as reader:
            derived = derived_from(reader, pages)
        leaving = frozenset(pages).union(going)
        thin_out(self._vault, self.persona, derived, leaving)
        Renewal(self.again(self.persona), lambda _: self.of_all_agents, is_shared=True).renew(pages, leaving)
        take_all(self._vault, self.persona, lambda reader: self._forgetting(reader, pages, leaving))

    def _forgetting(self, reader: Reader, pages: Sequence[str], leaving: Collection[str]) -> Step:
        derived, changes = derived_from(reader, pages), Changes(reader)
        evidence = RemainingPages(self.of_all_agents, leaving)
        some = readable(changes, derived[:CUBES_AT_ONCE])
        planned = self.again(self.persona).planned(changes, some, pages, read=evidence)
        is_last = len(derived) <= CUBES_AT_ONCE
        return Step(planned.flush, changes.touched, is_last, lambda _: evidence.is_as_it_was, planned.ahead())

    def _derive_in_persona(self, page: MemCube, read_before: Sequence[str]) -> None:
        """Derive again in a shared persona what rests on a page that has new words."""
        with self._vault.read(self.persona) as reader:
            *first, last = some_at_a_time(derived_from(reader, [page.id])) or [[]]
        for some, read in [*((one, ()) for one in first), (last, read_before)]:

            def plan(reader: Reader, some: Sequence[str] = some, read: Sequence[str] = read) -> Step:
                changes, evidence = Changes(reader), RemainingPages(self.of_all_agents, ())
                kept = undeletable(reader, some)  # a hold, or a freeze, that came after the page got its words
                derived = readable(changes, [one for one in some if one not in kept])
                again = self.again(self.persona)
                planned = again.planned(
                    changes,
                    derived,
                    [page.id],
                    read=evidence,
                    read_before=read,
                    corrected_at=page.descriptive.updated_at,
                )
                holds = lambda writer: evidence.is_as_it_was and undeletable(writer, some) == kept  # noqa: E731
                return Step(planned.flush, changes.touched, holds=holds, ahead=planned.ahead())

            take(self._vault, self.persona, plan)

    def of_all_agents(self, ids: Iterable[str]) -> dict[str, MemCube]:
        """These pages, whichever agent of the user has them: a shared persona rests on all of them."""
        wanted = list(ids)
        found: dict[str, MemCube] = {}
        for scope in self._vault.owners(self.scope.tenant):
            if scope.across_agents == self.persona:
                with self._vault.read(scope) as reader:
                    found |= reader.get(wanted)
        return found


@dataclass(frozen=True, slots=True)
class Revision:
    """What a memory becomes."""

    cube_id: str
    change: NextVersion
    labels: About = NOTHING  #: for the memory, beside those it has
    detail: str | None = None  #: of the event


@dataclass
class _Revising:
    """New texts of memories of one home."""

    corrector: Corrector
    home: Scope
    revisions: Sequence[Revision]
    read_before: Sequence[str] = ()  #: the pages, if all they say is to be learned now
    _prepared: set[str] = field(default_factory=set)  # what was derived again before
    _carried: CarriedChains = field(default_factory=CarriedChains)
    _told: Sequence[Entry] = ()  # what the last plan stores

    def is_stored(self, reader: Reader) -> bool:
        """Whether the memories have their new words."""
        stored = reader.get(entry.cube.id for entry in self._told)
        return any(entry.cube.text == stored[entry.cube.id].text for entry in self._told if entry.cube.id in stored)

    @property
    def _again(self) -> Again:
        return replace(self.corrector.again(self.home), carried=self._carried)

    def changes(self, reader: Reader) -> Changes:
        """The memories with their new words. Raises NotFound, InvalidInput, StaleVersion."""
        changes = Changes(reader)
        for one in self.revisions:
            changes.revise(self._entry(reader, one))
        return changes

    def prepared(self, reader: Reader, some: Sequence[str]) -> Step:
        """Some of what rests on the page as it will stand with the new words, while the page has the old ones."""
        is_free = self._not_protected(reader)  # a hold may have come since the work began
        changes, ahead = Changes(reader), self.changes(reader)
        evidence = RemainingPages(lambda ids: {cube.id: cube for cube in ahead.get(ids)}, ())
        derived = readable(changes, some)
        planned = self._again.planned(
            changes, derived, self._ids, read=evidence, corrected_at=_stored_at(ahead, self._ids)
        )
        self._prepared.update(some, changes.added)
        rests_on = {*self._ids, *evidence.ids, *changes.touched}
        return Step(planned.pass_on, rests_on, holds=is_free, ahead=planned.ahead())

    def planned(self, reader: Reader) -> Step:
        """The new words, with what follows from them; nothing, if the memories say all of it already."""
        changes, promoter = Changes(reader), self.corrector.promoter
        is_free = self._not_protected(reader)  # again: a hold may have come since the work began
        self._told = entries = self._changed(reader, changes)
        if not entries:
            return Step(changes.flush, self._ids)
        pages = [entry.cube.id for entry in entries if entry.cube.kind is Kind.PAGE]
        read = [page for page in pages if was_extracted(reader, page)]
        is_for_later = promoter.reader is not None or (bool(read) and self._say_much(changes.get(pages)))
        self.read_before = [] if is_for_later else read  # what is read later is learned by a job
        evidence = RemainingPages(lambda ids: {cube.id: cube for cube in changes.get(ids)}, ())
        derived = [cube for cube in reader.get(derived_from(reader, pages)).values() if cube.id not in self._prepared]
        planned = self._again.planned(
            changes,
            derived,
            pages,
            read=evidence,
            read_before=self.read_before,
            corrected_at=_stored_at(changes, [entry.cube.id for entry in entries]),
        )
        for entry in entries:
            _describe(changes, entry, promoter.clock())

        def write(writer: Writer) -> None:
            planned.flush(writer)
            if is_for_later:
                writer.enqueue(JobKind.EXTRACT, read, priority=Urgency.HOT)

        chains = Followers(reader, {*pages, *changes.touched})

        def holds(writer: Writer) -> bool:
            return is_free(writer) and chains.are_as_they_were(writer)

        rests_on = {*self._ids, *evidence.ids, *changes.touched}
        return Step(write, rests_on, holds=holds, ahead=planned.ahead())

    def _not_protected(self, reader: Reader) -> Callable[[Writer], bool]:
        """Refuse what is protected; return how to ask, at the time of writing, whether it still is not."""
        pages = [one for one, kind in reader.kinds(self._ids).items() if kind is Kind.PAGE]
        if self.corrector.protected_in_persona(pages):
            self.corrector.refuse_frozen(pages)
        segments = [link.target for link in reader.whole.targets(pages, LinkKind.MEMBER_OF)]
        reached = refuse_protected(reader.whole, pages, segments, self._ids)
        held = reader.whole.retention.held(reached)

        def is_free(writer: Writer) -> bool:  # if not, it is planned again, and refused
            return not self.corrector.protected_in_persona(pages) and writer.whole.retention.held(reached) == held

        return is_free

    @property
    def _ids(self) -> list[str]:
        return [one.cube_id for one in self.revisions]

    def _changed(self, reader: Reader, changes: Changes) -> list[Entry]:
        """The memories that have other words now."""
        found = []
        for one in self.revisions:
            entry = self._entry(reader, one)
            if entry.cube != reader.one(one.cube_id):
                changes.revise(entry, one.detail)
                found.append(entry)
        return found

    def _entry(self, reader: Reader, revision: Revision) -> Entry:
        found = reader.one(revision.cube_id)
        if found is None:
            raise NotFound(f"there is no memory {revision.cube_id!r} of this user and agent")
        refuse_absorbed(reader, found)
        refuse_gone(reader, revision.change, found)
        promoter = self.corrector.promoter
        told = revision.labels.add_to(revision.change.of(found, promoter.clock()), is_told=True)
        cube = next_version(found, told, promoter.clock())
        if cube.kind is Kind.PAGE:
            return page_entries([cube], promoter.embedder)[0]
        return Entry(cube, promoter.embedder.embed([cube.meaning])[0] if cube.kind is Kind.FACT else None)

    def _say_much(self, pages: Sequence[MemCube]) -> bool:
        """Whether they say more than is learned in one transaction."""
        if sum(len(turn.text) for page in pages for turn in page_of(page).turns) <= SHORT_CHARS:
            return False
        return len(self.corrector.again(self.home).lessons(pages)) > CUBES_AT_ONCE


def _stored_at(changes: Changes, ids: Collection[str]) -> datetime:
    """When the last of these memories gets the words that it has in these changes."""
    return max(cube.descriptive.updated_at for cube in changes.get(ids))


def _describe(changes: Changes, entry: Entry, now: datetime) -> None:
    """Describe the chain and the segment of a page that has new words."""
    if entry.cube.kind is not Kind.PAGE:
        return
    page = entry.cube.id
    for cube in described_chains(changes, [page]):
        changes.change(Entry(cube), Operation.REFRESH)
    homes = [link.target for link in changes.reader.targets([page], LinkKind.MEMBER_OF)]
    describe_corrected(changes, homes, now, {page: direction_of(entry)})


def _renumber(writer: Writer, pages: Sequence[str]) -> None:
    """Give pages another version, with the same words."""
    cubes = writer.get(pages).values()
    changed = [replace(cube, version=replace(cube.version, number=cube.version.number + 1)) for cube in cubes]
    writer.update([Entry(cube) for cube in changed], Operation.REFRESH)
