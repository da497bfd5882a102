"""LabelChange: one change of what policies and the sweep decide a memory by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryos.caller import CallContext
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class LabelChange(Plain):
    """One change of a memory's tags, sensitivity, access or end."""

    at: datetime  #: when it was stored
    added: tuple[str, ...]  #: labels that it got, such as `tag:work`, `sensitivity:diagnosis` or `access:shared`
    removed: tuple[str, ...]  #: labels that it lost
    ends_before: datetime | None  #: when the memory would have ended; None: never
    ends_after: datetime | None  #: when it ends now
    by: str  #: identity of the caller, or "memoryos" for background work
    call: str  #: the method that was called, such as `facts.add`, or "background"
    context: CallContext  #: the job, and the purpose, session and application of the caller
    places: tuple[int, ...] = ()  #: where the removed ones stood among all; empty: an older store did not note it
