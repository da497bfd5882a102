"""Place, life and bookkeeping of a cube: three things that change apart from each other."""

from __future__ import annotations

from enum import StrEnum

from memoryos.kinds import State, Tier


class CubeMark(StrEnum):
    """What the program itself has noted of a cube; None stands for nothing."""

    CHAINED = "chained"  # a page that has found its chain; without it, a page of STM waits for the pager
    PROPOSED = "proposed"  # a fact that waits for an answer
    REJECTED = "rejected"  # a fact that was proposed and refused; kept, so that it is not proposed again


PROPOSALS = frozenset((CubeMark.PROPOSED, CubeMark.REJECTED))  # facts that are not believed

_PLACED = frozenset((State.GENERATED, State.ACTIVATED, State.ARCHIVED))  # set by moves in schema 1


def untangled(kind: str, tier: Tier, state: State) -> tuple[State, CubeMark | None]:
    """State and mark of a cube in schema 1, where the state was the pager's note, too."""
    if kind == "fact" and tier is Tier.ARCHIVE and state in _OLD_PROPOSALS:
        return State.GENERATED, _OLD_PROPOSALS[state]
    is_chained = kind == "page" and (tier is not Tier.STM or state in (State.ACTIVATED, State.ARCHIVED))
    return State.GENERATED if state in _PLACED else state, CubeMark.CHAINED if is_chained else None


_OLD_PROPOSALS = {State.FROZEN: CubeMark.PROPOSED, State.EXPIRED: CubeMark.REJECTED}
