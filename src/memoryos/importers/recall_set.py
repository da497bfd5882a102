"""Reader of recall sets: conversations, and questions that name the turns which answer them.

`docs/explanation/recall.md` describes the format. Several conversations of one user become one, in the order of time.
A turn without a time gets the time of the turn before it plus `TURN_STEP`; the first turn of a session gets the
session's time. A session without any time begins a day after the end of the session before it. Answers in the file are
not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from memoryos.cube import Attachment, Turn
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import DEFAULT_AGENT, TURN_STEP, Conversation, Session, distinct
from memoryos.importers.source import IsoTime, Listed, OneLine, QuestionText, Text, in_calendar, read_json, to_utc
from memoryos.kinds import Role

FIRST_DAY = datetime(2024, 1, 1, 12, tzinfo=UTC)  # made up: of a file without times
BETWEEN_SESSIONS = timedelta(days=1)  # made up

_FIX = (
    "Pass {conversations: [{user, sessions: [{name, turns: [{id, role, text}]}]}], "
    "questions: [{user, text, evidence: [[id]]}]}"
)

_Id = Annotated[Text, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Query:
    """A question of a recall set. Each group of turns is part of the answer; one turn of a group suffices."""

    user: str
    text: str
    type: str | None
    evidence: tuple[tuple[str, ...], ...]  #: groups of turn ids, as the file has them
    at: datetime | None = None  #: when it was asked, if the file says


@dataclass(frozen=True, slots=True)
class RecallSet:
    """The contents of a file."""

    name: str
    conversations: tuple[Conversation, ...]  #: one for each user
    questions: tuple[Query, ...]


class _RecallObject(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)  # ids are numbers in many files


class _RecallTurn(_RecallObject):
    id: _Id
    role: Role
    speaker: Text | None = None
    text: Text | None = None
    caption: Text | None = None
    at: IsoTime | None = None


class _Session(_RecallObject):
    name: Text | None = None
    at: IsoTime | None = None
    turns: Listed[_RecallTurn]


class _Conversation(_RecallObject):
    user: _Id
    sessions: Listed[_Session]


class _RecallQuestion(_RecallObject):
    user: _Id
    text: QuestionText
    type: OneLine | None = None
    evidence: Listed[Listed[_Id]] = []
    at: IsoTime | None = None


class _RecallFile(_RecallObject):
    name: OneLine | None = None
    conversations: Listed[_Conversation]
    questions: Listed[_RecallQuestion]


_SHAPE = TypeAdapter(_RecallFile)


def read_recall_set(path: Path, *, zone: tzinfo = UTC) -> RecallSet:
    """The conversations and questions of a file; times without a zone are local to `zone`.

    Raises InvalidInput, naming the place, for a file of another shape and for two turns of a user with one id.
    """
    raw = read_json(path, _SHAPE, fix=_FIX)
    sessions: dict[str, list[Session]] = {}
    for number, conversation in enumerate(raw.conversations):
        place = f"{path} at conversations.{number}"
        known = sessions.setdefault(conversation.user, [])
        known.extend(_sessions(place, conversation.sessions, known, zone))
    conversations = [_conversation(path, user, found) for user, found in sessions.items()]
    return RecallSet(
        name=raw.name or path.stem,
        conversations=tuple(distinct(path, conversations)),
        questions=tuple(_query(path, number, one, sessions, zone) for number, one in enumerate(raw.questions)),
    )


def _sessions(place: str, raw: Sequence[_Session], known: Sequence[Session], zone: tzinfo) -> Iterator[Session]:
    """The sessions that have turns; a name that the user has already gets a number."""
    names = {session.name for session in known}
    end = known[-1].turns[-1].at if known else None
    for number, session in enumerate(raw):
        here = f"{place}.sessions.{number}"
        turns = tuple(
            replace(_turn(f"{here}.turns.{index}", turn), at=at)
            for index, (turn, at) in enumerate(zip(session.turns, _moments(here, session, end, zone), strict=True))
        )
        if turns:
            name = _free(session.name or f"session_{number + 1}", names)
            names.add(name)
            end = turns[-1].at
            yield Session(name, turns)


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def _moments(place: str, session: _Session, end: datetime | None, zone: tzinfo) -> list[datetime]:
    """When each turn of a session was said; `end` is when the session before it ended."""
    with in_calendar(f"{place}.at"):
        said = _start(place, session, zone) or (end + BETWEEN_SESSIONS if end else FIRST_DAY)
    moments = []
    for number, turn in enumerate(session.turns):
        with in_calendar(f"{place}.turns.{number}.at"):
            said = to_utc(turn.at, zone) if turn.at else said + TURN_STEP * bool(number)
        moments.append(said)
    return moments


def _start(place: str, session: _Session, zone: tzinfo) -> datetime | None:
    """The start of a session, if the file has it."""
    if session.at:
        return to_utc(session.at, zone)
    for number, turn in enumerate(session.turns):
        if turn.at:
            with in_calendar(f"{place}.turns.{number}.at"):
                return to_utc(turn.at, zone) - number * TURN_STEP
    return None


def _turn(place: str, raw: _RecallTurn) -> Turn:
    caption = (raw.caption or "").strip()
    if not (raw.text or "").strip() and not caption:
        raise InvalidInput(place, "has neither text nor caption", "Add the text or remove the turn")
    return Turn(
        role=raw.role,
        text=raw.text or "",
        speaker=raw.speaker or None,
        source_id=raw.id,
        attachments=(Attachment(caption=caption, media_type="image"),) if caption else (),
    )


def _conversation(path: Path, user: str, sessions: Sequence[Session]) -> Conversation:
    """All sessions of a user by time; those that begin at the same time keep the order of the file."""
    seen: set[str | None] = set()
    for turn in (turn for session in sessions for turn in session.turns):
        if turn.source_id in seen:
            raise InvalidInput(f"{path} at user {user}", f"has turn id {turn.source_id!r} twice", "Make ids unique")
        seen.add(turn.source_id)
    return Conversation(user, DEFAULT_AGENT, tuple(sorted(sessions, key=lambda one: one.turns[0].at or FIRST_DAY)))


def _query(path: Path, number: int, raw: _RecallQuestion, users: Mapping[str, object], zone: tzinfo) -> Query:
    if raw.user not in users:
        place = f"{path} at questions.{number}.user"
        raise InvalidInput(place, f"{raw.user[:40]!r} has no conversation", "Name a user of a conversation")
    with in_calendar(f"{path} at questions.{number}.at"):
        at = to_utc(raw.at, zone) if raw.at else None
    return Query(raw.user, raw.text, raw.type or None, tuple(tuple(group) for group in raw.evidence), at)
