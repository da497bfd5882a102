"""Tool arguments: what each tool takes, with bounds. Names are those of the Python methods."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from memoryos.tool_schema import ToolArguments

TEXT_CHARS = 100_000  # of what one call stores
QUESTION_CHARS = 10_000
ID_CHARS = 256
MOST_HITS = 50
MOST_TOKENS = 32_000
YEAR = 31_536_000  # seconds

MemoryId = Annotated[
    str, Field(min_length=1, max_length=ID_CHARS, description="The id of the memory, as `search` and `get` show it.")
]
Question = Annotated[
    str, Field(min_length=1, max_length=QUESTION_CHARS, description="The question or topic, in a full sentence.")
]
Tags = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=ID_CHARS)]] | None,
    Field(max_length=32, description="Only memories that carry all of these tags."),
]
When = Annotated[str, Field(min_length=1, max_length=64)]
Since = Annotated[When | None, Field(description="Only what was said since this day or time, such as 2026-05-01.")]
Until = Annotated[When | None, Field(description="Only what was said until this day or time; a day counts whole.")]
AsOf = Annotated[
    When | None,
    Field(description="Only what had been said by then, in its present words; stored:2026-05-01: in those of then."),
]
Session = Annotated[
    str | None, Field(min_length=1, max_length=ID_CHARS, description="Only what was said in this session.")
]
Reason = Annotated[
    str | None, Field(min_length=1, max_length=1_000, description="Why, in a few words; it is kept with the change.")
]


class AddArguments(ToolArguments):
    """What `add` takes."""

    query: str = Field(
        min_length=1,
        max_length=TEXT_CHARS,
        description="What the user said, or what is to be remembered, in a full sentence that is clear by itself.",
    )
    response: str | None = Field(
        None, min_length=1, max_length=TEXT_CHARS, description="What you answered, if it adds something."
    )
    at: When | None = Field(None, description="When it was said, such as 2026-05-01T10:00. Default: now.")
    tags: Annotated[Tags, Field(description="Short labels by which it can be found, such as work.")] = None
    title: str | None = Field(
        None, min_length=1, max_length=1_000, description="The title, if this is a document and not something said."
    )
    source: str | None = Field(
        None, min_length=1, max_length=1_000, description="Where a document comes from, such as a URL."
    )


class SearchArguments(ToolArguments):
    """What `search` takes."""

    query: Question
    pages: int | None = Field(None, ge=1, le=MOST_HITS, description="Most exchanges to return. Default: 10.")
    kinds: list[Literal["page", "fact", "trait", "profile", "segment"]] | None = Field(
        None,
        max_length=5,
        description="Only these kinds: page (an exchange), fact, trait, profile (a field), segment (a topic).",
    )
    tags: Tags = None
    since: Since = None
    until: Until = None
    session: Session = None
    as_of: AsOf = None
    min_score: float | None = Field(None, ge=0, le=1, description="Leave out memories of lower relevance (0 to 1).")


class ContextArguments(ToolArguments):
    """What `context` takes."""

    query: Question
    tokens: int | None = Field(None, ge=64, le=MOST_TOKENS, description="Most tokens of the text. Default: 2,048.")
    tags: Tags = None
    since: Since = None
    until: Until = None
    session: Session = None
    as_of: AsOf = None


class GetArguments(ToolArguments):
    """What `get` and `history` take."""

    memory_id: MemoryId
    as_of: AsOf = None


class UpdateArguments(ToolArguments):
    """What `update` takes."""

    memory_id: MemoryId
    text: str | None = Field(None, min_length=1, max_length=TEXT_CHARS, description="The corrected text.")
    mode: Literal["overwrite", "append", "merge"] | None = Field(
        None,
        description="overwrite (the default) replaces the text, append adds to it, merge adds only lines that are new.",
    )
    role: Literal["user", "assistant"] | None = Field(None, description="Whose words of an exchange. Default: user.")
    expected_version: int | None = Field(
        None, ge=1, le=2**31 - 1, description="Refuse the change if the memory has another version than this."
    )
    tags: Annotated[Tags, Field(description="Tags to add.")] = None
    reason: Reason = None


class DeleteArguments(ToolArguments):
    """What `delete` takes."""

    memory_id: MemoryId


class ProfileArguments(ToolArguments):
    """What `profile` takes."""

    as_of: AsOf = None


class ForgetArguments(ToolArguments):
    """What `forget` takes."""

    session: Annotated[Session, Field(description="Forget only what was said in this session.")] = None
    confirm: str | None = Field(
        None,
        min_length=1,
        max_length=64,
        description="The token that the preview told. Pass it only after the user has agreed to lose these memories.",
    )


class FreezeArguments(ToolArguments):
    """What `freeze` and `thaw` take."""

    memory_id: MemoryId
    reason: Reason = None


class ShareArguments(ToolArguments):
    """What `share` takes."""

    to: str = Field(
        min_length=1, max_length=ID_CHARS, description="Identity of the person or program that gets the right."
    )
    actions: list[Literal["read", "write", "delete"]] | None = Field(
        None, min_length=1, max_length=3, description="What it may do. Default: read."
    )
    ttl: int | None = Field(None, ge=60, le=YEAR, description="Seconds after which the right ends. Default: a day.")
