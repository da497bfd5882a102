"""Tier, state and mark of a cube: three things that change independently.

The states are those of MemLifecycle (MemOS paper, section 5.4.3). `TRANSITIONS` is the one table of the changes that
are allowed; the vault checks each change of a state against it, whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from memoryos.choice import Choice
from memoryos.kinds import State, Tier
from memoryos.plain import Plain


class CubeMark(Choice):
    """A note that the program keeps about a cube; None means no note."""

    CHAINED = "chained"  # a page that has found its chain; without it, a page of STM waits for the pager
    PROPOSED = "proposed"  # a fact that waits for an answer
    REJECTED = "rejected"  # a fact that was proposed and refused; kept, so that it is not proposed again
    WITHDRAWN = "withdrawn"  # learned from words that were corrected since; only snapshots show it


PROPOSALS = frozenset((CubeMark.PROPOSED, CubeMark.REJECTED))  # facts that are not believed yet
UNBELIEVED = frozenset((*PROPOSALS, CubeMark.WITHDRAWN))


class Actor(Choice):
    """Who causes a transition."""

    CALLER = "caller"  # somebody who calls a method
    PROGRAM = "program"  # background work, or a consequence of something else that is stored


_BY_ALL = frozenset(Actor)
_BY_CALLERS = frozenset((Actor.CALLER,))

_G, _A, _M, _V, _E, _F = (
    State.GENERATED,
    State.ACTIVATED,
    State.MERGED,
    State.ARCHIVED,
    State.EXPIRED,
    State.FROZEN,
)

TRANSITIONS: Mapping[tuple[State, State], frozenset[Actor]] = MappingProxyType(
    {
        (_G, _A): _BY_ALL,  # used
        (_G, _M): _BY_ALL,  # another memory took its place
        (_A, _M): _BY_ALL,
        (_M, _A): _BY_ALL,  # what took its place is gone
        (_G, _V): _BY_ALL,  # not used for long
        (_A, _V): _BY_ALL,
        (_M, _V): _BY_ALL,
        (_V, _A): _BY_ALL,  # used again
        (_V, _M): _BY_ALL,
        (_G, _E): _BY_ALL,  # its lifespan has ended; nothing brings it back
        (_A, _E): _BY_ALL,
        (_M, _E): _BY_ALL,
        (_V, _E): _BY_ALL,
        (_G, _F): _BY_CALLERS,  # frozen
        (_A, _F): _BY_CALLERS,
        (_M, _F): _BY_CALLERS,
        (_V, _F): _BY_CALLERS,
        (_F, _G): _BY_CALLERS,  # thawed: as it was before
        (_F, _A): _BY_CALLERS,
        (_F, _M): _BY_CALLERS,
        (_F, _V): _BY_CALLERS,
    }
)  # from a state to another; who may cause it


@dataclass(frozen=True, slots=True)
class Transition(Plain):
    """One change of a memory's state."""

    at: datetime  #: when it was stored
    before: State  #: the state until then
    after: State  #: the state since then
    by: str  #: identity of the caller, or "memoryos" for background work
    cause: str  #: the reason that the caller gave, or the operation that caused it


@dataclass(frozen=True, slots=True, kw_only=True)
class EndByRule:
    """A retention rule that ends a memory earlier than its caller wanted."""

    name: str  #: of the rule
    own_end: datetime | None = None  #: the end that the caller gave the memory; None: none


_PLACED = frozenset((State.GENERATED, State.ACTIVATED, State.ARCHIVED))  # set by moves in schema 1


def untangled(kind: str, tier: Tier, state: State) -> tuple[State, CubeMark | None]:
    """The state and mark of a cube of schema 1, where the state was also used for such notes."""
    if kind == "fact" and tier is Tier.ARCHIVE and state in _OLD_PROPOSALS:
        return State.GENERATED, _OLD_PROPOSALS[state]
    is_chained = kind == "page" and (tier is not Tier.STM or state in (State.ACTIVATED, State.ARCHIVED))
    return State.GENERATED if state in _PLACED else state, CubeMark.CHAINED if is_chained else None


_OLD_PROPOSALS = {State.FROZEN: CubeMark.PROPOSED, State.EXPIRED: CubeMark.REJECTED}
