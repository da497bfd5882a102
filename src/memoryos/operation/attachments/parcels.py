"""Attachments: the bytes that come with messages go into the object store, and a reference stays in the page.

The bytes are noted, put and flushed before the page that refers to them is stored; see `infrastructure/vault/blobs`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from memoryos.caller import SYSTEM, acting
from memoryos.clock import Clock
from memoryos.cube import Attachment, MemCube, Turn
from memoryos.errors import BlobMissing, InvalidInput, NotFound, StorageError, StoreCorrupt
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.objects.blobs import new_name
from memoryos.infrastructure.vault.blob_part import missing
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.infrastructure.vault.stored_blob import StoredBlob
from memoryos.operation.attachments.attached_file import FileBytes, all_bytes_in, bytes_in, files_of
from memoryos.operation.attachments.data_url import decoded, is_data_url
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.scheduler.step import some_at_a_time
from memoryos.scope import Scope

DRAFT = timedelta(hours=1)  # that bytes may lie in the object store before a page refers to them
NOTED_AT_ONCE = 500  # objects in one transaction
TRIES = 3  # while the last page that refers to the same bytes is deleted


@dataclass(frozen=True, slots=True)
class Parcel:
    """Bytes that came with a turn."""

    data: bytes
    media_type: str | None


Parcels = Mapping[str, Parcel]  # by their sha256


def taken_out(turns: Sequence[Turn], most: int) -> tuple[Sequence[Turn], Parcels]:
    """The turns with references instead of bytes, and the bytes. Raises InvalidInput for more than `most`."""
    parcels: dict[str, Parcel] = {}
    if not any(is_data_url(one.uri) for turn in turns for one in turn.attachments):
        return turns, parcels

    def lightened(one: Attachment) -> Attachment:
        if one.uri is None or not is_data_url(one.uri):
            return one
        data, media_type = decoded(one.uri, "attachment.uri")
        if len(data) > most:
            problem = f"has {len(data):,} bytes, the limit is {most:,}"
            raise InvalidInput("attachment", problem, "Pass its URL, or raise the setting max_attachment_bytes")
        parcel = Parcel(data, one.media_type or media_type)
        ref = BlobRef.of(data)
        parcels.setdefault(ref.sha256, parcel)
        return replace(one, uri=ref.uri, media_type=parcel.media_type)

    return [replace(turn, attachments=tuple(map(lightened, turn.attachments))) for turn in turns], parcels


def check_named(vault: Vault, owner: Scope, turns: Sequence[Turn], parcels: Parcels) -> None:
    """Raise BlobMissing if turns name bytes that did not come with them and that the caller may not read elsewhere."""
    refs = (BlobRef.read(one.uri) for turn in turns for one in turn.attachments)
    named = sorted({ref.sha256 for ref in refs if ref}.difference(parcels))
    if not named:
        return
    with vault.view(owner) as reader:
        holders = reader.blobs.holders(named)
        readable = reader.permitted(one for some in holders.values() for one in some)
    for sha in named:
        if readable.isdisjoint(holders.get(sha, ())):
            raise missing(sha)


def with_parcels(
    vault: Vault,
    owner: Scope,
    parcels: Parcels,
    clock: Clock,
    store: Callable[[], list[str]],
    is_wanted: Callable[[Reader], bool] = lambda _: True,
) -> list[str]:
    """Put the bytes into the object store, then store what refers to them; nothing, if they are not wanted any more.

    Bytes that nothing refers to are removed whatever happened: they may tell what was erased meanwhile.
    """
    if not parcels:
        return store()
    for tries_left in reversed(range(TRIES)):
        with suppress(BlobMissing) if tries_left else nullcontext(), _drafts(vault, owner) as drafts:
            if not _put(vault, owner, parcels, clock, drafts, is_wanted):
                return []
            return store()
    raise AssertionError("unreachable")


@contextmanager
def _drafts(vault: Vault, owner: Scope) -> Iterator[list[str]]:
    """A list for the names of the objects that are begun; those that nothing refers to at the end are removed."""
    names: list[str] = []
    try:
        yield names
    finally:
        if names:
            with suppress(StorageError):  # otherwise a job does it later
                acting(SYSTEM, lambda: vault.sweep_blobs(owner, names))


def bytes_of(vault: Vault, scope: Scope, page: MemCube, wanted: str) -> FileBytes:
    """The bytes of a page's attachment. Raises NotFound, StoreCorrupt, ObjectsUnreachable."""
    file = next((one for one in files_of(page) if one.id == wanted), None)
    if file is None:
        raise NotFound(f"the page {page.id!r} has no attachment {wanted!r} with bytes")
    if (data := bytes_in(page, wanted)) is None:
        data = _read(vault, scope, _known(vault, scope, wanted))
    return FileBytes(wanted, file.media_type, data)


