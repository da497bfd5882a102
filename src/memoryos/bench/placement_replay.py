"""Replay: what the questions of a trace wait for their first token, by how KV is kept.

A question waits for its own prefill and, for each of its blocks, for the load of its KV if that is kept, or else for
its prefill. KV that an answer computed may be kept at no more cost than its bytes. Preloading computes KV in the pause
after a question, as much as its time allows. What is kept is decided by the code of the live scheduler (`KvKeeper`).
Nothing is computed here: times come from a cost model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, product
from operator import and_

import numpy as np

from memoryos.bench.placement_trace import PlacementTrace, TracedQuestion
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.operation.placement.cost_model import CostModel
from memoryos.operation.placement.foresight import Foresight, Learned
from memoryos.operation.placement.kv_keeper import KeepingReason, KvBlock, KvKeeper
from memoryos.operation.placement.kv_pool import KvPool
from memoryos.operation.placement.placement_policy import DENSITY, POLICIES, PlacementPolicy
from memoryos.operation.placement.placement_task import PlacementBudget, PlacementTask
from memoryos.plain import Plain
from memoryos.scope import Scope

PAUSE_S = 20.0  # between the questions of a session, in which nothing else runs
PARTS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of the KV of all blocks, as sizes of the pool


class Keeping(StrEnum):
    """A way to keep KV."""

    NEVER = "never"
    ALWAYS = "always"  # all of it, without a bound
    LRU = "lru"
    GDSF = "gdsf"
    DENSITY = "density"  # the default policy
    NO_PRELOADING = "not preloaded"  # the default policy, without preloading
    CLAIRVOYANT = "clairvoyant"  # knows all questions to come, and preloads for the next one


_UNBOUNDED = (Keeping.NEVER, Keeping.ALWAYS)


@dataclass(frozen=True, slots=True)
class KeepingResult(Plain):
    """What one way to keep KV did over a trace."""

    hit_rate: float  #: share of the blocks that were kept when a question needed them
    token_hit_rate: float  #: the same, by tokens
    mean_ms: float  #: to the first token
    p50_ms: float
    p95_ms: float
    peak_bytes: int  #: most bytes that were kept
    kept: int  #: blocks that were kept after an answer computed them
    preloaded: int  #: blocks that were computed in pauses
    preload_s: float  #: time of that


class Known:
    """Knows all questions: the later a block is used next, the less its chance (Belady 1966)."""

    def __init__(self, trace: PlacementTrace) -> None:
        self._uses: dict[str, list[int]] = {}
        self._questions = trace.questions
        self._number = -1
        for number, question in enumerate(trace.questions):
            for block in question.blocks:
                self._uses.setdefault(block, []).append(number)

    def asked(self, owner: Scope, used: Mapping[str, float]) -> None:  # noqa: ARG002 - it knows already
        """Go on to the next."""
        self._number += 1

    def chance(self, owner: Scope, block: str) -> float:  # noqa: ARG002 - each block has one owner
        """One by the number of questions until the next use; 0 if there is none."""
        uses = self._uses[block]
        place = bisect_right(uses, self._number)
        return 1 / (uses[place] - self._number) if place < len(uses) else 0.0

    def idle(self, owner: Scope) -> int:  # noqa: ARG002 - `chance` says it all
        """Nothing to add."""
        return 0

    def likely(self, owner: Scope) -> Iterable[str]:  # noqa: ARG002 - it knows who asks next
        """The blocks of the next question."""
        following = self._number + 1
        return self._questions[following].blocks if following < len(self._questions) else ()


@dataclass(frozen=True, slots=True)
class KeepingRule:
    """How KV is kept in one replay."""

    policy: PlacementPolicy
    preloads: bool = False
    is_choosy: bool = False  #: whether what comes must be worth more than what leaves


_RULES = {
    Keeping.LRU: KeepingRule(POLICIES["lru"]),
    Keeping.GDSF: KeepingRule(POLICIES["gdsf"]),
    Keeping.DENSITY: KeepingRule(DENSITY, preloads=True),
    Keeping.NO_PRELOADING: KeepingRule(DENSITY),
    Keeping.CLAIRVOYANT: KeepingRule(DENSITY, preloads=True, is_choosy=True),
}


def replayed(
    trace: PlacementTrace, keeping: Keeping, costs: CostModel, size_bytes: int, *, pause_s: float = PAUSE_S
) -> KeepingResult:
    """Replay the trace with that many bytes for KV."""
    foresight = Known(trace) if keeping is Keeping.CLAIRVOYANT else Learned()
    if keeping is Keeping.NEVER:
        return _PlacementReplay(trace, costs, KvPool(0, DENSITY), KeepingRule(DENSITY), foresight, 0.0).run()
    if keeping is Keeping.ALWAYS:
        size_bytes = costs.kv_bytes(sum(trace.tokens.values()))
    rule = _RULES.get(keeping, KeepingRule(DENSITY))
    is_ours = rule.policy is DENSITY and keeping is not Keeping.CLAIRVOYANT
    pool = KvPool(size_bytes, rule.policy) if is_ours else KvPool(size_bytes, rule.policy, protected=0.0)
    return _PlacementReplay(trace, costs, pool, rule, foresight, pause_s * 1000).run()


class _PlacementReplay:
    """One replay: what the product decides, and what the questions wait for with it."""

    def __init__(
        self,
        trace: PlacementTrace,
        costs: CostModel,
        pool: KvPool,
        rule: KeepingRule,
        foresight: Foresight,
        pause_ms: float,
    ) -> None:
        self._trace, self._costs, self._rule = trace, costs, rule
        self._foresight, self._pause_ms = foresight, pause_ms
        self._keeper = KvKeeper(pool, foresight, is_choosy=rule.is_choosy)
        self._keeps = pool.capacity > 0
        self._scopes = {block: Scope(user=one.scope) for one in trace.questions for block in one.blocks}
        self._decided = Counter[KeepingReason]()
        self._preload_ms = 0.0

    def run(self) -> KeepingResult:
        waits, hits = [], []
        for question in self._trace.questions:
            hit = self._hits(question)
            hits += [(self._trace.tokens[block], found) for block, found in hit.items()]
            waits.append(self._wait_ms(question, hit))
            self._foresight.asked(Scope(user=question.scope), self._owed(hit))
            if self._keeps:
                self._keep(question)
        return self._result(waits, hits)

    def _hits(self, question: TracedQuestion) -> dict[str, bool]:
        kept = self._keeper.kept
        found = [block in kept for block in question.blocks]
        if self._trace.is_exact:
            found = list(accumulate(found, and_))
        return dict(zip(question.blocks, found, strict=True))

    def _wait_ms(self, question: TracedQuestion, hit: Mapping[str, bool]) -> float:
        spared = sum(self._costs.saved_ms(self._trace.tokens[block]) for block, found in hit.items() if found)
        return self._costs.prefill_ms(question.tokens + sum(self._trace.tokens[block] for block in hit)) - spared

    def _owed(self, hit: Mapping[str, bool]) -> dict[str, float]:
        return {
            block: 0.0 if found else self._costs.saved_ms(self._trace.tokens[block]) for block, found in hit.items()
        }

    def _keep(self, question: TracedQuestion) -> None:
        owner = Scope(user=question.scope)
        task = PlacementTask("", owner, PlacementBudget(0))
        decisions = self._keeper.used(map(self._block, dict.fromkeys(question.blocks)), task)
        if self._rule.preloads:
            likely = map(self._block, self._foresight.likely(owner))
            decisions += self._keeper.preloaded(likely, self._pause_ms, task)
        kept = [one for one in decisions if one.is_kept]
        self._decided.update(one.reason for one in kept)
        self._preload_ms += sum(one.block.ready_ms for one in kept if one.reason is KeepingReason.LIKELY)

    def _block(self, block: str) -> KvBlock:
        tokens = self._trace.tokens[block]
        return KvBlock(
            id=block,
            owner=self._scopes[block],
            name=block,
            size_bytes=self._costs.kv_bytes(tokens),
            saved_ms=self._costs.saved_ms(tokens),
            ready_ms=self._costs.prefill_ms(tokens),
        )

    def _result(self, waits: Sequence[float], hits: Sequence[tuple[int, bool]]) -> KeepingResult:
        tokens, found = np.array([size for size, _ in hits]), np.array([one for _, one in hits])
        p50, p95 = np.percentile(waits, (50, 95))
        return KeepingResult(
            hit_rate=float(found.mean()),
            token_hit_rate=float(tokens[found].sum() / tokens.sum()),
            mean_ms=float(np.mean(waits)),
            p50_ms=float(p50),
            p95_ms=float(p95),
            peak_bytes=self._keeper.peak_bytes,
            kept=self._decided[KeepingReason.USED],
            preloaded=self._decided[KeepingReason.LIKELY],
            preload_s=self._preload_ms / 1000,
        )


@dataclass(frozen=True, slots=True)
class PlacementReport(Plain):
    """The results of a run."""

    trace: str
    is_exact: bool
    questions: int
    sessions: int
    owners: int
    blocks: int
    all_bytes: int  #: of the KV of all blocks
    pause_s: float
    costs: CostModel
    bounded: Mapping[int, Mapping[str, KeepingResult]] = field(hash=False)  #: by the bytes that could be used
    unbounded: Mapping[str, KeepingResult] = field(hash=False)  #: never and always


def measure_placement(
    trace: PlacementTrace,
    costs: CostModel,
    sizes: Sequence[int] = (),
    progress: Progress = unwatched,
    *,
    pause_s: float = PAUSE_S,
) -> PlacementReport:
    """Replay the trace in all ways; `sizes` are those of the pool in bytes (default: parts of all KV)."""
    every = costs.kv_bytes(sum(trace.tokens.values()))
    wanted = sizes or [int(every * part) for part in PARTS]
    bounded: dict[int, dict[str, KeepingResult]] = {}
    ways = [one for one in Keeping if one not in _UNBOUNDED]
    for number, (size, way) in enumerate(product(wanted, ways), 1):
        bounded.setdefault(size, {})[way.value] = replayed(trace, way, costs, size, pause_s=pause_s)
        progress("replaying", number, len(wanted) * len(ways))
    unbounded = {way.value: replayed(trace, way, costs, 0) for way in _UNBOUNDED}
    return PlacementReport(
        trace.name,
        trace.is_exact,
        len(trace.questions),
        trace.sessions,
        len(trace.scopes),
        len(trace.tokens),
        every,
        pause_s,
        costs,
        bounded,
        unbounded,
    )
