"""Legal hold: it keeps memories from being deleted, expired, swept and forgotten until it is released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from pydantic import AwareDatetime

from memoryos.choice import Choice
from memoryos.errors import OnHold
from memoryos.lifecycle import Actor
from memoryos.plain import Plain


class HoldAct(StrEnum):
    """What may be done with a hold."""

    PLACE = "place"
    RELEASE = "release"


HOLD_ACTS: Mapping[HoldAct, frozenset[Actor]] = MappingProxyType(
    {
        HoldAct.PLACE: frozenset((Actor.CALLER,)),
        HoldAct.RELEASE: frozenset((Actor.CALLER,)),  # the program never ends a hold
    }
)  # who may do it


class HeldThing(Choice):
    """What a hold is on."""

    MEMORY = "memory"  # one memory
    SESSION = "session"  # all memories of a session, present and future
    OWNER = "owner"  # all memories of a user and agent in a namespace, present and future


@dataclass(frozen=True, slots=True)
class LegalHold(Plain):
    """A legal hold: what it is on, and who placed it, when and why."""

    id: str  #: id, for `governance.release`
    on: HeldThing  #: memory, session or owner
    subject: str | None  #: id of the memory, or name of the session; None: the owner
    reason: str  #: why, in the words of who placed it
    by: str  #: identity of who placed it
    at: AwareDatetime  #: when it was placed

    def refusal(self, cube_id: str) -> OnHold:
        """The error about a memory on hold."""
        return OnHold(
            f"the memory {cube_id} is on hold, and nothing was changed: release {self._told} first", memory_id=cube_id
        )

    def general_refusal(self, undone: str) -> OnHold:
        """The error about an operation on everything of the owner; `undone` is what it did not do, as `removed`."""
        return OnHold(f"{self._told} is in force, and nothing more was {undone}: release it first")

    @property
    def _told(self) -> str:
        return f"the legal hold {self.id} ({self.on.value}, {self.reason})"
