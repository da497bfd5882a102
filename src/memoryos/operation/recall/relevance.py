"""Relevance: how likely each memory that was found bears on the question, and one list of all of them.

The pages, facts and others are each in an order of their own, by scores that cannot be compared. Relevance can: it is
the confidence (`confidence`) that the memory alone would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memoryos.cube import MemCube
from memoryos.operation.recall.confidence import Judge
from memoryos.operation.recall.hit import Hit, Recall


def weighed(recalled: Recall, judge: Judge, min_score: float) -> Recall:
    """The recall with the relevance of each memory, without those below `min_score`, and with all in one list."""
    turns = [replace(turn, relevance=judge.relevance([turn.text])) for turn in recalled.turns]
    best: dict[str, float] = {}
    for turn in turns:
        best[turn.cube.id] = max(best.get(turn.cube.id, 0.0), turn.relevance or 0.0)

    def kept(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        each = (replace(hit, relevance=best.get(hit.id, judge.relevance([hit.text]))) for hit in hits)
        return tuple(hit for hit in each if (hit.relevance or 0.0) >= min_score)

    def told(cubes: Sequence[MemCube]) -> tuple[Hit, ...]:
        return kept([Hit(cube, 0.0) for cube in cubes])

    groups = {
        "hits": kept(recalled.hits),
        "user_facts": kept(recalled.user_facts),
        "agent_facts": kept(recalled.agent_facts),
        "knowledge": kept(recalled.knowledge),
        "segments": kept(recalled.segments),
    }
    persona = {"profile": told(recalled.profile), "traits": told(recalled.traits)}
    pages = {hit.id for hit in groups["hits"]}
    return replace(
        recalled,
        **groups,
        **{name: tuple(hit.cube for hit in hits) for name, hits in persona.items()},
        turns=tuple(turn for turn in turns if turn.cube.id in pages),
        ranked=tuple(merged([*groups.values(), *persona.values()])),
    )


def merged(groups: Sequence[Sequence[Hit]]) -> Iterator[Hit]:
    """All of them in one list: each group in its own order, next the group whose next memory is the most relevant."""
    waiting = [list(group) for group in groups if group]
    while waiting:
        group = max(waiting, key=lambda group: group[0].relevance or 0.0)  # the first of several
        yield group.pop(0)
        waiting = [group for group in waiting if group]
