"""Recall of a ranking: pure functions on ranked turns and the turns that hold the answer.

A budget of tokens is filled best first, and a turn that does not fit is passed over. So more tokens can, rarely,
find less: a long turn that now fits may keep out two shorter ones. More turns or sessions never do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

TOKEN_BUDGETS = (256, 512, 1024, 2048, 4096)
TURN_COUNTS = (5, 10, 20, 50)
SESSION_COUNTS = (5, 10)


class Measure(NamedTuple):
    """What is measured, at which level: recall within 512 tokens is ("tokens", 512)."""

    name: str
    level: int


#: tokens, turns and sessions are mean recall; all_ is how often everything was found.
LEVELS = {
    "tokens": TOKEN_BUDGETS,
    "turns": TURN_COUNTS,
    "sessions": SESSION_COUNTS,
    "all_tokens": TOKEN_BUDGETS,
    "all_turns": TURN_COUNTS,
}
MEASURES = tuple(Measure(name, level) for name, levels in LEVELS.items() for level in levels)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A turn that a ranking may contain."""

    id: str
    session: str
    tokens: int  #: what it costs in a context


def recall(found: Iterable[str], wanted: Collection[str]) -> float:
    """The fraction of the wanted that was found; there must be something wanted."""
    names = set(wanted)
    return len(names.intersection(found)) / len(names)


def within_tokens(ranking: Iterable[Candidate], budget: int) -> list[Candidate]:
    """The turns that go into a context of `budget` tokens, best first; one that does not fit is passed over."""
    taken = []
    for turn in ranking:
        if turn.tokens <= budget:
            taken.append(turn)
            budget -= turn.tokens
    return taken


def first_sessions(ranking: Iterable[Candidate], count: int) -> list[str]:
    """The first distinct sessions of a ranking."""
    return list(dict.fromkeys(turn.session for turn in ranking))[:count]


def scores(ranking: Sequence[Candidate], evidence: Collection[Candidate]) -> tuple[float, ...]:
    """One number from 0 to 1 for each of MEASURES; the ranking has each turn once."""
    turns, sessions = [turn.id for turn in evidence], [turn.session for turn in evidence]
    by_tokens = [recall(_ids(within_tokens(ranking, budget)), turns) for budget in TOKEN_BUDGETS]
    by_turns = [recall(_ids(ranking[:count]), turns) for count in TURN_COUNTS]
    by_sessions = [recall(first_sessions(ranking, count), sessions) for count in SESSION_COUNTS]
    return (*by_tokens, *by_turns, *by_sessions, *map(_is_all, by_tokens), *map(_is_all, by_turns))


def _ids(turns: Iterable[Candidate]) -> list[str]:
    return [turn.id for turn in turns]


def _is_all(fraction: float) -> float:
    return float(fraction == 1)  # exact: it is n / n
