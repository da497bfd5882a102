"""Job kinds: the kinds of jobs that a store can do, each with its handler, its payload check and its priority.

Register a kind for work that should follow a write, survive a crash and be retried. A job of an unregistered kind, such
as one of a newer program, waits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.operation.scheduler.job_runner import GoesOn, Handler
from memoryos.scope import Scope
from memoryos.text import checked_text

MOST_PRIORITY = 1_000_000
MOST_PAYLOAD_CHARS = 100_000  # of its JSON: what is larger belongs in a memory or in a blob

Payload = Mapping[str, Any]
PayloadCheck = Callable[[Payload | None], None]  #: a function that raises InvalidInput for a wrong payload
JobFunction = Callable[[Scope, Job], object]  #: a function that does a job


def no_payload(payload: Payload | None) -> None:
    """Refuse any payload: the check of kinds that need none."""
    if payload is not None:
        raise InvalidInput("payload", "is not allowed for this kind of job", "Leave it out")


@dataclass(frozen=True, slots=True)
class JobType:
    """One kind of job. `handler` does its jobs; `OneByOne` is the simplest one."""

    name: str  #: the stored name
    handler: Handler
    check: PayloadCheck = no_payload  #: raises InvalidInput for a wrong payload
    priority: int = 0  #: default priority of its jobs; the highest runs first
    needs_model: bool = False  #: whether it may wait for a chat model; then it runs in a thread of its own
    is_internal: bool = False  #: whether only the library adds such jobs

    def checked(self, payload: Payload | None) -> Payload | None:
        """Return the payload in its stored form. Raises InvalidInput."""
        if self.is_internal:
            raise InvalidInput("kind", f"{self.name!r} is reserved for the library", "Name a kind of your own")
        self.check(payload)
        return None if payload is None else _plain_payload(payload)


@dataclass(frozen=True, slots=True)
class JobTypes:
    """The kinds that are registered with one store."""

    handlers: dict[str, Handler] = field(default_factory=dict)  #: handlers by kind, for a JobRunner
    _types: dict[str, JobType] = field(default_factory=dict)

    def register(self, *types: JobType) -> None:
        """Add kinds. Raises InvalidInput if a name is taken."""
        for one in types:
            name = checked_text("kind", one.name, limit=64)
            if name in self._types:
                raise InvalidInput("kind", f"{name!r} is registered already", "Choose another name")
            self._types[name] = one
            self.handlers[name] = one.handler

    def named(self, name: str) -> JobType:
        """Return the kind of that name. Raises InvalidInput."""
        if name not in self._types:
            known = ", ".join(sorted(name for name, one in self._types.items() if not one.is_internal)) or "none"
            fix = f"Call store.admin.register_job each time the store is opened; registered: {known}"
            raise InvalidInput("kind", f"{str(name)[:64]!r} is not registered", fix)
        return self._types[name]

    @property
    def need_a_model(self) -> bool:
        """Whether a kind may wait for a chat model."""
        return any(one.needs_model for one in self._types.values())


@dataclass(frozen=True, slots=True)
class OneByOne:
    """A handler that calls a function with each job, outside any transaction, and then finishes the job."""

    vault: Vault
    act: JobFunction
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Do the jobs one after the other; return those that are left."""
        for number, job in enumerate(jobs):
            if not goes_on():
                return jobs[number:]
            self.act(scope, job)
            with self.vault.write(scope) as writer:
                writer.finish(job)
        return ()


def internal(name: JobKind, handler: Handler, *, needs_model: bool = False) -> JobType:
    """A kind of the library's own."""
    return JobType(name.value, handler, needs_model=needs_model, is_internal=True)


def _plain_payload(payload: Payload) -> Payload:
    """The payload as the store returns it. Raises InvalidInput if JSON cannot hold it."""
    fix = "Pass a dict that JSON can hold, such as {'day': '2026-01-31'}"
    if not isinstance(payload, Mapping):
        raise InvalidInput("payload", f"is a {type(payload).__name__}", fix)
    try:
        text = json.dumps(dict(payload), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("payload", f"is not JSON: {type(error).__name__}", fix) from None
    checked_text("payload", text, limit=MOST_PAYLOAD_CHARS)
    plain: dict[str, Any] = json.loads(text)
    return plain