def all_bytes_of(vault: Vault, scope: Scope, pages: Collection[MemCube]) -> Iterator[FileBytes]:
    """The bytes of all attachments of these pages, each once. Raises NotFound, StoreCorrupt, ObjectsUnreachable."""
    found = {one.id: one for page in pages for one in files_of(page) if one.id}
    inside = dict(own for page in pages for own in all_bytes_in(page))
    with vault.read(scope) as reader:
        known = reader.blobs.kept(found)
    for sha, file in found.items():
        data = inside.get(sha)
        if data is None:
            data = _read(vault, scope, known.get(sha) or _known(vault, scope, sha))
        yield FileBytes(sha, file.media_type, data)


def _read(vault: Vault, scope: Scope, blob: StoredBlob) -> bytes:
    try:
        return vault.blobs.read(blob.name)
    except StoreCorrupt:
        again = _known(
            vault, scope, blob.sha256
        )  # it may have been deleted meanwhile, and come back under another name
        if again.name == blob.name:
            raise
        return vault.blobs.read(again.name)


def _known(vault: Vault, scope: Scope, wanted: str) -> StoredBlob:
    with vault.read(scope) as reader:
        found = reader.blobs.kept([wanted]).get(wanted)
    if found is None:
        raise NotFound(f"the attachment {wanted!r} is not of this user and agent")
    return found


def _put(
    vault: Vault,
    owner: Scope,
    parcels: Parcels,
    clock: Clock,
    drafts: list[str],
    is_wanted: Callable[[Reader], bool],
) -> bool:
    """Put the bytes that are not there yet, and note their names; return whether they are wanted still."""
    if not vault.blobs.are_kept:
        fix = "Set MEMORYOS_OBJECT_STORE to where they shall lie, or pass URLs"
        raise InvalidInput("attachment", "has bytes, but this store has no place for them", fix)
    for some in some_at_a_time(list(parcels), NOTED_AT_ONCE):
        with vault.write(owner) as writer:
            if not is_wanted(writer):
                return False
            known = writer.blobs.kept(some)
            new = [_drafted(sha, parcels[sha]) for sha in some if sha not in known]
            if new:
                writer.blobs.begin(new, remove_at=clock() + DRAFT)
                writer.enqueue(JobKind.SWEEP, not_before=clock() + DRAFT)
                drafts += [blob.name for blob in new]
        for blob in new:
            vault.blobs.put(blob.name, parcels[blob.sha256].data)
        if new:
            with vault.write(owner) as writer:
                writer.blobs.stored([blob.name for blob in new], remove_at=clock() + 2 * DRAFT)
                writer.enqueue(JobKind.SWEEP, not_before=clock() + 2 * DRAFT)
    return True


def _drafted(sha: str, parcel: Parcel) -> StoredBlob:
    return StoredBlob(new_name(sha), sha, len(parcel.data), parcel.media_type)


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Does jobs of the kind SWEEP: removes the bytes that nothing refers to any more."""

    vault: Vault
    at_once: int = 16
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], _goes_on: GoesOn, /) -> Sequence[Job]:
        """Remove the bytes that are due, and add a job for the rest. Raises ObjectsUnreachable."""
        self.vault.sweep_blobs(scope)
        with self.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            if (later := writer.blobs.next_removal()) is not None:
                writer.enqueue(JobKind.SWEEP, not_before=later)
        return ()


def check_place(vault: Vault, what: str) -> None:
    """Raise InvalidInput if a store has no place for bytes of that kind, before any are made."""
    if not vault.blobs.are_kept:
        fix = "Set MEMORYOS_OBJECT_STORE to where they shall lie, such as file:///srv/objects"
        raise InvalidInput("object_store", f"is not set, so this store has no place for {what}", fix)
