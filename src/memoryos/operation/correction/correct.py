"""Correction: changing or removing a memory and everything that was derived from it.

Raw pages are the truth. When a page changes or goes, its segment is described again from the remaining pages, the
summaries of its chain are made again, and what LPM derived from it is derived again from the pages that still support
it, or removed.

Much of this takes several steps (`step`), derived memories first: a crash in between leaves the page, and the user can
call again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoryos.about import NOTHING, About
from memoryos.caller import Action, concerns
from memoryos.cube import MemCube
from memoryos.errors import CubeProtected, NotFound
from memoryos.hold import HeldThing
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, JobKind, Link, LinkKind, Operation
from memoryos.kinds import Kind, State
from memoryos.operation.calls.permission import check_stored
from memoryos.operation.consolidation.promotion import Promoter, persona_scope, was_extracted
from memoryos.operation.correction.merging import give_back
from memoryos.operation.correction.rederive import Again, derived_from
from memoryos.operation.correction.revised import NextVersion, next_version, refuse_absorbed
from memoryos.operation.hierarchy.changes import Changes, Urgency, version_removals
from memoryos.operation.hierarchy.mid_term import page_of
from memoryos.operation.hierarchy.page_entries import direction_of, page_entries
from memoryos.operation.hierarchy.recent import ask_for_recent, is_asked_for
from memoryos.operation.hierarchy.redescribe import described_chains, described_while_it_goes, redescribe_segments
from memoryos.operation.knowledge.fact_base import relatives
from memoryos.operation.knowledge.support import thin_out
from memoryos.operation.scheduler.step import CUBES_AT_ONCE, LEARNED, Step, some_at_a_time, take, take_all
from memoryos.scope import Scope

PAGES_AT_ONCE = 16  # of a segment, deleted in one transaction
SHORT_CHARS = 1_000  # a page of fewer says few things


@dataclass(frozen=True)
class Corrector:
    """Changes and removes memories of one scope."""

    promoter: Promoter
    scope: Scope

    def delete(self, cube_id: str) -> None:
        """Remove a memory with what rests on it alone; deleting a segment deletes its pages.

        Raises NotFound, and CubeProtected if something that would go or change is frozen.

        A damaged memory can be deleted, too, because only its kind is read.
        """
        kind, home = self.removable(cube_id)
        self._refuse_frozen(home, cube_id, kind)
        self._load_rules()
        with self._vault.read(home) as reader:
            pages = _pages_of(reader, cube_id, kind)
        give_back(self._vault, home, [*pages, cube_id])
        if pages:
            self.withdraw(pages)
        if kind is Kind.SEGMENT:
            self._unlearn(home, cube_id)
        if kind in LEARNED:
            with self._vault.read(home) as reader:
                support = [link.target for link in reader.targets([cube_id], LinkKind.DERIVED_FROM)]
            thin_out(self._vault, home, [cube_id], support)
        is_last = False
        while not is_last:
            self._shorten_chains(home, lambda reader: _unchained(Changes(reader), _going(reader, cube_id, kind)))
            is_last = take(self._vault, home, lambda reader: self._deletion(reader, home, cube_id, kind)).is_last

    def postpone(self, cube_id: str) -> None:
        """Record that a memory is to be deleted once the object store answers. Raises NotFound."""
        for home in self.homes:
            with self._vault.write(home) as writer:
                if writer.added([cube_id]):
                    writer.enqueue(JobKind.ERASE, [cube_id], priority=Urgency.ASKED)
                    return
        raise NotFound(f"there is no memory {cube_id!r} of this user and agent")

    def revise(
        self, cube_id: str, change: NextVersion, *, labels: About = NOTHING, detail: str | None = None
    ) -> MemCube:
        """Give a memory other words; its old version stays in the history.

        Raises NotFound, StaleVersion, and CubeProtected if the memory, or one that depends on it, is frozen, or it is
        read-only. The `labels` are added to those of the memory, and the `detail` to the event.
        """
        cube, home = self.find(cube_id, Action.WRITE)
        self._refuse_frozen(home, cube_id, cube.kind)
        self._load_rules()
        revision = _Revision(self, home, cube_id, change, labels, detail)
        if cube.kind is Kind.PAGE and not change.rests_on_stored:  # else it may change in between, all in one step
            self._shorten_chains(home, lambda reader: described_chains(revision.changes(reader), [cube_id]))
            with self._vault.read(home) as reader:
                _, *later = some_at_a_time(derived_from(reader, [cube_id])) or [[]]
            for some in later:
                take(self._vault, home, lambda reader, some=some: revision.prepared(reader, some))  # type: ignore[misc]
        take(self._vault, home, revision.planned)
        if cube.kind is Kind.PAGE and self.shares_persona:
            self._derive_in_persona(cube_id, revision.read_before)
        return self.find(cube_id)[0]

    def find(self, cube_id: str, action: Action = Action.READ) -> tuple[MemCube, Scope]:
        """Return a memory of the scope, or of the shared persona, and its home scope.

        Raises NotFound if there is none that the caller may read, and PermissionDenied if it may not do more with it.
        """
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
                    pages = _pages_of(reader.whole, cube_id, kind)
                    check_stored(self._vault, home, reader, [cube_id, *pages], Action.DELETE)
                    return kind, home
        raise NotFound(f"there is no memory {cube_id!r} of this user and agent")

    def refuse_frozen(self, pages: Sequence[str], others: Iterable[str] = ()) -> None:
        """Raise CubeProtected if the end or a change of these pages would reach a frozen memory, or one of `others`.

        It would reach their segments, what is derived from them, and the facts that are in order with that. Raises
        OnHold if one of them, or of `others`, is on hold, or something is by itself that depends on them.
        """
        segments = self._segments_of(pages)
        given = {*pages, *others}
        for home in self.homes:
            with self._vault.read(home) as reader:
                derived = derived_from(reader, pages)
                states = reader.states({*given, *segments, *derived, *reader.successions(derived)})
                _refuse_held(reader, given, {*segments, *derived})
                for frozen in (one for one, state in states.items() if state is State.FROZEN):
                    reason = "" if frozen in given else ", which depends on it,"
                    raise CubeProtected(
                        f"the memory {frozen}{reason} is frozen, and nothing was changed: thaw it first",
                        memory_id=frozen,
                    )

    def absorbed(self, ids: Sequence[str]) -> list[str]:
        """The memories that were merged into these, and into those."""
        found: dict[str, None] = {}
        while ids:
            reached = list[str]()
            for home in self.homes:
                with self._vault.read(home) as reader:
                    reached += [link.target for link in reader.targets(ids, LinkKind.ABSORBED)]
            ids = [one for one in reached if one not in found]
            found.update(dict.fromkeys(ids))
        return list(found)

    def dependents(self, ids: Sequence[str]) -> set[str]:
        """These memories, the pages of segments among them, and what may go with them."""
        with self._vault.read(self._owner) as reader:
            kinds = reader.kinds(ids)
            pages = [page for one, kind in kinds.items() for page in _pages_of(reader, one, kind)]
        found = {*ids, *pages, *self._segments_of(pages)}
        for home in self.homes:
            with self._vault.read(home) as reader:
                found.update(derived_from(reader, pages))
        return found

    def _segments_of(self, pages: Sequence[str]) -> list[str]:
        with self._vault.read(self._owner) as reader:
            return [link.target for link in reader.targets(pages, LinkKind.MEMBER_OF)]

    def _refuse_frozen(self, home: Scope, cube_id: str, kind: Kind) -> None:
        with self._vault.read(home) as reader:
            pages = _pages_of(reader, cube_id, kind)
        self.refuse_frozen(pages, [cube_id])

    @property
    def shares_persona(self) -> bool:
        """Whether facts about the user are stored in a persona that other agents share."""
        return self._persona != self._owner

    @property
    def _vault(self) -> Vault:
        return self.promoter.vault

    @property
    def _owner(self) -> Scope:
        return self.scope.owner

    @property
    def homes(self) -> tuple[Scope, ...]:
        """The scopes that hold memories of this owner: its own, and that of a shared persona."""
        return tuple(dict.fromkeys((self._owner, self._persona)))

    @property
    def _persona(self) -> Scope:
        return persona_scope(self.scope, self.promoter.settings)

    def _load_rules(self) -> None:
        """Load the extraction rules (0.2 s or longer the first time) before a snapshot is taken."""
        self.promoter.extractor.extract([])

    def again(self, home: Scope) -> Again:
        """The object that derives memories in `home` again from pages of the scope."""
        return Again(self.promoter, self.scope, home)

    # Chains

    def _shorten_chains(self, home: Scope, described: Callable[[Reader], Sequence[MemCube]]) -> None:
        """Describe the far ends of long chains, so that the following step has few pages left.

        The last pages come first: after a crash, a second call begins where the chain still has its old description.
        """
        with self._vault.read(home) as reader:
            _, *later = some_at_a_time(described(reader)) or [[]]
            before = reader.get(cube.id for some in later for cube in some)
            chains = [_Followers(reader, [cube.id for cube in some]) for some in later]
        for some, chain in zip(reversed(later), reversed(chains), strict=True):
            with self._vault.write(home) as writer:
                if not chain.are_as_they_were(writer):
                    return  # the step that is to come describes more
                present = writer.get(cube.id for cube in some)
                unchanged = [cube for cube in some if present.get(cube.id) == before[cube.id]]
                writer.update([Entry(cube) for cube in unchanged], Operation.REFRESH)

    # Deletion

    def withdraw(self, pages: Sequence[str]) -> None:
        """Remove the support of pages from a persona that is shared with other agents, if there is one."""
        if not self.shares_persona:
            return
        for some in some_at_a_time(pages):
            with self._vault.write(self._owner) as writer:
                _renumber(writer, some)  # who is reading them now learns nothing from them any more
        with self._vault.read(self._persona) as reader:
            derived = derived_from(reader, pages)
        thin_out(self._vault, self._persona, derived, pages)
        take_all(self._vault, self._persona, lambda reader: self._forgetting(reader, pages))

    def _forgetting(self, reader: Reader, pages: Sequence[str]) -> Step:
        derived, changes = derived_from(reader, pages), Changes(reader)
        evidence = _Evidence(self._of_all_agents, pages)
        some = _readable(changes, derived[:CUBES_AT_ONCE])
        planned = self.again(self._persona).planned(changes, some, pages, read=evidence)
        is_last = len(derived) <= CUBES_AT_ONCE
        return Step(planned.flush, changes.touched, is_last, lambda _: evidence.is_as_it_was, planned.ahead())

    def _unlearn(self, home: Scope, segment: str) -> None:
        """Derive again what rests on a large segment once, and not for each batch of its pages."""
        with self._vault.read(home) as reader:
            pages = _pages_of(reader, segment, Kind.SEGMENT)
            derived = derived_from(reader, pages) if len(pages) > PAGES_AT_ONCE else []
        thin_out(self._vault, home, derived, pages)
        for some in some_at_a_time(derived):
            take(self._vault, home, lambda reader, some=some: self._unlearning(reader, home, some, pages))  # type: ignore[misc]

    def _unlearning(self, reader: Reader, home: Scope, some: Sequence[str], pages: Sequence[str]) -> Step:
        changes, evidence = Changes(reader), _Evidence(reader.get, frozenset(pages))
        planned = self.again(home).planned(changes, _readable(changes, some), pages, read=evidence)
        return Step(planned.flush, {*evidence.ids, *changes.touched}, ahead=planned.ahead())

    def _deletion(self, reader: Reader, home: Scope, cube_id: str, kind: Kind) -> Step:
        """Remove what is derived, and then the pages; for a large segment, some of them."""
        changes = Changes(reader)
        if cube_id not in reader.kinds([cube_id]):
            return Step(changes.flush, ())  # somebody else was faster
        cube = next(iter(changes.get([cube_id])), None)  # None: it is damaged
        pages = _going(reader, cube_id, kind)
        derived = derived_from(reader, pages)
        evidence = _Evidence(reader.get, pages)
        freed = relatives(reader, [cube]) if cube and kind is Kind.FACT else []
        is_ready = len(derived) <= CUBES_AT_ONCE
        is_last = is_ready and len(pages) == len(_pages_of(reader, cube_id, kind))
        if is_ready:
            self._take_out(changes, cube_id, kind, pages, is_last=is_last)
        some = _readable(changes, derived[:CUBES_AT_ONCE])
        planned = self.again(home).planned(changes, some, pages, read=evidence, freed=freed)

        def write(writer: Writer) -> None:
            planned.flush(writer)
            if pages and is_ready and not is_asked_for(writer):  # the job went with its page
                ask_for_recent(writer, self.promoter.settings)

        chains = _Followers(reader, {*pages, *changes.touched})
        rests_on = {cube_id, *pages, *evidence.ids, *changes.touched}
        ahead = [*planned.ahead(), *(version_removals(reader, cube_id) if is_last else ())]
        return Step(write, rests_on, is_last, chains.are_as_they_were, ahead)

    def _take_out(self, changes: Changes, cube_id: str, kind: Kind, pages: Sequence[str], *, is_last: bool) -> None:
        """Remove pages from their chains and segments, and with the last of them the memory itself."""
        homes = [link.target for link in changes.reader.targets(pages, LinkKind.MEMBER_OF)]
        for described in _unchained(changes, pages):
            changes.change(Entry(described), Operation.REFRESH)
        if is_last:
            changes.remove(cube_id)
        if kind is not Kind.SEGMENT:
            redescribe_segments(changes, homes, self.promoter.clock())
        elif not is_last:
            for segment in changes.get([cube_id]):
                changes.change(described_while_it_goes(changes, segment, PAGES_AT_ONCE), Operation.REFRESH)

    def _derive_in_persona(self, cube_id: str, read_before: Sequence[str]) -> None:
        """Derive again in a shared persona what rests on a page that has new words."""
        with self._vault.read(self._persona) as reader:
            *first, last = some_at_a_time(derived_from(reader, [cube_id])) or [[]]
        for some, read in [*((one, ()) for one in first), (last, read_before)]:

            def plan(reader: Reader, some: Sequence[str] = some, read: Sequence[str] = read) -> Step:
                changes, evidence = Changes(reader), _Evidence(self._of_all_agents, ())
                derived = _readable(changes, some)
                again = self.again(self._persona)
                planned = again.planned(changes, derived, [cube_id], read=evidence, read_before=read)
                holds, ahead = lambda _: evidence.is_as_it_was, planned.ahead()
                return Step(planned.flush, changes.touched, holds=holds, ahead=ahead)

            take(self._vault, self._persona, plan)

    def _of_all_agents(self, ids: Iterable[str]) -> dict[str, MemCube]:
        """These pages, whichever agent of the user has them: a shared persona rests on all of them."""
        wanted = list(ids)
        found: dict[str, MemCube] = {}
        for scope in self._vault.owners(self.scope.tenant):
            if scope.across_agents == self._persona:
                with self._vault.read(scope) as reader:
                    found |= reader.get(wanted)
        return found


@dataclass
class _Evidence:
    """The pages that still support something, without those that go; it knows which were read."""

    read: Callable[[Iterable[str]], Mapping[str, MemCube]]
    gone: Collection[str]
    _found: dict[str, MemCube] = field(default_factory=dict)

    def __call__(self, ids: Iterable[str]) -> dict[str, MemCube]:
        self._found = dict(self.read(one for one in ids if one not in self.gone))
        return self._found

    @property
    def ids(self) -> Collection[str]:
        return self._found.keys()

    @property
    def is_as_it_was(self) -> bool:
        """Whether the pages say the same now."""
        now = self.read(self._found)
        numbers = [{name: page.version.number for name, page in found.items()} for found in (now, self._found)]
        return numbers[0] == numbers[1]


class _Followers:
    """The pages that continue some pages: their chain summaries are made of the words of these."""

    def __init__(self, reader: Reader, pages: Iterable[str]) -> None:
        self._pages = list(pages)
        self._found = self._in(reader)

    def are_as_they_were(self, reader: Reader) -> bool:
        """Whether no other page has found its chain here since."""
        return self._in(reader) == self._found

    def _in(self, reader: Reader) -> set[Link]:
        return set(reader.sources(self._pages, LinkKind.CHAIN))


@dataclass
class _Revision:
    """A new text of a memory."""

    corrector: Corrector
    home: Scope
    cube_id: str
    change: NextVersion
    labels: About = NOTHING  #: for the memory, beside those it has
    detail: str | None = None  #: of the event
    read_before: Sequence[str] = ()  #: the page, if all it says is to be learned now
    _prepared: set[str] = field(default_factory=set)  # what was derived again before

    def changes(self, reader: Reader) -> Changes:
        """The memory with its new words. Raises NotFound, InvalidInput, StaleVersion."""
        changes = Changes(reader)
        changes.revise(self._entry(reader))
        return changes

    def prepared(self, reader: Reader, some: Sequence[str]) -> Step:
        """Some of what rests on the page as it will stand with the new words, while the page has the old ones."""
        changes, ahead = Changes(reader), self.changes(reader)
        evidence = _Evidence(lambda ids: {cube.id: cube for cube in ahead.get(ids)}, ())
        derived = _readable(changes, some)
        planned = self.corrector.again(self.home).planned(changes, derived, [self.cube_id], read=evidence)
        self._prepared.update(some, changes.added)
        return Step(planned.flush, {self.cube_id, *evidence.ids, *changes.touched}, ahead=planned.ahead())

    def planned(self, reader: Reader) -> Step:
        """The new words, with what follows from them; nothing, if the memory says all of it already."""
        changes, promoter = Changes(reader), self.corrector.promoter
        entry = self._entry(reader)
        if entry.cube == reader.one(self.cube_id):
            return Step(changes.flush, {self.cube_id})
        changes.revise(entry, self.detail)
        pages = [self.cube_id] if entry.cube.kind is Kind.PAGE else []
        read = [page for page in pages if was_extracted(reader, page)]
        is_for_later = promoter.reader is not None or (bool(read) and self._says_much(entry.cube))
        self.read_before = [] if is_for_later else read  # what is read later is learned by a job
        evidence = _Evidence(lambda ids: {cube.id: cube for cube in changes.get(ids)}, ())
        derived = [cube for cube in reader.get(derived_from(reader, pages)).values() if cube.id not in self._prepared]
        planned = self.corrector.again(self.home).planned(
            changes, derived, pages, read=evidence, read_before=self.read_before
        )
        _describe(changes, entry, promoter.clock())

        def write(writer: Writer) -> None:
            planned.flush(writer)
            if is_for_later:
                writer.enqueue(JobKind.EXTRACT, read, priority=Urgency.HOT)

        chains = _Followers(reader, {*pages, *changes.touched})
        rests_on = {self.cube_id, *evidence.ids, *changes.touched}
        return Step(write, rests_on, holds=chains.are_as_they_were, ahead=planned.ahead())

    def _entry(self, reader: Reader) -> Entry:
        found = reader.one(self.cube_id)
        if found is None:
            raise NotFound(f"there is no memory {self.cube_id!r} of this user and agent")
        refuse_absorbed(reader, found)
        promoter = self.corrector.promoter
        cube = next_version(found, self.labels.add_to(self.change.of(found, promoter.clock())), promoter.clock())
        if cube.kind is Kind.PAGE:
            return page_entries([cube], promoter.embedder)[0]
        return Entry(cube, promoter.embedder.embed([cube.meaning])[0] if cube.kind is Kind.FACT else None)

    def _says_much(self, page: MemCube) -> bool:
        """Whether it says more than is learned in one transaction."""
        if sum(len(turn.text) for turn in page_of(page).turns) <= SHORT_CHARS:
            return False
        return len(self.corrector.again(self.home).lessons([page])) > CUBES_AT_ONCE


def _refuse_held(reader: Reader, given: Collection[str], dependent: Collection[str]) -> None:
    """Raise OnHold if a memory that is given is on hold, or one that depends on it is by itself."""
    for cube_id, hold in reader.retention.held({*given, *dependent}).items():
        if cube_id in given or hold.on is HeldThing.MEMORY:
            raise hold.refusal(cube_id)


def _describe(changes: Changes, entry: Entry, now: datetime) -> None:
    """Describe the chain and the segment of a page that has new words."""
    if entry.cube.kind is not Kind.PAGE:
        return
    page = entry.cube.id
    for cube in described_chains(changes, [page]):
        changes.change(Entry(cube), Operation.REFRESH)
    homes = [link.target for link in changes.reader.targets([page], LinkKind.MEMBER_OF)]
    redescribe_segments(changes, homes, now, {page: direction_of(entry)})


def _unchained(changes: Changes, pages: Sequence[str]) -> list[MemCube]:
    """The pages that these were continued by, and those after them, as they are described without these."""
    followers = [link.source for link in changes.reader.sources(pages, LinkKind.CHAIN)]
    for page in pages:
        changes.remove(page)
    return described_chains(changes, followers)


def _readable(changes: Changes, ids: Sequence[str]) -> list[MemCube]:
    """These derived memories; those that are damaged go, for they may quote what changes."""
    found = changes.reader.get(ids)
    for damaged in set(ids).difference(found):
        changes.remove(damaged)
    return list(found.values())


def _going(reader: Reader, cube_id: str, kind: Kind) -> list[str]:
    """The pages that go next when a cube goes: the last of them, for others continue them rather than the first."""
    return _pages_of(reader, cube_id, kind)[-PAGES_AT_ONCE:]


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
