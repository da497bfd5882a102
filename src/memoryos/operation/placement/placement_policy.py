"""Policies: how much it is worth to keep a block of memory as KV. What is worth least makes room first.

The default, `density`, keeps what is expected to save most time per byte. Saved time per byte is the measure of
GreedyDual-Size (Cao and Irani, USITS 1997) and of GreedyDual-Size-Frequency (Cherkasova, HPL-98-69, 1998), here `gdsf`,
which multiplies it by the number of uses. `density` multiplies it by the probability of the next use instead, in two
parts: that the owner asks next, which falls with the questions of others since (as hyperbolic caching does, Blankstein
et al., USENIX ATC 2017), and that the owner's question uses the block (`UseHistory.chance`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Protocol, runtime_checkable

from memoryos.errors import InvalidInput
from memoryos.operation.placement.placement_task import PlacementTask
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBlock:
    """What a policy knows of a block that is kept, or could be."""

    id: str  #: id of the block
    scope: Scope  #: its owner
    size_bytes: int  #: of its KV
    saved_ms: float  #: by one use of its KV
    chance: float = 0.0  #: that the owner's next question uses it
    uses: int = 0  #: so far
    last_used: int = 0  #: number of the question, counted over all owners
    idle: int = 0  #: questions of others since the owner asked
    clock: float = 0.0  #: the policy's own aging: the worth of what last made room, when this was last used
    heat: float = 0.0  #: of the memory
    similarity: float = 0.0  #: to the question
    labels: frozenset[str] = frozenset()  #: its tags
    priority: int = 0  #: of its owner, what has a lower one makes room first

    @property
    def density(self) -> float:
        """Milliseconds that one use saves for each byte."""
        return self.saved_ms / self.size_bytes if self.size_bytes else 0.0


@runtime_checkable
class PlacementPolicy(Protocol):
    """Decides what is kept."""

    @property
    def name(self) -> str:
        """Its name in settings."""
        ...

    def worth(self, block: HeldBlock, task: PlacementTask) -> float:
        """How much it is worth to keep the block; the task is the one at hand."""
        ...


@runtime_checkable
class ComposingPolicy(PlacementPolicy, Protocol):
    """A policy that also decides whether an answer puts several KV states together, which is not exact."""

    def composes(self, states: Sequence[HeldBlock], task: PlacementTask) -> bool:
        """Whether to put these together; without this method, a policy never does."""
        ...


@dataclass(frozen=True, slots=True)
class FormulaPolicy:
    """A policy that is one formula."""

    name: str  #: its name in settings
    formula: Callable[[HeldBlock, PlacementTask], float]
    uses_similarity: bool = False  #: whether it reads how similar a block is to the question

    def worth(self, block: HeldBlock, task: PlacementTask) -> float:
        """Return what the formula says."""
        return self.formula(block, task)


@dataclass(frozen=True, slots=True)
class GuardedPolicy:
    """A policy that somebody added: whatever it raises is an error that names it."""

    name: str  #: its name in settings
    policy: PlacementPolicy

    @property
    def uses_similarity(self) -> bool:
        """What the policy says; False if it says nothing about it."""
        return getattr(self.policy, "uses_similarity", False) is True

    def worth(self, block: HeldBlock, task: PlacementTask) -> float:
        """Return what the policy says. Raises InvalidInput if it fails, or says no number."""
        try:
            worth = float(self.policy.worth(block, task))
        except Exception as error:  # the code of somebody else, which may raise anything
            raise self._failed("worth", f"failed: {type(error).__name__}") from error
        if isnan(worth):
            raise self._failed("worth", "said nan")
        return worth

    def composes(self, states: Sequence[HeldBlock], task: PlacementTask) -> bool:
        """Return what the policy says; False if it says nothing about it. Raises InvalidInput if it fails."""
        if not isinstance(self.policy, ComposingPolicy):
            return False
        try:
            return bool(self.policy.composes(states, task))
        except Exception as error:  # the same
            raise self._failed("composes", f"failed: {type(error).__name__}") from error

    def _failed(self, method: str, how: str) -> InvalidInput:
        fix = f"Correct its {method}(), or name another policy"
        return InvalidInput("placement", f"names the policy {self.name!r}, which {how}", fix)


def _density(block: HeldBlock, _: PlacementTask) -> float:
    return block.density * block.chance / (block.idle + 1)


def _labels(block: HeldBlock, task: PlacementTask) -> float:
    return len(block.labels & task.labels) / len(task.labels) if task.labels else 0.0


DENSITY = FormulaPolicy("density", _density)
SIMILARITY = FormulaPolicy("similarity", lambda block, _: block.similarity, uses_similarity=True)
POLICIES: dict[str, PlacementPolicy] = {
    policy.name: policy
    for policy in (
        DENSITY,
        FormulaPolicy("gdsf", lambda block, _: block.clock + block.uses * block.density),
        FormulaPolicy("lru", lambda block, _: block.last_used),
        FormulaPolicy("heat", lambda block, _: block.heat),
        SIMILARITY,
        FormulaPolicy("labels", _labels),
        FormulaPolicy("user", lambda block, task: block.scope.user == task.scope.user),
        FormulaPolicy("role", lambda block, task: block.scope.agent == task.scope.agent),
        FormulaPolicy("organisation", lambda block, task: block.scope.tenant == task.scope.tenant),
    )
}


def asks_for_similarity(policy: PlacementPolicy | None) -> bool:
    """Whether a policy reads the similarity to the question, which takes time: it says so with `uses_similarity`."""
    return getattr(policy, "uses_similarity", False) is True


def register_policy(policy: PlacementPolicy) -> None:
    """Add a policy, so that settings can name it. Raises InvalidInput."""
    if not isinstance(policy, PlacementPolicy):
        raise InvalidInput("policy", "has no name or no worth()", "Pass an object with both")
    if policy.name in POLICIES:
        raise InvalidInput("policy", f"the name {policy.name!r} is taken", "Give it another name")
    POLICIES[policy.name] = GuardedPolicy(policy.name, policy)


def policy_named(name: str) -> PlacementPolicy:
    """Return the policy of that name. Raises InvalidInput."""
    if name not in POLICIES:
        raise InvalidInput("policy", f"{name[:40]!r} is unknown", f"Use one of: {', '.join(sorted(POLICIES))}")
    return POLICIES[name]
