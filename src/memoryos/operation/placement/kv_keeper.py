"""KvKeeper: which KV is held in memory.

What an answer used is put in, what is worth least makes room, and in the pause after it, what the owner's next question
probably uses is made ready. The live scheduler and `memoryos bench scheduler` decide with it. It holds no KV itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import RLock

from memoryos.choice import Choice
from memoryos.operation.placement.foresight import Foresight
from memoryos.operation.placement.kv_pool import KvPool
from memoryos.operation.placement.placement_policy import HeldBlock
from memoryos.operation.placement.placement_task import PlacementTask
from memoryos.plain import Plain
from memoryos.scope import Scope

MOST_USES = 4_096  # blocks whose uses are counted, beside those that are held


class KeepingReason(Choice):
    """Why KV is held in memory, or is not."""

    USED = "used"  # an answer used it
    LIKELY = "likely"  # the owner's next question probably uses it: it was made ready in a pause
    MADE_ROOM = "made_room"  # it left: something else was worth more, or its owner held more than a fair share
    NO_ROOM = "no_room"  # nothing may leave for it: the rest is worth more, or is the share of others
    NO_TIME = "no_time"  # the pause is too short to make it ready
    FAILED = "failed"  # it could not be made ready


@dataclass(frozen=True, slots=True, kw_only=True)
class KvBlock:
    """KV that is held, or could be."""

    id: str  #: in memory
    owner: Scope  #: whose it is
    name: str  #: under which the history of its owner counts it
    size_bytes: int
    saved_ms: float  #: by one use
    ready_ms: float = 0.0  #: to make it ready in a pause
    heat: float = 0.0  #: visits of what it was computed from
    labels: frozenset[str] = frozenset()  #: tags of what it was computed from


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingGrounds(Plain):
    """The numbers that a policy has of KV when it decides. Milliseconds are those of the cost model, not measured."""

    uses: int  #: uses in this process
    saved_ms: float  #: milliseconds that one use saves
    load_ms: float  #: milliseconds to make it ready
    size_bytes: int  #: size in bytes
    chance: float  #: probability that the owner's next question uses it
    heat: float  #: visits of what it was computed from
    similarity: float  #: similarity to the owner's question, 0 to 1; 0 if the policy, or who reads this, is not told it
    priority: int  #: the highest of its tags


@dataclass(frozen=True, slots=True)
class KeepingDecision:
    """What was decided for one block."""

    block: KvBlock
    is_kept: bool
    reason: KeepingReason
    grounds: KeepingGrounds


@dataclass(slots=True)
class _UseOfBlock:
    """The uses of one block in this process."""

    uses: int = 0
    last: int = -1
    clock: float = 0.0


class KvKeeper:
    """Decides what is held in a pool of KV."""

    def __init__(
        self,
        pool: KvPool,
        foresight: Foresight,
        *,
        is_choosy: bool = False,
        alike: Callable[[KvBlock, PlacementTask], float] | None = None,
    ) -> None:
        """With `is_choosy`, also what an answer used must be worth more than what leaves for it.

        `alike` tells how similar the texts of a block are to the question of a task.
        """
        self._pool, self._foresight, self._is_choosy, self._alike = pool, foresight, is_choosy, alike
        self._kept: dict[str, KvBlock] = {}
        self._uses: dict[str, _UseOfBlock] = {}
        self._number, self._clock = 0, 0.0
        self._view: tuple[PlacementTask, dict[str, HeldBlock]] | None = None  # what is held, as that question sees it
        self._lock = RLock()
        self.peak_bytes = 0  #: most that was held so far

    @property
    def kept(self) -> frozenset[str]:
        """The ids of what is held."""
        with self._lock:
            return frozenset(self._kept)

    def retain(self, ids: Iterable[str]) -> None:
        """Know that only these are still held: others were let go, as they were erased or are stale."""
        with self._lock:
            there = frozenset(ids)
            self._kept = {one: block for one, block in self._kept.items() if one in there}
            self._view = None
            if len(self._uses) > MOST_USES:
                self._uses = {one: use for one, use in self._uses.items() if one in there}

    def has_room(self, blocks: Iterable[KvBlock]) -> bool:
        """Whether these blocks fit beside what is held, so that nothing leaves."""
        with self._lock:
            sizes = {one.id: one.size_bytes for one in (*self._kept.values(), *blocks)}
            return sum(sizes.values()) <= self._pool.capacity

    def used(self, blocks: Iterable[KvBlock], task: PlacementTask) -> list[KeepingDecision]:
        """Count a question that used these blocks, and hold those that fit; what made room comes first."""
        with self._lock:
            asked = list(blocks)
            for block in asked:
                use = self._uses.setdefault(block.id, _UseOfBlock())
                use.uses, use.last, use.clock = use.uses + 1, self._number, self._clock
            self._view = None
            found: list[KeepingDecision] = []
            for block in asked:
                if block.id in self._kept:
                    self._kept[block.id] = block  # as it is now: its visits grow
                else:
                    found += self._put(block, task, KeepingReason.USED, must_gain=self._is_choosy)
            self._number += 1
            return found

    def preloaded(
        self,
        blocks: Iterable[KvBlock],
        ms: float,
        task: PlacementTask,
        ready: Callable[[KvBlock], KvBlock | None] = lambda block: block,
    ) -> Iterator[KeepingDecision]:
        """Make ready what is worth more than what it takes the place of, the likeliest first, in that time.

        `ready` loads or computes a block and returns it with its true size; None: it cannot.
        """
        left = ms
        for block in blocks:
            if block.id in self._kept:
                continue
            if block.ready_ms > left:
                yield self._decided(block, task, False, KeepingReason.NO_TIME)
                continue
            decisions = self._preload(block, task, ready)
            yield from decisions
            left -= block.ready_ms if decisions[-1].is_kept else 0.0

    def _preload(
        self, block: KvBlock, task: PlacementTask, ready: Callable[[KvBlock], KvBlock | None]
    ) -> list[KeepingDecision]:
        if self._leaving(block, task) is None:
            return [self._decided(block, task, False, KeepingReason.NO_ROOM)]
        if (made := ready(block)) is None:
            return [self._decided(block, task, False, KeepingReason.FAILED)]
        with self._lock:
            return self._put(made, task, KeepingReason.LIKELY, must_gain=True)

    def _leaving(self, block: KvBlock, task: PlacementTask) -> tuple[str, ...] | None:
        with self._lock:
            return self._pool.room(list(self._held(task).values()), self._seen(block, task), task, must_gain=True)

    def _put(
        self, block: KvBlock, task: PlacementTask, reason: KeepingReason, *, must_gain: bool
    ) -> list[KeepingDecision]:
        wanted, held = self._seen(block, task), self._held(task)
        leaving = self._pool.room(list(held.values()), wanted, task, must_gain=must_gain)
        if leaving is None:
            return [self._decided(block, task, False, KeepingReason.NO_ROOM)]
        gone = []
        for one in leaving:
            self._clock = max(self._clock, self._pool.policy.worth(held.pop(one), task))
            gone.append(self._decided(self._kept.pop(one), task, False, KeepingReason.MADE_ROOM))
        held[block.id], self._kept[block.id] = wanted, block
        self.peak_bytes = max(self.peak_bytes, sum(one.size_bytes for one in self._kept.values()))
        return [*gone, self._decided(block, task, True, reason)]

    def _held(self, task: PlacementTask) -> dict[str, HeldBlock]:
        if self._view is None or self._view[0] is not task:
            self._view = task, {one: self._seen(block, task) for one, block in self._kept.items()}
        return self._view[1]

    def _decided(self, block: KvBlock, task: PlacementTask, is_kept: bool, reason: KeepingReason) -> KeepingDecision:
        seen = self._seen(block, task)
        grounds = KeepingGrounds(
            uses=seen.uses,
            saved_ms=seen.saved_ms,
            load_ms=block.ready_ms,
            size_bytes=seen.size_bytes,
            chance=seen.chance,
            heat=seen.heat,
            similarity=seen.similarity,
            priority=seen.priority,
        )
        return KeepingDecision(block, is_kept, reason, grounds)

    def _seen(self, block: KvBlock, task: PlacementTask) -> HeldBlock:
        """What a policy is told about a block now."""
        use = self._uses.get(block.id, _UseOfBlock())
        return HeldBlock(
            id=block.id,
            scope=block.owner,
            size_bytes=block.size_bytes,
            saved_ms=block.saved_ms,
            chance=self._foresight.chance(block.owner, block.name),
            uses=use.uses,
            last_used=use.last,
            idle=self._foresight.idle(block.owner),
            clock=use.clock,
            heat=block.heat,
            similarity=0.0 if self._alike is None else self._alike(block, task),
            labels=block.labels,
            priority=task.priority(block.labels),
        )
