"""Removal: memories go in steps, with what rests on them alone.

Derived memories come first, and then the pages, the last of them first, for others continue them rather than the
first: so the rest of a chain is described once. Pages that go together leave their segments together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import Kind
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction.followers import Followers, Shortened, shorten_chains
from memoryos.operation.correction.rederive import Again, derived_from
from memoryos.operation.correction.remaining_pages import RemainingPages, readable
from memoryos.operation.correction.renewal import Renewal, links_stored_anew
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes, chars_to_write, version_removals
from memoryos.operation.hierarchy.recent import ask_for_recent, is_asked_for
from memoryos.operation.hierarchy.redescribe import (
    described_chains,
    described_while_it_goes,
    redescribe_segments,
    retell,
)
from memoryos.operation.knowledge.rivals import relatives
from memoryos.operation.knowledge.support import LINKS_AT_ONCE, thin_out
from memoryos.operation.scheduler.step import CUBES_AT_ONCE, LEARNED, Step, some_at_a_time, take, together
from memoryos.scope import Scope

PAGES_AT_ONCE = 16  # that go in one transaction


@dataclass(frozen=True)
class Removal:
    """Removes memories of one home scope."""

    promoter: Promoter
    again: Again

    def remove(self, cube_id: str, kind: Kind) -> None:
        """Remove a segment with its pages, or a memory that is no page."""
        if kind is Kind.SEGMENT:
            with self._vault.read(self._home) as reader:
                pages = pages_of(reader, cube_id, kind)
            self._unlearn(pages, frozenset(pages))
        if kind in LEARNED:
            with self._vault.read(self._home) as reader:
                support = [link.target for link in reader.targets([cube_id], LinkKind.DERIVED_FROM)]
            thin_out(self._vault, self._home, [cube_id], frozenset(support))
        self._take(lambda reader: _going(reader, cube_id, kind), lambda reader: self._deletion(reader, cube_id, kind))

    def remove_pages(self, pages: Sequence[str], going: Collection[str] = frozenset()) -> None:
        """Remove pages, given in the order in which they were added; nothing is derived from those `going` next."""
        leaving = frozenset(pages).union(going)
        self._unlearn(pages, leaving)
        for some in reversed(some_at_a_time(pages, PAGES_AT_ONCE)):
            with self._vault.read(self._home) as reader:
                sizes = _sizes(reader, some)
            for few in together(reversed(some), sizes.__getitem__, CHARS_AT_ONCE):
                plan = partial(self._pages_deletion, pages=few, leaving=leaving)
                self._take(lambda _, few=few: few, plan)  # type: ignore[misc]

    @property
    def _vault(self) -> Vault:
        return self.promoter.vault

    @property
    def _home(self) -> Scope:
        return self.again.home

    def _take(self, going: Callable[[Reader], Sequence[str]], plan: Callable[[Reader], Step]) -> None:
        """Take steps until the last one, each after the chains of the pages that go are described to their ends."""
        is_last = False
        while not is_last:
            shorten_chains(
                self._vault, self._home, lambda reader: _unchained(Changes(reader), going(reader)), Shortened()
            )
            is_last = take(self._vault, self._home, plan).is_last

    def _unlearn(self, pages: Sequence[str], leaving: frozenset[str]) -> None:
        """Derive again what rests on many pages once, and not for each batch of them."""
        with self._vault.read(self._home) as reader:
            derived = derived_from(reader, pages) if len(pages) > PAGES_AT_ONCE else []
        thin_out(self._vault, self._home, derived, leaving)
        Renewal(self.again).renew(pages, leaving)
        with self._vault.read(self._home) as reader:
            links = links_stored_anew(reader, derived)
        for some in together(derived, links.__getitem__, LINKS_AT_ONCE):
            take(self._vault, self._home, lambda reader, some=some: self._unlearning(reader, some, leaving))  # type: ignore[misc]

    def _unlearning(self, reader: Reader, some: Sequence[str], leaving: frozenset[str]) -> Step:
        changes, evidence = Changes(reader), RemainingPages(reader.get, leaving)
        planned = self.again.planned(changes, readable(changes, some), (), read=evidence)
        return Step(planned.pass_on, {*evidence.ids, *changes.touched}, ahead=planned.ahead())

    def _deletion(self, reader: Reader, cube_id: str, kind: Kind) -> Step:
        """Remove what is derived, and then the pages and the memory; for a large segment, some of the pages."""
        changes = Changes(reader)
        if cube_id not in reader.kinds([cube_id]):
            return Step(changes.flush, ())  # somebody else was faster
        cube = next(iter(changes.get([cube_id])), None)  # None: it is damaged
        members = pages_of(reader, cube_id, kind)
        pages = members[-PAGES_AT_ONCE:]
        derived = derived_from(reader, pages)
        is_last = len(derived) <= CUBES_AT_ONCE and len(pages) == len(members)
        freed = relatives(reader, [cube]) if cube and kind is Kind.FACT else []
        if len(derived) <= CUBES_AT_ONCE:
            _unchain(changes, pages)
            if is_last:
                changes.remove(cube_id)
            elif cube:
                retell(changes, cube, described_while_it_goes(changes, cube, members, PAGES_AT_ONCE))
        return self._step(changes, derived, pages, [cube_id], is_last=is_last, freed=freed)

    def _pages_deletion(self, reader: Reader, pages: Sequence[str], leaving: Collection[str]) -> Step:
        """Remove what is derived, and then the pages."""
        changes, kinds = Changes(reader), reader.kinds(pages)
        left = [page for page in pages if page in kinds]
        if not left:
            return Step(changes.flush, ())  # somebody else was faster
        derived = derived_from(reader, left)
        is_last = len(derived) <= CUBES_AT_ONCE
        if is_last:
            self._take_out(changes, left, leaving)
        return self._step(changes, derived, left, left, is_last=is_last, leaving=leaving)

    def _step(
        self,
        changes: Changes,
        derived: Sequence[str],
        pages: Sequence[str],
        doomed: Sequence[str],
        *,
        is_last: bool,
        freed: Sequence[Sequence[MemCube]] = (),
        leaving: Collection[str] = (),
    ) -> Step:
        """Derive some of these memories again, and remove what was taken out."""
        reader, evidence = changes.reader, RemainingPages(changes.reader.get, leaving or pages)
        some = readable(changes, derived[:CUBES_AT_ONCE])
        planned = self.again.planned(changes, some, (), read=evidence, freed=freed)

        def write(writer: Writer) -> None:
            planned.pass_on(writer)
            if pages and len(derived) <= CUBES_AT_ONCE and not is_asked_for(writer):  # the job went with its page
                ask_for_recent(writer, self.promoter.settings, self.promoter.clock())

        chains = Followers(reader, {*pages, *changes.touched})
        rests_on = {*doomed, *pages, *evidence.ids, *changes.touched}
        versions = [part for one in doomed for part in version_removals(reader, one)] if is_last else []
        return Step(write, rests_on, is_last, chains.are_as_they_were, [*planned.ahead(), *versions])

    def _take_out(self, changes: Changes, pages: Sequence[str], leaving: Collection[str]) -> None:
        """Remove pages from their chains and segments; one that loses more of them is described whole at the end."""
        homes = {link.target for link in changes.reader.targets(pages, LinkKind.MEMBER_OF)}
        _unchain(changes, pages)
        members = changes.reader.sources(homes, LinkKind.MEMBER_OF)
        later = {link.target for link in members if link.source in leaving and link.source not in changes.gone}
        redescribe_segments(changes, homes - later, self.promoter.clock())
        for segment in changes.get(later):
            own = [link.source for link in members if link.target == segment.id]
            retell(changes, segment, described_while_it_goes(changes, segment, own, PAGES_AT_ONCE))


def pages_of(reader: Reader, cube_id: str, kind: Kind) -> list[str]:
    """The pages that go when a memory of that kind goes."""
    if kind is Kind.SEGMENT:
        return [link.source for link in reader.sources([cube_id], LinkKind.MEMBER_OF)]
    return [cube_id] if kind is Kind.PAGE else []


def pages_with(reader: Reader, ids: Sequence[str]) -> list[str]:
    """The pages that go when these memories go."""
    return [page for one, kind in reader.kinds(ids).items() for page in pages_of(reader, one, kind)]


def _going(reader: Reader, cube_id: str, kind: Kind) -> list[str]:
    """The pages that go next when a memory goes: the last of them, for others continue them rather than the first."""
    return pages_of(reader, cube_id, kind)[-PAGES_AT_ONCE:]


def _sizes(reader: Reader, pages: Sequence[str]) -> Counter[str]:
    """The characters that go with each of these pages, its earlier versions among them."""
    sizes = Counter({page.id: chars_to_write(page) for page in reader.get(pages).values()})
    for version in reader.kept_versions(pages):
        sizes[version.cube_id] += version.size
    return sizes


def _unchain(changes: Changes, pages: Sequence[str]) -> None:
    """Remove pages, and describe those that continued them without them."""
    for described in _unchained(changes, pages):
        changes.change(Entry(described), Operation.REFRESH)


def _unchained(changes: Changes, pages: Sequence[str]) -> list[MemCube]:
    """The pages that these were continued by, and those after them, as they are described without these."""
    followers = [link.source for link in changes.reader.sources(pages, LinkKind.CHAIN)]
    for page in pages:
        changes.remove(page)
    return described_chains(changes, [page for page in followers if page not in changes.gone])
