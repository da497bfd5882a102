"""Renewal: a large memory is derived anew before some of its pages go, and the old one leaves in steps.

A memory with earlier versions may quote a page that goes, so it is stored anew under another id. To remove thousands of
links or a long history takes as long as to write them, so the two are parted: in one step the new memory comes and the
old one is withdrawn, then the old one leaves. It keeps its links to the pages that go to the end, so that after a crash
it is found with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Origin, State
from memoryos.operation.correction.rederive import Again, ReadCubes, derived_from
from memoryos.operation.correction.remaining_pages import RemainingPages, readable
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes, version_removals
from memoryos.operation.knowledge.support import LINKS_AT_ONCE, thin_out
from memoryos.operation.scheduler.step import Step, take
from memoryos.scope import Scope


def _of_home(reader: Reader) -> ReadCubes:
    return reader.get


@dataclass(frozen=True)
class Renewal:
    """Derives large memories of one home anew."""

    again: Again
    pages_of: Callable[[Reader], ReadCubes] = _of_home  #: how the pages are read
    is_shared: bool = False  #: whether these lie in other scopes, where no event of the home shows that they change

    def renew(self, pages: Sequence[str], leaving: Collection[str]) -> None:
        """Derive anew what rests on these pages and is large; of its pages, some are `leaving`."""
        with self._vault.read(self._home) as reader:
            large = _large(reader, derived_from(reader, pages))
        for memory in large:
            take(self._vault, self._home, partial(self._renewed, memory=memory, leaving=leaving))
            self._end(memory, frozenset(pages))

    @property
    def _vault(self) -> Vault:
        return self.again.promoter.vault

    @property
    def _home(self) -> Scope:
        return self.again.home

    def _renewed(self, reader: Reader, *, memory: str, leaving: Collection[str]) -> Step:
        changes, evidence = Changes(reader), RemainingPages(self.pages_of(reader), leaving)
        held = reader.retention.held(
            [memory]
        )  # since the caller looked: it goes with the pages, or they are not deleted
        some = [one for one in readable(changes, [memory]) if not (one.is_withdrawn or held)]
        planned = self.again.planned(changes, some, (), read=evidence, corrected_at=self.again.promoter.clock())
        rests_on = {*([] if self.is_shared else evidence.ids), *changes.touched}

        def holds(writer: Writer) -> bool:
            return writer.retention.held([memory]) == held and (not self.is_shared or evidence.is_as_it_was)

        return Step(planned.pass_on, rests_on, holds=holds, ahead=planned.ahead())

    def _end(self, memory: str, pages: frozenset[str]) -> None:
        """Remove a memory that was withdrawn: its links to other pages first."""
        with self._vault.read(self._home) as reader:
            cube = reader.get([memory]).get(memory)
            support = [link.target for link in reader.targets([memory], LinkKind.DERIVED_FROM)]
        if cube and cube.is_withdrawn:
            thin_out(self._vault, self._home, [memory], frozenset(support) - pages, only_withdrawn=True)
            take(self._vault, self._home, partial(_end, memory=memory))


def _large(reader: Reader, memories: Sequence[str]) -> list[str]:
    """Those that have more links or longer earlier versions than are removed in one step."""
    links, sizes = links_stored_anew(reader, memories), Counter[str]()
    for version in reader.kept_versions(list(links)):
        sizes[version.cube_id] += version.size
    return [one for one, count in links.items() if count > LINKS_AT_ONCE or sizes[one] > CHARS_AT_ONCE]


def links_stored_anew(reader: Reader, memories: Sequence[str]) -> Counter[str]:
    """The links of those memories that are removed and stored anew, because an earlier version may quote a page.

    So is one that somebody stated, which quotes no page. What was withdrawn is removed, too.
    """
    merged = {one for one, state in reader.states(memories).items() if state is State.MERGED}
    stated = {cube.id for cube in reader.get(memories).values() if cube.descriptive.origin is not Origin.INFERENCE}
    numbers = reader.versions(memories)
    going = [one for one, number in numbers.items() if number > 1 or one in merged or one in stated]
    return Counter(link.source for link in reader.targets(going, LinkKind.DERIVED_FROM))


def _end(reader: Reader, *, memory: str) -> Step:
    changes = Changes(reader)
    cube = reader.get([memory]).get(memory)
    if cube is None or not cube.is_withdrawn:  # it is planned again when somebody has changed it
        return Step(changes.flush, [memory])
    changes.remove(memory)
    return Step(changes.flush, [memory], ahead=version_removals(reader, memory))
