"""Reader of GVD (MemoryBank): virtual users and their dialogues with an assistant, one session per day.

The data has days but no times, so times are synthetic: the first turn of a day is at noon and each next one
`TURN_STEP` later. The n-th exchange of a day, counted from 1, gives the source ids "2023-04-27#nq" for the
query and "2023-04-27#nr" for the response; a missing half leaves the other ids as they are.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from memoryos.cube import Turn
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import DEFAULT_AGENT, Conversation, Session, distinct, timed
from memoryos.importers.source import Listed, Text, read_json, to_utc
from memoryos.kinds import Role

_FIX = "Pass a GVD memory bank: {user: {history: {YYYY-MM-DD: [{query, response}]}}}"
_NOON = time(12)

_Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class _Exchange(BaseModel):
    query: Text
    response: Text


class _User(BaseModel):
    history: dict[_Day, Listed[_Exchange]]


_SHAPE = TypeAdapter(dict[Text, _User])


def read_gvd(path: Path, *, zone: tzinfo = UTC) -> list[Conversation]:
    """One conversation per virtual user, its days in order; days are local to `zone`.

    A half exchange is kept as one turn. Raises InvalidInput for an exchange with neither half.
    """
    users = read_json(path, _SHAPE, fix=_FIX)
    return distinct(path, [_conversation(path, name, user, zone) for name, user in users.items()])


def _conversation(path: Path, name: str, user: _User, zone: tzinfo) -> Conversation:
    name = name.strip()  # the published file has keys such as " Jason "
    days = sorted((day for day, exchanges in user.history.items() if exchanges))
    sessions = (_session(f"{path} at {name}", name, day, user.history[day], zone) for day in days)
    return Conversation(name, DEFAULT_AGENT, tuple(sessions))


def _session(place: str, user: str, day: str, exchanges: list[_Exchange], zone: tzinfo) -> Session:
    turns: list[Turn] = []
    for number, exchange in enumerate(exchanges, start=1):
        halves = _turns(user, f"{day}#{number}", exchange)
        if not halves:
            raise InvalidInput(f"{place} {day}#{number}", "has neither query nor response", "Add one or remove it")
        turns += halves
    return Session(day, timed(f"{place} {day}", turns, _noon(f"{place} {day}", day, zone)))


def _turns(user: str, source_id: str, exchange: _Exchange) -> list[Turn]:
    query = Turn(role=Role.USER, text=exchange.query, speaker=user, source_id=f"{source_id}q")
    response = Turn(role=Role.ASSISTANT, text=exchange.response, source_id=f"{source_id}r")
    return [turn for turn in (query, response) if turn.text.strip()]


def _noon(place: str, day: str, zone: tzinfo) -> datetime:
    try:
        return to_utc(datetime.combine(date.fromisoformat(day), _NOON), zone)
    except (ValueError, OverflowError):
        raise InvalidInput(place, "is not a day of the calendar", "Write days as YYYY-MM-DD") from None
