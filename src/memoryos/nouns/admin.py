"""Admin: what concerns everybody in a store."""

from __future__ import annotations

import threading
from pathlib import Path

from memoryos import arguments
from memoryos.caller import Action, Caller
from memoryos.config import LONGEST_WAIT
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.maintenance.cooler import Cooled
from memoryos.operation.maintenance.worker import Worker
from memoryos.operation.portability.export import Exported, Exporter
from memoryos.operation.portability.export_file import Target, read_lines, write_lines
from memoryos.operation.portability.load_export import LoadedExport, Loader
from memoryos.operation.scheduler.job_kinds import MOST_PRIORITY, Act, Check, JobType, OneByOne, no_payload
from memoryos.progress import Progress
from memoryos.scope import ID_LIMIT, Scope
from memoryos.text import checked_text

MOST_THREADS = 256  # of one worker


@door
class Admin:
    """The work of a store as a whole."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def scopes(self, *, tenant: str = "default", limit: int | None = None, cursor: str | None = None) -> Listing[Scope]:
        """The scopes of a tenant that hold a memory, by user, agent and namespace.

        With a `limit`, so many at most; the `cursor` of the list gives the next ones.
        """
        self._engine.admit(Action.ADMINISTER)
        after, most = key_in("scopes", cursor, [str, str, str]), _most(limit)
        asked = None if most is None else most + 1
        found = self._engine.vault.owners(checked_text("tenant", tenant, limit=256), after=after, limit=asked)
        shown = found[:most]
        if len(shown) == len(found):
            return Listing(found)
        last = shown[-1]
        return Listing(shown, cursor_after("scopes", last.user, last.agent or "", last.path))

    def users(self, *, tenant: str = "default", limit: int | None = None, cursor: str | None = None) -> Listing[str]:
        """The users of a tenant who have a memory, in the order of their names; `limit` and `cursor` as in `scopes`."""
        self._engine.admit(Action.ADMINISTER)
        (after,), most = key_in("users", cursor, [str]) or (None,), _most(limit)
        asked = None if most is None else most + 1
        found = self._engine.vault.users(checked_text("tenant", tenant, limit=256), after=after, limit=asked)
        shown = found[:most]
        return Listing(shown, cursor_after("users", shown[-1]) if len(shown) < len(found) else None)

    def count_users(self, *, tenant: str = "default") -> int:
        """How many users of a tenant have a memory."""
        return len(self.users(tenant=tenant))

    def export(self, target: Target, *, user: str, tenant: str = "default") -> Exported:
        """Write everything about a user as JSON Lines, of all agents and namespaces: to a new file, or to a stream.

        Vectors, jobs and counters are left out: `load` makes them again. Raises InvalidInput, also for a user of whom
        nothing is known.
        """
        owners = self._known(user, tenant)
        exporter = Exporter(self._engine.vault, owners, self._engine.clock())
        write_lines(arguments.target(target), exporter.lines())
        return exporter.exported

    def load(self, path: str | Path) -> LoadedExport:
        """Store what `export` wrote, under the same ids; what is there already stays as it is.

        The whole file is checked first. Raises InvalidInput naming the line, and IdTaken when a memory of another owner
        has an id of these.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = arguments.file_name("path", path)
        loaded = Loader(self._engine.vault, self._engine.embedder, self._engine.clock).load(lambda: read_lines(checked))
        for owner in loaded.owners:
            self._engine.housekeeping.written(owner)
        return loaded

    def forget(self, user: str, *, tenant: str = "default") -> Forgotten:
        """Remove everything about a user: memories of all agents and namespaces with all their versions, jobs, counts.

        Returns what went, and what was found afterwards: `left` is empty. Only a list of the ids that are gone stays,
        which other processes follow. Raises InvalidInput for a user of whom nothing is known, and ObjectsUnreachable
        when objects cannot be removed yet: then call again.
        """
        owners = self._known(user, tenant)
        return sum((self._engine.forget(owner) for owner in owners), Forgotten())

    def _known(self, user: str, tenant: str) -> list[Scope]:
        self._engine.admit(Action.ADMINISTER)
        checked = checked_text("user", user, limit=ID_LIMIT)
        owners = self._engine.vault.owners_of(checked_text("tenant", tenant, limit=ID_LIMIT), checked)
        if not owners:
            raise InvalidInput("user", f"nothing is known of {checked!r}", "See `admin.scopes()` for those who are")
        return owners

    def work(self, stop: threading.Event, *, threads: int = 1, poll_seconds: float | None = 5.0) -> int:
        """Do the jobs of every scope of the store until `stop` is set, then finish those that run; returns how many.

        Several processes may do so at once: each scope is worked on by one at a time. A new job wakes it; for those
        that come due by themselves it looks every `poll_seconds`. Without them it ends when nothing is due.
        """
        arguments.instance("stop", stop, threading.Event, "Pass threading.Event()")
        at_once = arguments.natural("threads", threads, least=1, most=MOST_THREADS)
        if poll_seconds is not None:
            arguments.duration("poll_seconds", poll_seconds, most=LONGEST_WAIT)
        self._engine.admit(Action.ADMINISTER)
        self._engine.check_open()
        worker = Worker(self._engine.vault, self._engine.housekeeping)
        return worker.run(stop, threads=at_once, poll_seconds=poll_seconds)

    def register_job(
        self,
        kind: str,
        do: Act,
        *,
        check: Check | None = None,
        priority: int = 0,
        needs_model: bool = False,
    ) -> None:
        """Say what does the jobs of a kind, which `memory.jobs.add` adds; do so each time the store is opened.

        `do` is called with the transaction that ends the job, and the job: what it raises is kept with the job, which
        is tried again later. Jobs that an earlier process left are done when their scope is used next, or by a worker.
        `check` raises InvalidInput for a payload that is not to be stored; without one, jobs have none.
        """
        self._engine.admit(Action.ADMINISTER)
        arguments.callback("check", check)
        arguments.function("do", do)
        urgency = arguments.natural("priority", priority, most=MOST_PRIORITY)
        handler = OneByOne(self._engine.vault, do)
        self._engine.register_job(JobType(kind, handler, check or no_payload, urgency, bool(needs_model)))

    def cool(self, *, after_days: float | None = None, progress: Progress | None = None) -> Cooled:
        """Move the store's archived pages that nobody visited for so long into the object store, of all tenants.

        It is done by itself, too, where `cold_after_days` is set, which is also what `after_days` is when left out.
        Packs out of use are removed. `progress` is told owners. Raises InvalidInput, ObjectsUnreachable.
        """
        self._engine.admit(Action.ADMINISTER)
        vault, cooler = self._engine.vault, self._engine.cooler
        days = self._engine.settings.cold_after_days if after_days is None else after_days
        if days is None or not vault.packs.are_kept:
            field = "after_days" if vault.packs.are_kept else "object_store"
            raise InvalidInput(field, "is not set", "Set MEMORYOS_OBJECT_STORE and MEMORYOS_COLD_AFTER_DAYS")
        arguments.duration("after_days", days, most=arguments.LONGEST_DAYS)
        arguments.callback("progress", progress)
        done, owners = Cooled(), vault.archiving()
        for number, owner in enumerate(owners, 1):
            done += cooler.cool(owner, days)
            done += Cooled(removed=cooler.sweep(owner))
            if progress:
                progress(number, len(owners))
        return done

    @property
    def _hand(self) -> Hand:
        return self._engine.hand


def _most(limit: int | None) -> int | None:
    return arguments.optional("limit", limit, least=1)
