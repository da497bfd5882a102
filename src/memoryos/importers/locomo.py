"""Reader of LoCoMo: long conversations between two people, in dated sessions.

`speaker_a` becomes the user and `speaker_b` the assistant. A session has one date and its turns have none,
so times within a session are synthetic: the date, then one `TURN_STEP` per turn to keep the order.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, TypeAdapter

from memoryos.cube import Attachment, Turn
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import DEFAULT_AGENT, Conversation, Session, distinct, timed
from memoryos.importers.source import Listed, Text, read_json, to_utc
from memoryos.kinds import Role
from memoryos.language.calendar import MONTHS
from memoryos.regex import regex

_DATE_SUFFIX = "_date_time"
_SESSION = regex(r"session_\d+")
_SESSION_DATE = regex(r"session_\d+" + _DATE_SUFFIX)
_DATE = regex(r"(0?[1-9]|1[0-2]):(\d\d) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)

# Not strptime's %B: it reads the month in the language of the process.
_MONTHS = tuple(month.lower() for month in MONTHS)

_FIX = "Pass a LoCoMo file: samples with sample_id and conversation.session_N lists of {speaker, dia_id, text}"
_UNCAPTIONED = "image"  # says at least that there was one


class _LocomoTurn(BaseModel):
    speaker: Text
    dia_id: Text
    text: Text
    blip_caption: Text | None = None
    img_url: list[Text] | None = None


def _by_session(value: Any) -> Any:
    """Gather the numbered keys: `session_N` under "sessions" and `session_N_date_time` under "dates"."""
    if not isinstance(value, dict):
        return value
    sessions = {key: turns for key, turns in value.items() if _SESSION.fullmatch(key)}
    dates = {key: date for key, date in value.items() if _SESSION_DATE.fullmatch(key)}
    return {**value, "sessions": sessions, "dates": dates}


class _LocomoConversation(BaseModel):
    speaker_a: Text
    speaker_b: Text
    sessions: dict[str, Listed[_LocomoTurn]]
    dates: dict[str, str]


class _LocomoSample(BaseModel):
    sample_id: Text
    conversation: Annotated[_LocomoConversation, BeforeValidator(_by_session)]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


_SHAPE = TypeAdapter(Annotated[Listed[_LocomoSample], BeforeValidator(_as_list)])


def read_locomo(path: Path, *, zone: tzinfo = UTC) -> list[Conversation]:
    """One conversation per sample of the file; session dates are local to `zone`.

    Raises InvalidInput, naming the place, rather than lose a turn.
    """
    samples = read_json(path, _SHAPE, fix=_FIX)
    return distinct(path, [_conversation(f"{path} at {sample.sample_id}", sample, zone) for sample in samples])


def _conversation(place: str, sample: _LocomoSample, zone: tzinfo) -> Conversation:
    talk = sample.conversation
    if talk.speaker_a == talk.speaker_b:
        raise InvalidInput(place, "speaker_a and speaker_b are the same", "Give the two speakers different names")
    names = sorted((name for name, turns in talk.sessions.items() if turns), key=_number)
    return Conversation(sample.sample_id, DEFAULT_AGENT, tuple(_session(place, name, talk, zone) for name in names))


def _number(name: str) -> int:
    return int(name.removeprefix("session_"))  # session_2 comes before session_10


def _session(place: str, name: str, talk: _LocomoConversation, zone: tzinfo) -> Session:
    turns = [_turn(f"{place} {raw.dia_id}", raw, talk) for raw in talk.sessions[name]]
    start = _start(f"{place} {name}", talk.dates.get(name + _DATE_SUFFIX), zone)
    return Session(name, timed(f"{place} {name}{_DATE_SUFFIX}", turns, start))


def _start(place: str, text: str | None, zone: tzinfo) -> datetime:
    try:
        return to_utc(_parsed(text or ""), zone)
    except (ValueError, OverflowError):
        shown = "has no date" if text is None else f"{text[:40]!r} is not a date"
        raise InvalidInput(place + _DATE_SUFFIX, shown, "Write it like '1:56 pm on 8 May, 2023'") from None


def _parsed(text: str) -> datetime:
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    hour, minute, half, day, month, year = found.groups()
    afternoon = 12 if half.lower() == "p" else 0
    month_number = _MONTHS.index(month.lower()) + 1
    return datetime(int(year), month_number, int(day), int(hour) % 12 + afternoon, int(minute))


def _turn(place: str, raw: _LocomoTurn, talk: _LocomoConversation) -> Turn:
    roles = {talk.speaker_a: Role.USER, talk.speaker_b: Role.ASSISTANT}
    if raw.speaker not in roles:
        raise InvalidInput(place, f"{raw.speaker[:40]!r} is neither speaker_a nor speaker_b", "Correct the speaker")
    if not raw.text.strip() and not (raw.blip_caption or "").strip():
        raise InvalidInput(place, "has neither text nor caption", "Add the text or remove the turn")
    return Turn(
        role=roles[raw.speaker],
        text=raw.text,
        speaker=raw.speaker,
        source_id=raw.dia_id,
        attachments=_attachments(raw),
    )


def _attachments(raw: _LocomoTurn) -> tuple[Attachment, ...]:
    caption = (raw.blip_caption or "").strip()
    if not caption and not raw.img_url:
        return ()
    uri = raw.img_url[0] if raw.img_url else None
    return (Attachment(caption=caption or _UNCAPTIONED, uri=uri, media_type="image"),)
