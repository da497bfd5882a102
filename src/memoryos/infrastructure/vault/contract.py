"""The store contract: what every back end does, but not how.

A vault is used through short sessions, each bound to one scope, so a statement without an owner cannot be written.
`read` gives a consistent snapshot. `write` is one transaction: all of it becomes durable when the block ends, or
nothing does. A session sees only the cubes of its tenant, user, agent and namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from threading import Event as Flag
from typing import Protocol

from memoryos.caller import Action, Gate, View, Views
from memoryos.cube import MemCube
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.objects.blobs import Blobs
from memoryos.infrastructure.vault.agent_part import AgentPart
from memoryos.infrastructure.vault.audit_entry import KeepDeed
from memoryos.infrastructure.vault.audit_part import AuditPart
from memoryos.infrastructure.vault.delegation_part import DelegationPart
from memoryos.infrastructure.vault.erasure_part import ErasurePart
from memoryos.infrastructure.vault.index_files import IndexFiles
from memoryos.infrastructure.vault.kept_chains import KeptChains
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.key_part import KeyPart
from memoryos.infrastructure.vault.records import (
    Event,
    Job,
    NewVectors,
    Unembedded,
)
from memoryos.infrastructure.vault.role_part import RolePart
from memoryos.infrastructure.vault.session_parts import (
    ColdReader,
    ColdWriter,
    CubeReader,
    CubeWriter,
    ExpiryReader,
    LedgerReader,
    LedgerWriter,
    LinkReader,
    LinkWriter,
    LogReader,
    PassageReader,
    QueueReader,
    QueueWriter,
    RetentionNotes,
)
from memoryos.infrastructure.vault.stored_blob import BlobNotes
from memoryos.infrastructure.vault.tenant_rule_part import TenantRulePart
from memoryos.infrastructure.vault.user_part import UserPart
from memoryos.retention import VersionLimit
from memoryos.scope import Scope


class Reader(
    CubeReader, ExpiryReader, LinkReader, PassageReader, LogReader, QueueReader, ColdReader, LedgerReader, Protocol
):
    """A consistent snapshot of one owner's cubes."""

    @property
    def whole(self) -> Reader:
        """The same snapshot with all cubes, for work whose result the caller does not get to see."""
        ...

    @property
    def view(self) -> View | None:
        """What decides which of the cubes the caller may read; None: all are in this snapshot."""
        ...

    def found_pages(self, pages: Iterable[str]) -> dict[str, MemCube]:
        """Return like `get`, with one query, the pages that a search found; not for ids that a caller may guess."""
        ...

    def logged(self, *, after: int, limit: int) -> tuple[list[Event], int | None]:
        """Return the next events for the caller, and the sequence after which to go on; None: there are no more.

        There may be fewer than `limit`, and even none, with more to come.
        """
        ...

    @property
    def blobs(self) -> BlobNotes:
        """The access to attachment bytes in the object store."""
        ...

    @property
    def retention(self) -> RetentionNotes:
        """The retention rules and legal holds."""
        ...


class Writer(Reader, CubeWriter, LinkWriter, QueueWriter, ColdWriter, LedgerWriter, Protocol):
    """A transaction on one owner's cubes. Each change is logged as one event."""


class Reembedding(Protocol):
    """A write transaction on a whole store that changes to another embedder, the one of the session."""

    def begin(self) -> bool:
        """Start the change to our embedder; False while staged vectors of another one must be removed first.

        An unfinished change to another embedder is abandoned. If the store already uses our vectors, nothing else
        happens.
        """
        ...

    def is_done(self) -> bool:
        """Whether the store uses our vectors."""
        ...

    def tally(self) -> tuple[int, int]:
        """Return how many cubes have new vectors, and how many need them."""
        ...

    def pending(self, *, after: tuple[str, str], limit: int) -> list[Unembedded]:
        """Return cubes after this tenant and id whose new vectors are missing or outdated.

        Segments with pages are left out, because they get the mean of their pages' vectors.
        """
        ...

    def stage(self, vectors: Sequence[NewVectors]) -> None:
        """Store new vectors separately from those in use; vectors of deleted cubes are dropped."""
        ...

    def switch(self) -> None:
        """Replace the old vectors by the new ones and make ours the store's embedder.

        Call it when nothing is pending in this transaction. Sessions with the old embedder then get EmbedderMismatch.
        """
        ...

    def sweep(self, limit: int) -> bool:
        """Remove up to that many unneeded staged vectors; return whether there were any."""
        ...


class Reembeddable(Protocol):
    """A store that can change to another embedder."""

    def reembedding(self, embedder: str) -> AbstractContextManager[Reembedding]:
        """Open a write transaction on the whole store that changes to that embedder."""
        ...


class JobSignal(Protocol):
    """Wakes a worker, so that it need not poll often. It serves one thread."""

    def wait(self, seconds: float, stop: Flag) -> bool:
        """Wait until a notification, `stop` or the timeout; return whether there was a notification.

        Notifications follow transactions that made a job due, including those between two calls; some are spurious.
        There is none when a job's own time comes, so look for jobs after the timeout too.
        """
        ...

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        ...


Order = Callable[[Iterable[Scope]], list[Scope]]  #: sorts owners, the next one first


