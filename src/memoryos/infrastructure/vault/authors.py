"""Authors: who made each version of a memory, by which call and why, as the events of the versions tell it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from memoryos.caller import acting_caller, running_call
from memoryos.infrastructure.vault.audit_entry import BACKGROUND

_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Author:
    """Who made a version."""

    by: str | None = None  #: identity of the caller, or "memoryos" for background work; None: not known
    call: str | None = None  #: the method, such as `memory.update`; None: not known
    reason: str = ""  #: why, as the caller said it
    restored: int | None = None  #: the version that a rollback brought back


def authored(detail: str | None = None) -> str:
    """What the event of a new version says, as JSON: who makes it now, and what else is to be told."""
    call = running_call()
    author = {"by": acting_caller().identity, "call": call.operation if call else BACKGROUND}
    return _encode({**author, **json.loads(detail)} if detail else author)


def read_author(detail: str | None) -> Author:
    """The inverse of `authored`; older events tell less."""
    told = json.loads(detail or "{}")
    return Author(told.get("by"), told.get("call"), told.get("reason", ""), told.get("restored"))
