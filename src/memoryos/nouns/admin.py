"""Admin: what concerns everybody in a store."""

from __future__ import annotations

import threading

from memoryos import arguments
from memoryos.caller import Action, Caller
from memoryos.config import LONGEST_WAIT
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.maintenance.cooler import Cooled
from memoryos.operation.maintenance.worker import Worker
from memoryos.progress import Progress
from memoryos.scope import Scope
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
    return None if limit is None else arguments.positive("limit", limit, limit)
