"""Admin: operations on the whole store."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memoryos import arguments, expected
from memoryos.caller import Action, Caller, doing
from memoryos.config import LONGEST_WAIT
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound, WrongKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.key_file import EncryptionStatus
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.models.local.watermark_evidence import WatermarkEvidence
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.correction.receipt import checked_receipt
from memoryos.operation.maintenance.cooler import Cooled
from memoryos.operation.maintenance.worker import Worker
from memoryos.operation.portability.content_marks import MarkReport, checked_lines
from memoryos.operation.portability.export import Exported
from memoryos.operation.portability.export_file import ExportTarget, read_lines, write_lines
from memoryos.operation.portability.load_export import LoadedExport, Loader
from memoryos.operation.scheduler.job_kinds import (
    MOST_PRIORITY,
    JobFunction,
    JobType,
    OneByOne,
    PayloadCheck,
    no_payload,
)
from memoryos.progress import Progress
from memoryos.scope import ID_LIMIT, Scope
from memoryos.signing import watermark_key
from memoryos.text import checked_text

MOST_THREADS = 256  # of one worker
RECEIPT_CHARS = 10_000_000


@door
class Admin:
    """Operations on the whole store."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def scopes(self, *, tenant: str = "default", limit: int | None = None, cursor: str | None = None) -> Listing[Scope]:
        """List the scopes of a tenant that hold a memory, ordered by user, agent and namespace.

        `limit` bounds the length of the list, and the `cursor` of a list returns the next part.
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
        """List the users of a tenant who have a memory, ordered by name; `limit` and `cursor` work as in `scopes`."""
        self._engine.admit(Action.ADMINISTER)
        (after,), most = key_in("users", cursor, [str]) or (None,), _most(limit)
        asked = None if most is None else most + 1
        found = self._engine.vault.users(checked_text("tenant", tenant, limit=256), after=after, limit=asked)
        shown = found[:most]
        return Listing(shown, cursor_after("users", shown[-1]) if len(shown) < len(found) else None)

    def count_users(self, *, tenant: str = "default") -> int:
        """Return the number of users of a tenant who have a memory."""
        return len(self.users(tenant=tenant))

    def export(self, target: ExportTarget, *, user: str, tenant: str = "default") -> Exported:
        """Write everything about a user, of all agents and namespaces, as JSON Lines to a new file or a stream.

        Vectors, jobs and counters are left out, because `load` makes them again. Raises InvalidInput if the file
        exists, and NotFound if the user has no memory.
        """
        owners = [owner for owner in self._known(user, tenant) if not owner.is_branch]
        exporter = self._engine.exporter(owners)
        write_lines(arguments.target(target), exporter.lines())
        return exporter.exported

    def load(self, path: str | Path, *, again: bool = False) -> LoadedExport:
        """Store the memories of a file that `export` wrote, under the same ids. Existing memories stay as they are.

        What has expired is left out, and what this store has removed since (erased, forgotten, deleted, expired),
        unless it is to be stored `again`; so is what was derived from these alone. The result counts both. The whole
        file is checked first. Raises InvalidInput, which names the line, and IdTaken if a memory of another owner has
        one of these ids.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = arguments.file_name("path", path)
        engine = self._engine
        wanted = arguments.flag("again", again)
        loader = Loader(engine.vault, engine.embedder, engine.clock, engine.protection, wanted)
        loaded = loader.load(lambda: read_lines(checked))
        for owner in loaded.owners:
            self._engine.housekeeping.written(owner)
        return loaded

    def forget(self, user: str, *, tenant: str = "default") -> Forgotten:
        """Remove everything about a user, of all agents and namespaces: memories with all versions, jobs and counts.

        Returns counts of what was removed, and a signed `receipt`; `left` counts what a check found afterwards and is
        empty. The store keeps only the ids of the removed memories, with the user's name, so that other processes drop
        them too. Raises NotFound if the user has no memory, and CubeProtected if a memory is frozen or on hold. Raises
        ObjectsUnreachable if objects cannot be removed yet; call it again later.
        """
        owners = self._known(user, tenant)
        return self._forgotten(owners, {"tenant": tenant, "user": user})

    def forget_tenant(self, tenant: str) -> Forgotten:
        """Remove everything of all users of a tenant, as `forget` does.

        Raises NotFound if the tenant has no memory, and CubeProtected if a memory is frozen or on hold; then nothing is
        removed. Raises ObjectsUnreachable like `forget`. The receipt of a call that continues another one, as after a
        crash, counts what this call removed.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = checked_text("tenant", tenant, limit=ID_LIMIT)
        owners = self._engine.vault.owners_of(checked)
        if not owners:
            raise NotFound(f"the tenant {checked!r} has no memory in this store")
        return self._forgotten(owners, {"tenant": checked})

    def verify_receipt(self, receipt: str) -> Mapping[str, Any]:
        """Check the JSON text of a receipt of `forget`, and return its fields.

        Raises InvalidInput if this store did not sign it, or if it was changed since.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = checked_text("receipt", receipt, limit=RECEIPT_CHARS)
        return checked_receipt(checked, self._engine.vault.erasure.signing_key())

    def verify_mark(self, path: str | Path) -> MarkReport:
        """Check the mark of a file that `export` wrote, or that has the JSON of an answer of `respond`.

        Returns whose it is, who made it and when, whether it is whole, and the lines that were altered; with the
        setting `answer_watermark` also what the words of an answer tell, as `verify_words` does. Raises InvalidInput if
        it has no mark, or one of another store.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = arguments.file_name("path", path)
        words = self._evidence if self._engine.settings.answer_watermark else None
        return checked_lines(read_lines(checked), self._engine.vault.erasure.signing_key(), words)

    def verify_words(self, text: str) -> WatermarkEvidence:
        """Tell whether words have the watermark that answers get with the setting `answer_watermark`.

        They must be as the local model wrote them, and read with that model. The result is "found", "not found" or
        "too short", with the counts behind it: evidence, and no proof. Raises ModelNotConfigured without a local model,
        and InvalidInput if this store has signed nothing yet.
        """
        self._engine.admit(Action.ADMINISTER)
        return self._evidence(checked_text("text", text, limit=self._engine.settings.max_text_chars))

    def _evidence(self, text: str) -> WatermarkEvidence:
        self._engine.local.check()
        key = self._engine.vault.erasure.signing_key()
        if key is None:
            raise InvalidInput("text", "cannot have a mark of this store, which has signed nothing", "Check it there")
        return self._engine.local.torch_engine().evidence(text, watermark_key(key))

    def _forgotten(self, owners: Sequence[Scope], subject: Mapping[str, str]) -> Forgotten:
        """Remove everything of these owners; none of it if one has something frozen or on hold."""
        for owner in owners:
            self._engine.forgetter.refuse_frozen(owner)

        def remove() -> Forgotten:  # the branches are among the owners, so no list of them has to be readable
            gone = sum(map(self._without_branches, owners), Forgotten())
            left = self._engine.vault.owners_of(subject["tenant"], subject.get("user"))
            late = [owner for owner in left if owner.is_branch]  # it was begun meanwhile
            return sum(map(self._without_branches, late), gone)

        return doing(Action.DELETE, lambda: self._engine.with_receipt(subject, remove))

    def _without_branches(self, owner: Scope) -> Forgotten:
        """Remove everything of an owner but its branches. Raises PermissionDenied."""
        self._engine.admit_all(Action.DELETE, owner)
        self._engine.housekeeping.unvisited(owner)
        return self._engine.forgetter.owner(owner, self._engine.corrector(owner))

    def _known(self, user: str, tenant: str) -> list[Scope]:
        self._engine.admit(Action.ADMINISTER)
        checked = checked_text("user", user, limit=ID_LIMIT)
        owners = self._engine.vault.owners_of(checked_text("tenant", tenant, limit=ID_LIMIT), checked)
        if not owners:
            raise NotFound(f"the user {checked!r} has no memory in this store")
        return owners

    def work(self, stop: threading.Event, *, threads: int = 1, poll_seconds: float | None = 5.0) -> int:
        """Run the jobs of all scopes until `stop` is set, then finish the running ones; return how many were done.

        Several processes may do this; each scope is worked on by one process at a time. A new job starts at once. Jobs
        that are due at a certain time are looked for every `poll_seconds`. With `poll_seconds=None`, the call returns
        when no job is due.
        """
        expected.instance("stop", stop, threading.Event, "Pass threading.Event()")
        at_once = arguments.natural("threads", threads, least=1, most=MOST_THREADS)
        if poll_seconds is not None:
            arguments.duration("poll_seconds", poll_seconds, most=LONGEST_WAIT)
        self._engine.admit(Action.ADMINISTER)
        worker = Worker(self._engine.vault, self._engine.housekeeping)
        return worker.run(stop, threads=at_once, poll_seconds=poll_seconds)

    def register_job(
        self,
        kind: str,
        do: JobFunction,
        *,
        check: PayloadCheck | None = None,
        priority: int = 0,
        needs_model: bool = False,
    ) -> None:
        """Register the function that does the jobs of a kind. Register it each time the store is opened.

        `memory.jobs.add` adds such jobs. `do(scope, job)` gets the scope and the job. It may use memories of this
        store, but must not wait for them (`wait`). If it raises, the error's class is stored with the job, and the
        job is tried again later. After a crash it runs again too, so doing a job twice must do no harm. Jobs that an
        earlier process left run, once they are due, when their scope is next written to or searched, or in a worker.
        `check` gets the payload and raises InvalidInput if it is wrong; without `check`, jobs have no payload.
        """
        self._engine.admit(Action.ADMINISTER)
        arguments.callback("check", check)
        arguments.function("do", do)
        urgency = arguments.natural("priority", priority, most=MOST_PRIORITY)
        handler = OneByOne(self._engine.vault, do)
        self._engine.register_job(JobType(kind, handler, check or no_payload, urgency, bool(needs_model)))

    def encryption(self) -> EncryptionStatus:
        """Return whether the file of the store is encrypted, and by how many keys it can be opened."""
        self._engine.admit(Action.ADMINISTER)
        file = self._engine.vault.key_file
        return file.status() if file else EncryptionStatus(is_encrypted=False, keys=0)

    def rotate_encryption_key(self, new_key: str, *, keep_old: bool = False) -> None:
        """Let another key open the store from now on; with `keep_old`, the one in use opens it as well.

        The data is not written again, and processes that have the store open go on. Backups keep their keys. To end an
        old key that was kept, rotate to the new key once more, without `keep_old`. Raises InvalidInput, and WrongKey if
        the key that this store was opened with does not open it any more.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = EncryptionKey.checked("new_key", new_key)
        file, key = self._engine.vault.key_file, EncryptionKey.of(self._engine.settings)
        if file is None or key is None:
            raise WrongKey("the store is not encrypted: run `memoryos encryption encrypt`")
        file.rotate(key, checked, keep_old=arguments.flag("keep_old", keep_old))

    def cool(self, *, after_days: float | None = None, progress: Progress | None = None) -> Cooled:
        """Move archived pages of all tenants that were not visited for `after_days` days into the object store.

        The default of `after_days` is the setting `cold_after_days`; if it is set, this also happens automatically.
        Packs that are no longer used are removed. `progress` is called with the number of owners done and of all
        owners. Raises InvalidInput and ObjectsUnreachable.
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
