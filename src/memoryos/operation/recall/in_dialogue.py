"""In dialogue: which of the found turns a running dialogue already says, by their words: its messages have no ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memoryos.cube import MemCube, Turn
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import Recall
from memoryos.operation.recall.line import as_compared

_LONGEST = 20_000  # characters of a turn that is compared: longer ones are documents


def said_in(dialogue: Sequence[Turn], recalled: Recall) -> Iterator[str | tuple[str, int]]:
    """Yield the ids of the found pages that the dialogue has as a whole, and (page, number) of other turns in it."""
    told = {as_compared(turn.words) for turn in dialogue if len(turn.words) <= _LONGEST}
    pages = {hit.cube.id: hit.cube for hit in (*recalled.hits, *recalled.recent)}
    for page in pages.values() if told else ():
        numbers = [number for number, turn in _short(page) if as_compared(turn.words) in told]
        if len(numbers) == len(turns_of(page)):
            yield page.id
        else:
            yield from ((page.id, number) for number in numbers)


def _short(page: MemCube) -> Iterator[tuple[int, Turn]]:
    return ((number, turn) for number, turn in enumerate(turns_of(page)) if len(turn.words) <= _LONGEST)