class Vault(Reembeddable, Protocol):
    """A store of cubes. A session raises EmbedderMismatch once the store has changed to another embedder."""

    packs: Packs  #: the documents outside the store; sessions read them from there
    blobs: Blobs  #: the bytes of attachments
    name: str  #: of the store, for messages: no password is in it
    is_only_read: bool  #: if True, every write raises StoreReadOnly
    key_file: KeyFile | None  #: the sealed keys of an encrypted file
    index_files: IndexFiles | None  #: where indexes are saved for the next process
    known_jobs: Collection[str] | None  #: the kinds of jobs that this process can do; None: all
    dim: int | None  #: the length of a vector, by which a damaged one without a checksum is found; None: unknown
    gate: Gate | None  #: checks the caller of each session; None if the vault is used by itself
    merges: bool  #: whether a job merges new memories with those that say the same
    version_limit: VersionLimit | None  #: which earlier versions are kept; None: all
    on_erased: Callable[[], None] | None  #: called after each commit that removed a cube, but for segments
    audits: KeepDeed | None  #: each transaction adds what it did to the audit log, and gives this what is to follow it
    keys: KeyPart  #: the API keys of callers; of a mounted store, those of the store that mounts it
    erasure: ErasurePart  #: the key of receipts, and where copies of the store are
    delegations: DelegationPart  #: the rights that callers passed on to others
    roles: RolePart  #: the roles that identities were granted
    tenant_rules: TenantRulePart  #: the retention rules of whole tenants
    tallies: UserPart  #: how much memory users have
    agents: AgentPart  #: how much memory agents have
    kept_chains: KeptChains  #: what versions of pages tell of pages that go
    views: Views | None  #: decides which cubes a caller may use; None: all of a scope that the gate admits

    @property
    def is_writable(self) -> bool:
        """Whether this process may write the store, as far as it can tell beforehand."""

    def pages_at_once(self, most: int) -> int:
        """Return how many pages one step may change, where it may change so many in a file."""
        ...

    @property
    def audit(self) -> AuditPart:
        """The audit log of the store."""
        ...

    def admit(self, action: Action, scope: Scope | None) -> None:
        """Ask the key and the gate of the caller; a scope of None means the whole store. Raises PermissionDenied."""
        ...

    def read(self, scope: Scope, action: Action = Action.READ) -> AbstractContextManager[Reader]:
        """Open a snapshot of the scope's owner; the gate is asked for the action, which a plan is made for."""
        ...

    def view(self, scope: Scope, beside: Reader | None = None) -> AbstractContextManager[Reader]:
        """Open a snapshot with only the cubes that the caller may read, for what the caller gets to see.

        It is that of `beside`, an open reader of another scope of the tenant, if there is one.
        """
        ...

    def seen(self, scope: Scope, action: Action = Action.READ) -> View | None:
        """Return what decides which cubes of the scope the caller may use; None: all of them."""
        ...

    def write(self, scope: Scope) -> AbstractContextManager[Writer]:
        """Open a transaction on the scope's owner, for `caller.current_action`.

        It waits for other writers, and raises StoreBusy if that takes too long. It is durable when the block ends.
        Raises OutcomeUnknown if the outcome of the commit cannot be found out.
        """
        ...

    def owners(
        self, tenant: str, *, after: tuple[str, str, str] | None = None, limit: int | None = None
    ) -> list[Scope]:
        """Return the scopes of the tenant that hold a cube, by user, agent ("" means every agent) and namespace path.

        `after` and `limit` select a part of the list.
        """
        ...

    def users(self, tenant: str, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Return the users of the tenant who have a cube, in order; `after` and `limit` select a part."""
        ...

    def owners_of(self, tenant: str, user: str | None = None) -> list[Scope]:
        """Return the scopes of a user (default: of all) for which the store has more than deletion records."""
        ...

    def sweep_blobs(self, scope: Scope, drafts: Collection[str] = ()) -> None:
        """Remove the bytes that no cube of the owner refers to: what is due, or else of the `drafts`.

        Raises ObjectsUnreachable. A writer does this after the commit if it deleted references.
        """
        ...

    @property
    def unerased(self) -> Sequence[str]:
        """What erasing rows leaves behind in the files of the database, and what to do about it."""
        ...

    def copy_id(self) -> str | None:
        """The id of this copy of another store, such as a restored backup; None for an original.

        A copy does not use what was derived from the original and kept elsewhere, even if it replaces the original.
        """
        ...

    def waiting(self) -> list[Scope]:
        """Return the owners, of all tenants, with a job that is due or whose lease has expired, and none that is held.

        While another worker holds a job of an owner, no other job of it can be leased. The owner with the oldest such
        job comes first.
        """
        ...

    def claim(
        self, *, lasting: timedelta, limit: int = 1, early: Collection[str] = (), order: Order = list
    ) -> tuple[Scope, list[Job]] | None:
        """Lease the jobs of the next waiting owner that no worker is at; None if there is none.

        `order` sorts the owners of `waiting`. Workers that call this at the same time get different owners. Where
        owners are locked one by one, an owner with a writer is skipped, so nobody waits.
        """
        ...

    def job_signal(self) -> JobSignal:
        """Open the listener that tells a worker about new jobs; close it after use."""
        ...

    def unsettled(self) -> list[Scope]:
        """Return the owners, of all tenants, with pages in STM that an ended process did not assign to segments."""
        ...

    def archiving(self) -> list[Scope]:
        """Return the owners, of all tenants, with archived pages or packs."""
        ...

    def close(self) -> None:
        """Release the store. A second call does nothing."""
        ...
