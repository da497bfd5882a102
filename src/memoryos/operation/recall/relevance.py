"""Relevance: how likely each memory that was found bears on the question, and one list of all of them.

The pages, facts and others are each in an order of their own, by scores that cannot be compared. Relevance can: it is
the confidence (`confidence`) that the memory alone would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from memoryos.cube import MemCube
from memoryos.operation.recall.confidence import WordJudge
from memoryos.operation.recall.hit import Hit, Recall, judged_hit, judged_turn


def weighed(recalled: Recall, judge: WordJudge, min_score: float) -> Recall:
    """The recall with the relevance of each memory, without those below `min_score`, and with all in one list."""
    turns = [judged_turn(turn, judge.relevance(turn)) for turn in recalled.turns]
    best: dict[str, float] = {}
    for turn in turns:
        best[turn.cube.id] = max(best.get(turn.cube.id, 0.0), turn.relevance or 0.0)

    def relevance(cube: MemCube) -> float:
        found = best.get(cube.id)
        return judge.relevance(cube) if found is None else found

    def kept(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return enough([judged_hit(hit, relevance(hit.cube)) for hit in hits])

    def told(cubes: Sequence[MemCube]) -> tuple[Hit, ...]:
        return enough([Hit(cube, 0.0, relevance=judge.relevance(cube)) for cube in cubes])

    def enough(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return tuple([hit for hit in hits if (hit.relevance or 0.0) >= min_score])

    pages, segments = kept(recalled.hits), kept(recalled.segments)
    user_facts, agent_facts, knowledge = map(kept, (recalled.user_facts, recalled.agent_facts, recalled.knowledge))
    profile, traits = told(recalled.profile), told(recalled.traits)
    ids = {hit.id for hit in pages}
    return replace(
        recalled,
        hits=pages,
        turns=tuple(turn for turn in turns if turn.cube.id in ids),
        user_facts=user_facts,
        agent_facts=agent_facts,
        profile=tuple(hit.cube for hit in profile),
        traits=tuple(hit.cube for hit in traits),
        segments=segments,
        knowledge=knowledge,
        ranked=tuple(merged([pages, user_facts, agent_facts, knowledge, segments, profile, traits])),
    )


def merged(groups: Sequence[Sequence[Hit]]) -> Iterator[Hit]:
    """All of them in one list: each group in its own order, next the group whose next memory is the most relevant.

    So a memory comes where the least relevant one up to it in its group does; the first group is ahead in a tie.
    """
    hits = list(chain.from_iterable(groups))
    ranks = list(chain.from_iterable(accumulate([hit.relevance or 0.0 for hit in group], min) for group in groups))
    return map(hits.__getitem__, sorted(range(len(hits)), key=ranks.__getitem__, reverse=True))  # which is stable, too
