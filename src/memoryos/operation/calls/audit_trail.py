"""Audit trail: reads, refusals and failures on their way into the audit log.

A write is in the log with the transaction that makes it (`vault.audits`). What is noted here wrote no memory. Reads are
kept and written behind the calls, so no search waits for a write. That takes at most twice WRITE_AFTER and the time of
the write, also if the call goes on, and longer while another process holds the store's lock. A crash loses what was
not written yet. What administers or shares, such as a new key or a granted role, is written before its call returns.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from threading import Event, Lock, Thread, main_thread
from typing import Any

from memoryos.caller import SYSTEM, Action, Call, Caller, Gate, acting, running_call
from memoryos.clock import Clock
from memoryos.cube import MemCube
from memoryos.errors import Refused, StorageError, StoreBusy
from memoryos.infrastructure.vault.audit_entry import BACKGROUND, POLICIES, AuditedCube, Decision, Deed
from memoryos.infrastructure.vault.audit_part import AuditPart, AuditSelection
from memoryos.infrastructure.vault.patience import apart
from memoryos.operation.calls.invalid_keys import InvalidKeys
from memoryos.operation.calls.unrecorded_reads import UnrecordedReads
from memoryos.scope import Scope

WRITE_AFTER = 0.5  # seconds that entries wait for others, to be written together
MOST_WAITING = 10_000  # entries; further reads are counted, and whoever does more writes all, and gets the error
_TRIES = 3  # at the end, and of the thread after an error; it waits for a lock for as long as the program runs

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    """An entry that waits; it may be replaced until it is taken."""

    deed: Deed
    is_open: bool = False  #: its call goes on, and will tell more
    is_taken: bool = False
    is_dropped: bool = False  #: only counted
    since: float = field(default_factory=time.monotonic)

    @property
    def is_ready(self) -> bool:
        """Whether it is complete, or has waited long enough for that."""
        return not self.is_open or time.monotonic() - self.since >= WRITE_AFTER


class AuditTrail:
    """The entries of one store that wait to be written, and the thread that writes them."""

    def __init__(self, log: AuditPart, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._lock = Lock()
        self._waiting: list[_Waiting] = []
        self._flushing = Lock()  # one at a time, so that the order stays
        self._is_thread_running = False
        self._is_closing = Event()
        self._invalid_keys = InvalidKeys()
        self._unrecorded = UnrecordedReads()

    def deed(self, caller: Caller, action: Action, scope: Scope | None) -> Deed:
        """An entry of the running call."""
        call = running_call()
        operation, context = (call.operation, call.context) if call else (BACKGROUND, {})
        return Deed(scope and scope.owner, self._clock(), caller, action, operation, context=context)

    def notes(self, call: Call) -> CallNotes:
        """What was noted of this call so far."""
        with self._lock:  # a search asks its mounts in threads
            found: CallNotes | None = call.notes.get(self)
            if found is None:
                found = call.notes[self] = CallNotes(self, call)
                call.at_end(found.end)
            return found

    def refused(
        self, caller: Caller, action: Action, scope: Scope | None, error: Refused, operation: str | None = None
    ) -> None:
        """Note that a caller was refused, with the memories that the running call named.

        What goes on after its call, such as a stream, names its operation.
        """
        deed = replace(self.deed(caller, action, scope), **_outcome(error))
        deed = replace(deed, operation=operation or deed.operation)
        if (call := running_call()) is not None:
            self.notes(call).refused(deed)
        else:
            self.keep(deed)

    def key_refused(self, network: str | None) -> None:
        """Note that somebody at that address used a key that is not valid; further uses are counted for a while."""
        for deed in self._invalid_keys.used(network, self._clock()):
            self.keep(deed)
        if self._invalid_keys.has_counted and not self._is_written_later():
            self.flush()

    def keep(self, deed: Deed, *, is_open: bool = False) -> _Waiting:
        """Keep an entry until it is written; an open one is completed by `complete`.

        If too many wait, a read is only counted, so a search waits for no write. Raises StorageError if anything else
        is noted then and they cannot be written.
        """
        waiting = _Waiting(deed, is_open)
        with self._lock:
            is_full = len(self._waiting) >= MOST_WAITING
            waiting.is_dropped = is_full and self._unrecorded.drop(deed)
            if not waiting.is_dropped:
                self._waiting.append(waiting)
        if waiting.is_dropped:
            self._is_written_later()
            return waiting
        if is_full or not self._is_written_later():
            self.flush()
        return waiting

    def policies_found(self, fingerprint: str) -> None:
        """Note the policies of a store that is opened, unless the latest that were noted are the same."""
        selection = AuditSelection(operations=(POLICIES,))
        latest = self._log.entries(selection, limit=1, is_latest=True)
        if not latest or latest[0][1].context.get("purpose") != fingerprint:
            self.policies_changed(fingerprint)

    def policies_changed(self, fingerprint: str) -> None:
        """Note that other policies decide from now on. Who changed the files is not known."""
        caller = replace(SYSTEM, purpose=fingerprint)
        self.keep(Deed(None, self._clock(), caller, Action.ADMINISTER, POLICIES))

    def complete(self, waiting: _Waiting, **told: Any) -> None:
        """Complete an entry; if it is written already, and there is more to tell, keep another one."""
        with self._lock:
            if is_refused := waiting.is_dropped and told.get("decision") is Decision.REFUSED:
                self._unrecorded.take_back(waiting.deed)
            is_late = waiting.is_taken or is_refused
            waiting.is_open = False
            if not is_late and told:
                waiting.deed = replace(waiting.deed, **told)
        if is_late and told:
            self.keep(replace(waiting.deed, **told))

    def withdraw(self, waiting: _Waiting) -> None:
        """Drop an entry, unless it is written already: the transaction that followed has one that tells as much."""
        with self._lock:
            self._waiting = [one for one in self._waiting if one is not waiting]

    def flush(self) -> None:
        """Write all entries that wait, but those of calls that go on, for a moment.

        Raises StorageError; what was not written is kept, also after an interrupt.
        """
        with self._flushing:
            counted = self._invalid_keys.over(self._clock() if self._goes_on() else None)
            self._write([*(one.deed for one in self._taken()), *counted])
            self._write(self._unrecorded.counted(self._clock()))  # once there is room: else there would be ever more

    def _write(self, deeds: list[Deed]) -> None:
        """Write entries, and then, all together, what these have the store note; keep what was not written."""
        batches, later = self._log.batches(deeds), list[Deed]()
        try:
            while batches:
                later += self._log.write(batches[0])
                batches[:1] = []
                if not batches:
                    batches, later = self._log.batches(later), []
        finally:
            left = [_Waiting(deed) for batch in (*batches, later) for deed in batch]
            with self._lock:
                self._waiting[:0] = left

    def write_now(self) -> None:
        """Write all entries that wait, within the time that the running call has left; else the thread tries again."""
        with suppress(StorageError):
            acting(SYSTEM, self.flush)

    def close(self) -> None:
        """Write all entries that wait, and end the thread. Raises like `flush`, of a lock after some attempts."""
        self._is_closing.set()
        for left in reversed(range(_TRIES)):
            try:
                apart(lambda: acting(SYSTEM, self.flush))
            except StoreBusy as error:
                _log_delay(error)
                if not left:
                    raise
            else:
                return

    def _taken(self) -> list[_Waiting]:
        """Take the entries that are ready."""
        with self._lock:
            for one in self._waiting:
                one.is_taken = one.is_ready or self._is_closing.is_set()
            taken = [one for one in self._waiting if one.is_taken]
            self._waiting = [one for one in self._waiting if not one.is_taken]
            return taken

    def _is_written_later(self) -> bool:
        """Whether the thread runs; where it does not, it is started."""
        with self._lock:
            starts, self._is_thread_running = not self._is_thread_running, True
        return not starts or self._started()

    def _started(self) -> bool:
        """Start the thread; return False at the end of the program, when none can start.

        It is not a daemon, unlike the thread that may start it: at the end of the program the entries are written.
        """
        try:
            Thread(target=self._write_later, name="memoryos-audit", daemon=False).start()
        except RuntimeError:
            self._is_thread_running = False
            return False
        return True

    def _write_later(self) -> None:
        failures = 0
        while failures < _TRIES and self._has_more():
            self._is_closing.wait(WRITE_AFTER)
            try:
                apart(lambda: acting(SYSTEM, self.flush))
                failures = 0
            except StorageError as error:
                failures += not (isinstance(error, StoreBusy) and self._goes_on())
                _log_delay(error)
        if failures == _TRIES:
            self._is_thread_running = False

    def _goes_on(self) -> bool:
        """Whether the program still runs with the store: then a lock of another process comes free some time."""
        return main_thread().is_alive() and not self._is_closing.is_set()

    def _has_more(self) -> bool:
        """Whether entries wait, or uses are counted; else the thread ends, and what comes next starts another one."""
        with self._lock:
            has_counted = self._invalid_keys.has_counted or self._unrecorded.has_counted
            self._is_thread_running = bool(self._waiting) or has_counted
            return self._is_thread_running


class CallNotes:
    """What one call did so far: whom it read, and whom it may write."""

    def __init__(self, trail: AuditTrail, call: Call) -> None:
        self._trail = trail
        self._call = call
        self._reads: dict[tuple[Caller, Action, Scope | None], _Waiting] = {}
        self._writes: dict[tuple[Caller, Scope | None], Deed] = {}
        self._is_refused = False

    def admitted(self, deed: Deed) -> None:
        """Note that the gate admitted this, once for each owner."""
        if deed.action in (Action.WRITE, Action.DELETE):
            self._writes.setdefault((deed.caller, deed.scope), deed)
        elif (key := (deed.caller, deed.action, deed.scope)) not in self._reads:
            self._reads[key] = self._trail.keep(deed, is_open=True)

    def refused(self, deed: Deed) -> None:
        """Note that the gate refused this, with the memories that the caller named."""
        self._is_refused = True
        self._trail.keep(replace(deed, cubes=self._cubes(None).get(deed.scope, ())))

    def end(self, result: Any, error: BaseException | None) -> None:
        """Complete the entries when the call ends: with the memories that it returned, or with its error."""
        cubes = self._cubes(result)
        told = _outcome(error)
        unwritten = [deed for (_, owner), deed in self._writes.items() if owner not in self._call.written]
        for deed in unwritten:
            self._trail.keep(replace(deed, cubes=cubes.get(deed.scope, ()), **told))
        if unwritten or self._is_refused:  # the reads before it went well
            told = {}
        is_more_than_read = bool(unwritten)  # and in no transaction: a key, a role
        for waiting in self._reads.values():
            if error is None and waiting.deed.action is Action.ADMINISTER and waiting.deed.scope in self._call.written:
                self._trail.withdraw(waiting)
                continue
            found = cubes.get(waiting.deed.scope, ()) if waiting.deed.action is Action.READ else ()
            self._trail.complete(waiting, **({"cubes": found} if found else {}), **told)
            is_more_than_read = is_more_than_read or waiting.deed.action is not Action.READ
        if error is None and is_more_than_read:
            self._trail.write_now()

    def _cubes(self, result: Any) -> dict[Scope | None, tuple[AuditedCube, ...]]:
        """The memories that the call returned, showed to a model, or was asked for by id: by owner."""
        found: dict[Scope | None, dict[str, AuditedCube]] = {}
        for owner, cube_id, kind in (*self._call.concerned, *_cubes_in([*self._call.shown, result])):
            found.setdefault(owner, {})[cube_id] = AuditedCube(cube_id, kind)
        return {owner: tuple(cubes.values()) for owner, cubes in found.items()}


class AuditedGate:
    """A gate that notes what another gate decides."""

    def __init__(self, gate: Gate, trail: AuditTrail) -> None:
        self._gate = gate
        self._trail = trail

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return or raise as the other gate does. What the work behind the calls reads is not noted."""
        try:
            self._gate.admit(caller, action, scope)
        except Refused as error:
            self._trail.refused(caller, action, scope, error)
            raise
        if caller is SYSTEM:
            return
        deed, call = self._trail.deed(caller, action, scope), running_call()
        if call is not None:
            self._trail.notes(call).admitted(deed)
        elif action not in (Action.WRITE, Action.DELETE):  # a stream goes on after its call
            self._trail.keep(deed)


def _log_delay(error: StorageError) -> None:
    name = type(error).__name__
    logger.error("audit log not written: %s", name, extra={"action": "audit", "error": name})


def _outcome(error: BaseException | None) -> dict[str, Any]:
    if error is None:
        return {}
    decision = Decision.REFUSED if isinstance(error, Refused) else Decision.FAILED
    return {"decision": decision, "reason": type(error).__name__}


def _cubes_in(value: Any) -> Iterator[tuple[Scope, str, str]]:
    """The owner, id and kind of the memories in what a call returns."""
    if isinstance(value, MemCube):
        yield value.scope.owner, value.id, value.kind.value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _cubes_in(one)
    elif is_dataclass(value):
        for name in fields(value):
            yield from _cubes_in(getattr(value, name.name))
