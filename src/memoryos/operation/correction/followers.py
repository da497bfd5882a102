"""Followers: the pages that continue others, whose chain summaries are made of the words of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes, chars_to_write
from memoryos.operation.hierarchy.redescribe import described_chains
from memoryos.operation.scheduler.step import Step, take, together
from memoryos.scope import Scope


class Followers:
    """The pages that continue some pages."""

    def __init__(self, reader: Reader, pages: Iterable[str]) -> None:
        self._pages = list(pages)
        self._found = self._in(reader)

    def are_as_they_were(self, reader: Reader) -> bool:
        """Whether no other page has found its chain here since."""
        return self._in(reader) == self._found

    def _in(self, reader: Reader) -> set[Link]:
        return set(reader.sources(self._pages, LinkKind.CHAIN))


@dataclass(frozen=True, slots=True)
class Shortened:
    """The pages that are described ahead of a step: as they were, and as they are then."""

    before: dict[str, MemCube] = field(default_factory=dict)
    after: dict[str, MemCube] = field(default_factory=dict)

    def undo(self, vault: Vault, home: Scope) -> None:
        """Describe them as before, unless somebody else has since, and anew the pages that have joined them."""
        for some in together(self.before.values(), chars_to_write, CHARS_AT_ONCE):
            take(vault, home, partial(self._restored, ids=[cube.id for cube in some]))
        if self.before:
            take(vault, home, self._joined)

    def _restored(self, reader: Reader, *, ids: Sequence[str]) -> Step:
        changes = Changes(reader)
        for cube in reader.get(ids).values():  # it may have moved since
            if cube.payload == self.after[cube.id].payload:
                changes.change(Entry(replace(cube, payload=self.before[cube.id].payload)), Operation.REFRESH)
        return Step(changes.flush, ids)

    def _joined(self, reader: Reader) -> Step:
        """The pages that continue them and were not described with them."""
        changes = Changes(reader)
        joined = {link.source for link in reader.sources(self.before, LinkKind.CHAIN)} - self.before.keys()
        for cube in described_chains(changes, joined):
            changes.change(Entry(cube), Operation.REFRESH)
        return Step(changes.flush, {*self.before, *changes.touched})


def shorten_chains(
    vault: Vault, home: Scope, described: Callable[[Reader], Sequence[MemCube]], done: Shortened
) -> None:
    """Describe the far ends of long chains, so that the following step has few pages left; `done` notes which.

    The last pages come first: after a crash, a second call begins where the chain still has its old description.
    """
    with vault.read(home) as reader:
        _, *later = [*together(described(reader), chars_to_write, CHARS_AT_ONCE)] or [[]]
        before = reader.get(cube.id for some in later for cube in some)
        chains = [Followers(reader, [cube.id for cube in some]) for some in later]
    for some, chain in zip(reversed(later), reversed(chains), strict=True):
        entries = [Entry(cube).prepared for cube in some]
        done.before.update((cube.id, before[cube.id]) for cube in some)  # before it is written: that may be interrupted
        done.after.update((cube.id, cube) for cube in some)
        with vault.write(home) as writer:
            if not chain.are_as_they_were(writer):
                break  # the step that is to come describes more
            present = writer.get(cube.id for cube in some)
            unchanged = [one for one in entries if present.get(one.cube.id) == before[one.cube.id]]
            writer.update(unchanged, Operation.REFRESH)
