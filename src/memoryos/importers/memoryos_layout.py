"""The files of the public MemoryOS code, as JSON holds them; `memoryos_folder` gives them meaning.

    {root}/users/{user_id}/short_term.json, mid_term.json, long_term_user.json
    {root}/assistants/{assistant_id}/long_term_assistant.json

Only the keys that are read are named: embeddings, heat and links to later pages can be computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, TypeAdapter

from memoryos.errors import InvalidInput
from memoryos.importers.source import Listed, Text, read_json, readable

T = TypeVar("T")

_FIX = "Pass the data folder that the public MemoryOS code wrote (its data_storage_path)"


def _words(value: Any) -> Any:
    """Read keywords as that code got them from its model: a list, one text, or anything else."""
    words = [value] if isinstance(value, str) else value
    return [word for word in words if isinstance(word, str) and word.strip()] if isinstance(words, list) else []


def _said(value: Any) -> Any:
    return "" if value is None else value


Words = Annotated[tuple[Text, ...], BeforeValidator(_words)]
Said = Annotated[Text, BeforeValidator(_said)]
Count = Annotated[int, Field(ge=0)]


class FilePage(BaseModel):
    """One exchange; its timestamp may be any text, because that code takes it from its caller."""

    page_id: Text | None = None  # short-term pages have none
    user_input: Said
    agent_response: Said
    timestamp: JsonValue = None
    meta_info: Said = ""
    page_keywords: Words = ()
    pre_page: Text | None = None


class FileSegment(BaseModel):
    """One topic with copies of its pages."""

    summary: Said = ""
    summary_keywords: Words = ()
    details: Listed[FilePage]
    visits: Count = Field(default=0, alias="N_visit")
    interactions: Count = Field(default=0, alias="L_interaction")
    timestamp: JsonValue = None
    last_visit_time: JsonValue = None


class MidTermFile(BaseModel):
    """mid_term.json."""

    sessions: dict[Text, FileSegment]


class KnowledgeLine(BaseModel):
    """One line of a model's answer."""

    knowledge: Said
    timestamp: JsonValue = None


class FileProfile(BaseModel):
    """A user in free text."""

    data: Said = ""
    last_updated: JsonValue = None


class UserKnowledge(BaseModel):
    """long_term_user.json."""

    user_profiles: dict[str, FileProfile] = {}
    knowledge_base: Listed[KnowledgeLine]
    assistant_knowledge: Listed[KnowledgeLine] = []


class AssistantKnowledge(BaseModel):
    """long_term_assistant.json."""

    assistant_knowledge: Listed[KnowledgeLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutFiles:
    """The contents of the files of one user and one assistant."""

    short_term: Listed[FilePage]
    mid_term: MidTermFile
    user: UserKnowledge
    assistant: AssistantKnowledge
    written_at: datetime  #: when the newest of them was written


_SHORT_TERM = TypeAdapter(Listed[FilePage])
_MID_TERM = TypeAdapter(MidTermFile)
_USER = TypeAdapter(UserKnowledge)
_ASSISTANT = TypeAdapter(AssistantKnowledge)


def read_files(root: Path, user: str, assistant: str) -> LayoutFiles:
    """Read the files of these two; a file or an id that is not there is empty."""
    with readable(root):
        mine, helpers = _files_of(root, "users", user), _files_of(root, "assistants", assistant)
        newest = max((path.stat().st_mtime for path in (*mine.values(), *helpers.values())), default=0)
    nothing_learned = AssistantKnowledge(assistant_knowledge=[])
    return LayoutFiles(
        short_term=_read(mine.get("short_term.json"), _SHORT_TERM, []),
        mid_term=_read(mine.get("mid_term.json"), _MID_TERM, MidTermFile(sessions={})),
        user=_read(mine.get("long_term_user.json"), _USER, UserKnowledge(knowledge_base=[])),
        assistant=_read(helpers.get("long_term_assistant.json"), _ASSISTANT, nothing_learned),
        written_at=datetime.fromtimestamp(newest, UTC),
    )


def owners(root: Path, kind: str) -> dict[str, Path]:
    """Folder by id, of "users" or "assistants"."""
    with readable(root):
        if not root.is_dir():
            raise InvalidInput(str(root), "is not a folder", _FIX)
        folder = root / kind
        return {entry.name: entry for entry in folder.iterdir() if entry.is_dir()} if folder.is_dir() else {}


def _files_of(root: Path, kind: str, owner: str) -> dict[str, Path]:
    # The id is looked up in the listing and never joined to a path, so "../../x" cannot leave the root.
    folder = owners(root, kind).get(owner)
    return {path.name: path for path in folder.iterdir()} if folder else {}


def _read(path: Path | None, shape: TypeAdapter[T], empty: T) -> T:
    return empty if path is None else read_json(path, shape, fix=_FIX)
