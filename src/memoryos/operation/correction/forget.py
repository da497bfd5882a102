"""Forgetting: remove everything of an owner, or of one session, in one call (the right to be forgotten).

The pages of a session are removed together, and what also rests on other pages is derived again. An owner is removed
row by row, in short transactions: first memories of every kind, tier and state with all their versions, then jobs,
notes, events and the usage of models. A memory with more versions, passages and links than one transaction may remove
loses them in several, and goes with the last of them. A list of the removed ids stays, which other processes follow.
After a crash, a second call continues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from memoryos.built_memory import ADAPTER_BYTES, STATE_BYTES
from memoryos.errors import CubeProtected, NotFound
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import CubePlace
from memoryos.kinds import Kind, State
from memoryos.operation.correction.branch import stop_making
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.receipt import Receipt
from memoryos.operation.maintenance.cooler import Cooler
from memoryos.operation.recall.sources import Sources
from memoryos.plain import Plain
from memoryos.scope import Scope

AT_ONCE = 24  # memories that go in one transaction, at most
PARTS_AT_ONCE = 350  # rows of memories, with their versions, passages and links, that go in one transaction
CHARS_AT_ONCE = 500_000  # of the documents among them
ROWS_AT_ONCE = 500  # other rows that go in one transaction


@dataclass(frozen=True, slots=True)
class Forgotten(Plain):
    """Counts of what was removed, and of what a check found afterwards."""

    memories: Mapping[str, int] = field(default_factory=dict)  #: removed memories by kind
    places: Mapping[str, int] = field(default_factory=dict)  #: removed rows by table, and packs
    receipt: Receipt | None = None  #: a signed record of it
    rows: int = 0  #: removed jobs, notes, events and counts of model calls
    packs: int = 0  #: removed packs of the object store
    left: Mapping[str, int] = field(
        default_factory=dict
    )  #: rows found afterwards, by table, and packs that may still come

    def __add__(self, other: Forgotten) -> Forgotten:
        memories, left = Counter(self.memories) + Counter(other.memories), Counter(self.left) + Counter(other.left)
        places = Counter(self.places) + Counter(other.places)
        rows, packs = self.rows + other.rows, self.packs + other.packs
        return Forgotten(dict(memories), dict(places), None, rows, packs, dict(left))

    @property
    def is_complete(self) -> bool:
        """Whether the check found nothing."""
        return not self.left


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Removes owners and sessions of one store."""

    vault: Vault
    sources: Sources
    cooler: Cooler

    def owner(self, owner: Scope, corrector: Corrector) -> Forgotten:
        """Remove everything of an owner. Raises ObjectsUnreachable if objects cannot be removed yet: call again.

        Raises CubeProtected, and removes nothing, if a memory is frozen.
        """
        self.refuse_frozen(owner)
        if owner.is_branch:
            with self.vault.write(owner) as writer:
                stop_making(writer)
        withdrawn = self._withdrawn(owner, corrector) if corrector.shares_persona else Counter[str]()
        with self.vault.read(owner) as reader:
            before = Counter(reader.remains())
        gone = self._memories(owner) + withdrawn
        rows = self._rows(owner)
        drafts = self.cooler.discard_drafts(owner)
        packs = drafts.removed + self.cooler.sweep(owner)
        self.vault.sweep_blobs(owner)
        self.sources.forget(owner)
        with self.vault.read(owner) as reader:
            left = Counter(reader.remains()) + Counter(packs=drafts.coming)
        places = before - left + Counter(cubes=withdrawn.total(), packs=packs)
        return Forgotten(dict(gone), dict(places), rows=rows, packs=packs, left=dict(left))

    def session(self, scope: Scope, corrector: Corrector) -> Forgotten:
        """Remove the pages and facts of a session, and what rests on them alone.

        Raises CubeProtected, and removes nothing, if one of these or a memory that depends on them is frozen.
        """
        doomed = list(self._placed(scope, scope.session))
        ids = [one.id for one in doomed]
        corrector.refuse_frozen([one.id for one in doomed if one.kind is Kind.PAGE], ids)
        files = self._files(corrector, ids)
        gone = self._gone(corrector, ids, lambda: self._delete_placed(corrector, doomed))
        left = Counter(one.kind.value for one in self._placed(scope, scope.session)) + self._bytes(corrector, files)
        return Forgotten(dict(gone), +Counter(cubes=gone.total()), left=dict(left)) + self.drafts(scope.owner)

    def memory(self, corrector: Corrector, memory_id: str) -> Forgotten:
        """Remove a memory, and what rests on it alone. Raises NotFound, CubeProtected and ObjectsUnreachable."""
        corrector.removable(memory_id)  # before anything is read or removed that depends on it
        ids = [*corrector.absorbed([memory_id]), memory_id]
        files = self._files(corrector, corrector.dependents(ids))
        gone = self._gone(corrector, ids, lambda: self._delete_all(corrector, ids))
        left = Counter(kind.value for kind in self._kinds(corrector, [memory_id]).values())
        left += self._bytes(corrector, files)
        told = Forgotten(dict(gone), {"cubes": gone.total()}, left=dict(left))
        return told + self.drafts(corrector.scope.owner)

    def drafts(self, owner: Scope) -> Forgotten:
        """Remove the packs of an owner that are being written: they may have what was erased."""
        removed, coming = self.cooler.discard_drafts(owner)
        return Forgotten(places=Counter(packs=removed), packs=removed, left=Counter(packs=coming))

    def refuse_frozen(self, owner: Scope) -> None:
        """Raise CubeProtected if a memory of the owner is frozen, or OnHold if anything is on hold."""
        with self.vault.read(owner) as reader:
            reader.retention.refuse_all("removed")
            frozen = [cube.id for kind in Kind for cube in reader.cubes(kind, states=[State.FROZEN])]
        if frozen:
            more = f" and {len(frozen) - 1:,} more" if len(frozen) > 1 else ""
            raise CubeProtected(f"frozen: the memory {frozen[0]}{more}; nothing was removed: thaw first")

    def _withdrawn(self, owner: Scope, corrector: Corrector) -> Counter[str]:
        """Remove what a shared persona has from pages of this owner alone; returns how many went, by kind."""
        pages = [one.id for one in self._placed(owner) if one.kind is Kind.PAGE]
        corrector.refuse_frozen(pages)
        return self._gone(corrector, pages, lambda: corrector.withdraw(pages))

    def _gone(self, corrector: Corrector, ids: Sequence[str], remove: Callable[[], object]) -> Counter[str]:
        """Remove memories; returns how many of them, and of what depends on them, are gone, by kind.

        What others delete meanwhile does not count.
        """
        before = self._kinds(corrector, corrector.dependents(ids))
        remove()
        self.sources.follow_erasure(corrector.scope.owner)
        self.sources.let_go(corrector.scope.owner)
        after = self._kinds(corrector, before)
        return Counter(kind.value for cube_id, kind in before.items() if cube_id not in after)

    def _files(self, corrector: Corrector, ids: Collection[str]) -> set[str]:
        """The sha256 of the attachments of these memories."""
        found = set[str]()
        for home in corrector.homes:
            with self.vault.read(home) as reader:
                found |= reader.blobs.named_by(ids)
        return found

    def _bytes(self, corrector: Corrector, files: Collection[str]) -> Counter[str]:
        """How many objects in no use may have what was erased: its attachments, and what was built of it.

        They are being stored or removed, or a process that died left them. They go within the hour. Other attachments
        that somebody stores meanwhile have nothing of it.
        """
        found = Counter[str]()
        for home in corrector.homes:
            with self.vault.read(home) as reader:
                unused = reader.blobs.unused()
            built = (one for one in unused if one.media_type in (STATE_BYTES, ADAPTER_BYTES) or one.sha256 in files)
            found["blobs"] += sum(1 for _ in built)
        return +found

    def _kinds(self, corrector: Corrector, ids: Collection[str]) -> dict[str, Kind]:
        """The kinds of those of these memories that exist."""
        found: dict[str, Kind] = {}
        for home in corrector.homes:
            with self.vault.read(home) as reader:
                found |= reader.kinds(ids)
        return found

    def _placed(self, scope: Scope, session: str | None = None) -> Iterator[CubePlace]:
        after = 0
        while True:
            with self.vault.read(scope.owner) as reader:
                found = reader.placed(after=after, session=session)
            yield from found
            if not found:
                return
            after = found[-1].position

    def _delete_all(self, corrector: Corrector, ids: Sequence[str]) -> None:
        *others, last = ids
        for one in others:
            with suppress(NotFound):  # it went with another one
                corrector.delete(one)
        corrector.delete(last)

    def _delete_placed(self, corrector: Corrector, doomed: Sequence[CubePlace]) -> None:
        corrector.delete_pages([one.id for one in doomed if one.kind is Kind.PAGE])
        for one in doomed:
            if one.kind is not Kind.PAGE:
                with suppress(NotFound):  # it went with another one
                    corrector.delete(one.id)

    def _memories(self, owner: Scope) -> Counter[str]:
        with self.vault.read(owner) as reader:
            is_known = bool(reader.placed(limit=1))
        if is_known:  # else that it was seen to would be noted of an owner without memories
            self.vault.kept_chains.forget(owner)
        gone: Counter[str] = Counter()
        while True:
            with self.vault.write(owner) as writer:
                kinds = {one.id: one.kind.value for one in writer.placed(limit=AT_ONCE)}
                removed = writer.discard(list(kinds), rows=PARTS_AT_ONCE, characters=CHARS_AT_ONCE)
            if not kinds:
                return gone
            gone.update(kinds[cube_id] for cube_id in removed)

    def _rows(self, owner: Scope) -> int:
        total = 0
        while True:
            with self.vault.write(owner) as writer:
                removed = writer.purge(ROWS_AT_ONCE)
            if not removed:
                return total
            total += removed
