"""Dialogues as readers return them: conversations of sessions of turns, all frozen values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from memoryos.cube import Turn
from memoryos.errors import InvalidInput
from memoryos.importers.source import in_calendar
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text

DEFAULT_AGENT = "default"  # the data sets name no agent; the same default as Scope

TURN_STEP = timedelta(seconds=1)  # made up: the data sets date a session, not its turns


@dataclass(frozen=True, slots=True)
class Session:
    """The turns of one sitting, in the order they were said, each later than the one before."""

    name: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All sessions of one user with one agent; `user` and `agent` are the ids that will own the memory."""

    user: str
    agent: str
    sessions: tuple[Session, ...]

    @property
    def turn_count(self) -> int:
        """The number of turns of all sessions."""
        return sum(len(session.turns) for session in self.sessions)

    @property
    def ended_at(self) -> datetime | None:
        """When the last turn was said; None when no turn has a time."""
        return max((turn.at for session in self.sessions for turn in session.turns if turn.at), default=None)


def timed(place: str, turns: Iterable[Turn], start: datetime) -> tuple[Turn, ...]:
    """Give the turns of a place synthetic times: the first is at `start`, each next one TURN_STEP later."""
    with in_calendar(place):
        return tuple(replace(turn, at=start + number * TURN_STEP) for number, turn in enumerate(turns))


def distinct(path: Path, conversations: list[Conversation]) -> list[Conversation]:
    """Check that each conversation has a user id of its own: otherwise two people would share one memory."""
    seen: set[str] = set()
    for conversation in conversations:
        checked_text(f"{path}: user id", conversation.user, limit=ID_LIMIT)
        if conversation.user in seen:
            raise InvalidInput(str(path), f"has user {conversation.user!r} twice", "Give each conversation its own id")
        seen.add(conversation.user)
    return conversations
