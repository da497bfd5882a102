"""Tier, state and mark of a cube: three things that change independently."""

from __future__ import annotations

from enum import StrEnum

from memoryos.kinds import State, Tier


class CubeMark(StrEnum):
    """A note that the program keeps about a cube; None means no note."""

    CHAINED = "chained"  # a page that has found its chain; without it, a page of STM waits for the pager
    PROPOSED = "proposed"  # a fact that waits for an answer
    REJECTED = "rejected"  # a fact that was proposed and refused; kept, so that it is not proposed again


PROPOSALS = frozenset((CubeMark.PROPOSED, CubeMark.REJECTED))  # facts that are not believed

_PLACED = frozenset((State.GENERATED, State.ACTIVATED, State.ARCHIVED))  # set by moves in schema 1


def untangled(kind: str, tier: Tier, state: State) -> tuple[State, CubeMark | None]:
    """The state and mark of a cube of schema 1, where the state was also used for such notes."""
    if kind == "fact" and tier is Tier.ARCHIVE and state in _OLD_PROPOSALS:
        return State.GENERATED, _OLD_PROPOSALS[state]
    is_chained = kind == "page" and (tier is not Tier.STM or state in (State.ACTIVATED, State.ARCHIVED))
    return State.GENERATED if state in _PLACED else state, CubeMark.CHAINED if is_chained else None


_OLD_PROPOSALS = {State.FROZEN: CubeMark.PROPOSED, State.EXPIRED: CubeMark.REJECTED}
