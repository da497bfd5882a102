"""History: which messages of a chat are new, when a caller passes the whole chat with every turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoryos.cube import MemCube, Page, Turn

RECENT_PAGES = 12  # of the owner, among which those of the session are looked for
_TAIL = 4  # turns: the latest ones that are stored, which tell where a history goes on


def new_turns(turns: Sequence[Turn], stored: Iterable[MemCube], session: str | None) -> Sequence[Turn]:
    """Return the turns behind those that are the latest of the session; all of them if they do not go on from there.

    A chat that has nothing new is returned whole: somebody may say the same thing twice.
    """
    told = [turn for page in stored if page.scope.session == session for turn in _turns(page)][-_TAIL:]
    for known in range(len(turns) - 1, 0, -1):
        tail = told[-known:]
        if tail and all(map(_is_same, turns[known - len(tail) : known], tail)):
            return turns[known:]
    return turns


def _turns(page: MemCube) -> Sequence[Turn]:
    return page.payload.turns if isinstance(page.payload, Page) else ()


def _is_same(new: Turn, stored: Turn) -> bool:
    """Whether both are one message; a time that was not stated is that of the call."""
    return _words(new) == _words(stored) and new.at in (None, stored.at)


def _words(turn: Turn) -> tuple[object, ...]:
    return turn.role, turn.words, turn.speaker, turn.source_id
