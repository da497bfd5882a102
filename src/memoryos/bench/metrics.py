"""Recall of a ranking or a text: pure functions on what was found and the groups of turns that hold the answer.

Evidence is a list of groups: a group is found when one of its turns is. A budget of tokens is filled best first, and
an entry that does not fit is passed over. So more tokens can, rarely, find less: a long turn that now fits may keep out
two shorter ones. More turns or sessions never do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

TOKEN_BUDGETS = (256, 512, 1024, 2048, 4096)
TURN_COUNTS = (5, 10, 20, 50)
SESSION_COUNTS = (5, 10)


class Measure(NamedTuple):
    """What is measured, at which level: recall within 512 tokens is ("tokens", 512)."""

    name: str
    level: int


#: tokens, turns and sessions are mean recall; tokens_attainable is recall divided by what could be had within as many
#: tokens; all_ is how often everything was found.
LEVELS = {
    "tokens": TOKEN_BUDGETS,
    "tokens_attainable": TOKEN_BUDGETS,
    "all_tokens": TOKEN_BUDGETS,
    "turns": TURN_COUNTS,
    "sessions": SESSION_COUNTS,
    "all_turns": TURN_COUNTS,
}
MEASURES = tuple(Measure(name, level) for name, levels in LEVELS.items() for level in levels)
TEXT_MEASURES = tuple(measure for measure in MEASURES if "tokens" in measure.name)  #: of a text: it has no order


@dataclass(frozen=True, slots=True)
class Candidate:
    """A turn, or a passage of one, that a ranking may contain."""

    id: str  #: of the turn
    session: str
    tokens: int  #: what it costs in a context


Evidence = Sequence[Sequence[Candidate]]  #: groups of whole turns; no group is empty


def recall(found: Iterable[str], wanted: Collection[Collection[str]]) -> float:
    """The fraction of the wanted groups of which something was found; there must be a group."""
    names = set(found)
    return sum(not names.isdisjoint(group) for group in wanted) / len(wanted)


def attainable(evidence: Evidence, budget: int) -> float:
    """The fraction of the groups that a choice of evidence turns can bring within the budget.

    Greedy, the cheapest turn of each group, cheapest group first: exact unless groups share turns. At least one
    group counts as attainable, for a text can hold a passage of a turn that is longer than the budget.
    """
    taken = 0
    for cost in sorted(min(turn.tokens for turn in group) for group in evidence):
        budget -= cost
        taken += budget >= 0
    return max(taken, 1) / len(evidence)


def within_tokens(ranking: Iterable[Candidate], budget: int) -> list[Candidate]:
    """The entries that go into a context of `budget` tokens, best first; one that does not fit is passed over."""
    taken = []
    for entry in ranking:
        if entry.tokens <= budget:
            taken.append(entry)
            budget -= entry.tokens
    return taken


def first_turns(ranking: Iterable[Candidate], count: int) -> list[str]:
    """The first distinct turns of a ranking."""
    return list(dict.fromkeys(entry.id for entry in ranking))[:count]


def first_sessions(ranking: Iterable[Candidate], count: int) -> list[str]:
    """The first distinct sessions of a ranking."""
    return list(dict.fromkeys(entry.session for entry in ranking))[:count]


def scores(ranking: Sequence[Candidate], evidence: Evidence) -> tuple[float, ...]:
    """One number from 0 to 1 for each of MEASURES."""
    found = {budget: [entry.id for entry in within_tokens(ranking, budget)] for budget in TOKEN_BUDGETS}
    turns = _ids(evidence)
    sessions = {frozenset(turn.session for turn in group) for group in evidence}
    by_turns = [recall(first_turns(ranking, count), turns) for count in TURN_COUNTS]
    by_sessions = [recall(first_sessions(ranking, count), sessions) for count in SESSION_COUNTS]
    return (*text_scores(found, evidence), *by_turns, *by_sessions, *map(_is_all, by_turns))


def text_scores(found: Mapping[int, Collection[str]], evidence: Evidence) -> tuple[float, ...]:
    """One number from 0 to 1 for each of TEXT_MEASURES, from the turns found within each budget."""
    turns = _ids(evidence)
    by_tokens = [recall(found[budget], turns) for budget in TOKEN_BUDGETS]
    best = [attainable(evidence, budget) for budget in TOKEN_BUDGETS]
    by_attainable = [min(1.0, got / most) for got, most in zip(by_tokens, best, strict=True)]
    return (*by_tokens, *by_attainable, *map(_is_all, by_tokens))


def _ids(evidence: Evidence) -> list[set[str]]:
    return [{turn.id for turn in group} for group in evidence]


def _is_all(fraction: float) -> float:
    return float(fraction == 1)  # exact: it is n / n
