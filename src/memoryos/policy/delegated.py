"""DelegatedRuling: the decisions for a caller who also has rights that others passed on to it.

Such a right adds only what no policy decides about the caller itself: what a policy forbids it stays forbidden. It is
as large as the right of the one who passed it on, who is asked for in its place; so it cannot be passed on again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from memoryos.bounded import Bounded
from memoryos.delegation import Delegation
from memoryos.policy.policy_decision import PolicyDecision
from memoryos.policy.ruling import MOST_CLASSES, DecidedCubes, Reach, Ruling
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class DelegatedRuling:
    """The decisions of a ruling, and of those on whose behalf the caller may act."""

    own: Ruling
    passed_on: Sequence[tuple[Delegation, Ruling]]
    mark: object = field(default_factory=object)
    _classes: Bounded[tuple[Scope | str | None, ...], bool] = field(default_factory=partial(Bounded, MOST_CLASSES))
    _decided: DecidedCubes = field(default_factory=DecidedCubes)

    def reach(self, scope: Scope) -> Reach:
        """How much of the scope the caller may use."""
        own = self.own.reach(scope)
        is_more = any(ruling.reach(scope) is not Reach.NOTHING for ruling in self._about(scope))
        return Reach.SOME if own is Reach.NOTHING and is_more else own

    def has_all(self, scope: Scope) -> bool:
        """Whether the caller may use every cube of the scope by itself."""
        return self.own.has_all(scope)

    def admits(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        """Whether the caller may use cubes of this class."""
        asked = (scope, kind, *labels)
        if (found := self._classes.get(asked)) is None:
            found = self._classes[asked] = self.admits_anew(scope, kind, *labels)
        return found

    def admits_anew(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        """The same without memory."""
        return self.explained(scope, kind, *labels).allowed

    def decided(self, scope: Scope, sequence: int, are_same: Callable[[int], bool]) -> dict[str, bool]:
        """Decisions about cubes of the scope, by id, as of that event; the caller adds to the dict."""
        return self._decided.at(scope, sequence, are_same)

    def takes_as_long(self, scope: Scope) -> None:
        """Spend the time of a refusing decision, so that the time of a call does not show whether there was a cube."""
        self.own.takes_as_long(scope)
        for ruling in self._about(scope):
            ruling.takes_as_long(scope)

    def explained(self, scope: Scope, kind: str, *labels: str | None) -> PolicyDecision:
        """Decide about cubes of this class, with the reason."""
        own = self.own.explained(scope, kind, *labels)
        if own.allowed or own.policies:
            return own
        others = (ruling.explained(scope, kind, *labels) for ruling in self._about(scope))
        return next((one for one in others if one.allowed), own)

    def of_store(self) -> PolicyDecision:
        """Decide about the store as a whole, which nobody can pass on."""
        return self.own.of_store()

    def _about(self, scope: Scope) -> list[Ruling]:
        return [ruling for one, ruling in self.passed_on if one.covers(scope)]
