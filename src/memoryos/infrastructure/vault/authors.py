"""Authors: who made each version of a memory, by which call, in which context and why, as the events tell it."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

from memoryos.caller import CallContext, acting_caller, call_context, running_call
from memoryos.infrastructure.vault.audit_entry import BACKGROUND

_UNSAID = CallContext()
_CONTEXT = tuple(field.name for field in fields(CallContext))
_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Author:
    """Who made a version."""

    by: str | None = None  #: identity of the caller, or "memoryos" for background work; None: not known
    call: str | None = None  #: the method, such as `memory.update`; None: not known
    reason: str = ""  #: why, as the caller said it
    restored: int | None = None  #: the version that a rollback brought back
    context: CallContext = _UNSAID  #: the job, and what the caller said of the call


def authored(detail: str | None = None) -> str:
    """What the event of a new version says, as JSON: who makes it now, and what else is to be told."""
    call = running_call()
    author = {"by": acting_caller().identity, "call": call.operation if call else BACKGROUND}
    context = call_context()
    if context != _UNSAID:
        author |= {name: told for name in _CONTEXT if (told := getattr(context, name)) is not None}
    return _encode({**author, **json.loads(detail)} if detail else author)


def read_author(detail: str | None) -> Author:
    """The inverse of `authored`; older events tell less."""
    told = json.loads(detail or "{}")
    context = CallContext(*map(told.get, _CONTEXT))
    return Author(told.get("by"), told.get("call"), told.get("reason", ""), told.get("restored"), context)


def is_reasoned(detail: str | None) -> bool:
    """Whether an event says why a caller made a version."""
    return detail is not None and '"reason"' in detail


def without_reason(detail: str | None) -> str | None:
    """What an event says, without that."""
    if detail is None or not is_reasoned(detail):
        return detail
    told = json.loads(detail)
    return _encode({name: value for name, value in told.items() if name != "reason"})
