"""Policy decision: whether a caller may do something with a memory, and which policies say so."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.caller import Action
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class PolicyDecision(Plain):
    """The answer of the policies to one question."""

    allowed: bool  #: whether the caller may do it
    caller: str  #: identity of the caller
    action: Action  #: what is to be done
    policies: tuple[str, ...]  #: names of the policies that decided; none: no policy permits it
    errors: tuple[str, ...] = ()  #: of policies that could not be evaluated, and which count as absent

    @property
    def reason(self) -> str:
        """Why, in one sentence."""
        names = ", ".join(self.policies)
        if self.allowed:
            return f"permitted by {names}"
        return f"forbidden by {names}" if names else "no policy permits it"
