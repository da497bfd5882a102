"""KvPool: which blocks leave a full pool of KV so that another one fits, and what each owner keeps.

A part of the pool is divided equally among the owners in it. An owner who holds no more than this share loses nothing
to others; the rest of the pool goes to what is worth most. An owner alone may fill the pool.
A priority counts among the blocks of one owner alone: whoever tags memories keeps nothing from others. So of each
owner, the first block to leave, which has the lowest priority, counts as what is worth least of that owner's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge

from memoryos.operation.placement.placement_policy import HeldBlock, PlacementPolicy
from memoryos.operation.placement.placement_task import PlacementTask
from memoryos.scope import Scope

Counted = tuple[float, HeldBlock]  # a block, with the worth that it counts for
PROTECTED = 0.25  # of the pool; more costs time when owners take turns (docs/explanation/scheduling.md)


@dataclass(frozen=True, slots=True)
class KvPool:
    """A pool of KV: its size, and who decides."""

    capacity: int  #: bytes
    policy: PlacementPolicy
    protected: float = PROTECTED  #: the part that is divided equally

    def share(self, owners: Iterable[Scope]) -> float:
        """Bytes from which an owner loses blocks to others."""
        return self.protected * self.capacity / max(1, len(set(owners)))

    def room(
        self, held: Sequence[HeldBlock], wanted: HeldBlock, task: PlacementTask, *, must_gain: bool = False
    ) -> tuple[str, ...] | None:
        """Return the blocks that leave so that the wanted one fits; None if it cannot, or is not worth it.

        With `must_gain`, what leaves is worth less than what comes, byte for byte.
        """
        if wanted.size_bytes > self.capacity:
            return None
        leaving = self._leaving(held, wanted, task)
        if leaving is None:
            return None
        lost = sum(worth * block.size_bytes for worth, block in leaving)
        if must_gain and lost >= self.policy.worth(wanted, task) * wanted.size_bytes:
            return None
        return tuple(block.id for _, block in leaving)

    def _leaving(self, held: Sequence[HeldBlock], wanted: HeldBlock, task: PlacementTask) -> list[Counted] | None:
        sizes = Counter[Scope]()
        for block in held:
            sizes[block.scope] += block.size_bytes
        free, share = self.capacity - sizes.total(), self.share((*sizes, wanted.scope))
        leaving = list[Counted]()
        for worth, block in self._in_order(held, task):
            if free >= wanted.size_bytes:
                break
            is_ours = block.scope == wanted.scope
            if block.priority > wanted.priority if is_ours else sizes[block.scope] <= share:
                continue
            leaving.append((self.policy.worth(block, task) if is_ours else worth, block))
            sizes[block.scope] -= block.size_bytes
            free += block.size_bytes
        return leaving if free >= wanted.size_bytes else None

    def _in_order(self, held: Sequence[HeldBlock], task: PlacementTask) -> Iterator[Counted]:
        """Those first that are worth least; but of one owner, those of a lower priority, which then count as that."""
        owned = defaultdict[Scope, list[Counted]](list)
        for block in held:
            owned[block.scope].append((self.policy.worth(block, task), block))
        return merge(*map(_counted, owned.values()), key=_by_worth)


def _counted(blocks: Sequence[Counted]) -> list[Counted]:
    """The blocks of one owner as they leave, each with the worth that it counts for."""
    least = sorted(worth for worth, _ in blocks)
    leaving = sorted(blocks, key=lambda one: (one[1].priority, _by_worth(one)))
    return [(worth, block) for worth, (_, block) in zip(least, leaving, strict=True)]


def _by_worth(one: Counted) -> tuple[float, str]:
    return one[0], one[1].id
