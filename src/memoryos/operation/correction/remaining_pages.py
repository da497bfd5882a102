"""RemainingPages: the pages from which memories are derived again when others change or go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memoryos.cube import MemCube
from memoryos.operation.hierarchy.changes import Changes


@dataclass
class RemainingPages:
    """The pages that still support something, without those that go; it knows which were read."""

    read: Callable[[Iterable[str]], Mapping[str, MemCube]]
    gone: Collection[str]
    _found: dict[str, MemCube] = field(default_factory=dict)

    def __call__(self, ids: Iterable[str]) -> dict[str, MemCube]:
        """Those of these pages that stay."""
        self._found = dict(self.read(one for one in ids if one not in self.gone))
        return self._found

    @property
    def ids(self) -> Collection[str]:
        """The pages that were read."""
        return self._found.keys()

    @property
    def is_as_it_was(self) -> bool:
        """Whether the pages say the same now."""
        now = self.read(self._found)
        numbers = [{name: page.version.number for name, page in found.items()} for found in (now, self._found)]
        return numbers[0] == numbers[1]


def readable(changes: Changes, ids: Sequence[str]) -> list[MemCube]:
    """These derived memories; those that are damaged go, for they may quote what changes."""
    found = changes.reader.get(ids)
    for damaged in set(ids).difference(found):
        changes.remove(damaged)
    return list(found.values())
