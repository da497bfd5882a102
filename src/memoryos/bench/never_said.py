"""Questions about things that nobody said, and messages that ask for nothing in particular.

A hundred questions, 70 in English and 30 in Chinese (these in both scripts), written before anything was measured on
them; a search made sure that no conversation of the data sets in docs/explanation/retrieval.md answers one. They ask
about the person who speaks most as the user, or in the first person where the user has no name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic_core import from_json

from memoryos.importers.dialogue import Conversation
from memoryos.kinds import Role
from memoryos.language.tongue import Tongue, tongue

FILE = Path(__file__).parent / "never_said.json"

NEVER = "never"
OPEN = "open"

_READ = 20_000  # characters that tell the language


def questions_about(conversation: Conversation, kind: str) -> list[str]:
    """The questions of a kind (NEVER, OPEN) in the conversation's language, about its user."""
    language = _language(conversation)
    fill = _names(_user(conversation), language)
    return [text.format(**fill) for text in _read()[kind][language.value]]


@cache
def _read() -> Mapping[str, Mapping[str, Sequence[str]]]:
    found: Mapping[str, Mapping[str, Sequence[str]]] = from_json(FILE.read_bytes())
    return found


def _language(conversation: Conversation) -> Tongue:
    said = (turn.words for session in conversation.sessions for turn in session.turns)
    found = tongue(" ".join(said)[:_READ]) or Tongue.ENGLISH
    return Tongue.SIMPLIFIED if found is Tongue.CHINESE else found


def _user(conversation: Conversation) -> str | None:
    """The most frequent speaker name of the user; None without one."""
    turns = (turn for session in conversation.sessions for turn in session.turns)
    names = Counter(turn.speaker for turn in turns if turn.role is Role.USER and turn.speaker)
    named = [name for name, _ in names.most_common() if name.lower() != Role.USER.value]
    return named[0] if named else None


def _names(user: str | None, language: Tongue) -> dict[str, str]:
    if language.is_chinese:
        return {"who": user or "我"}
    if user is None:
        return {"who": "I", "whose": "my", "whom": "me"}
    return {"who": user, "whose": f"{user}'s", "whom": user}
