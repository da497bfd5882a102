"""Adapter cubes: the versions of adapters as memories, with their bytes in the object store.

A checkpoint of a training is a version, too: what destroys the adapter of an erased memory destroys its checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from uuid_utils.compat import uuid7

from memoryos.built_memory import ADAPTER_BYTES, AdapterStage, Blob, Parameter
from memoryos.clock import Clock
from memoryos.cube import Access, Behaviour, Descriptive, Governance, Lifespan, MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault.built_cubes import replace_built
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind
from memoryos.kinds import AccessMode, Kind, Origin, SemanticType, Tier
from memoryos.operation.attachments.parcels import Parcel, with_parcels
from memoryos.operation.training.training_sources import stale_source
from memoryos.operation.training.wanted_adapter import WantedAdapter, change_wanted, wanted_adapters
from memoryos.scope import Scope

PACK, CHECKPOINT = "peft", "checkpoint"  # formats of the bytes
KEPT = 3  # versions of one adapter that passed the gate
SETTLED = (AdapterStage.READY, AdapterStage.REFUSED)


def versions_of(reader: Reader, name: str) -> list[MemCube]:
    """The versions of an adapter that stand, oldest first."""
    found = [cube for cube in reader.cubes(Kind.PARAMETER) if adapter_in(cube).name == name]
    return sorted(found, key=lambda cube: adapter_in(cube).number)


def seen_adapters(reader: Reader) -> dict[str, WantedAdapter]:
    """The wanted adapters, without those whose versions are hidden from the caller."""
    known = wanted_adapters(reader)
    return {
        name: one for name, one in known.items() if versions_of(reader, name) or not versions_of(reader.whole, name)
    }


def ready_version(reader: Reader, name: str, number: int | None = None) -> MemCube:
    """The latest version that passed the gate, or the one with that number. Raises NotFound."""
    ready = [one for one in versions_of(reader, name) if adapter_in(one).stage is AdapterStage.READY]
    found = next((one for one in reversed(ready) if number in (None, adapter_in(one).number)), None)
    if found is None:
        told = "" if number is None else f" {number}"
        raise NotFound(f"no version{told} of the adapter {name!r} can be used: see `memoryos adapters list`")
    return found


def used_version(reader: Reader, wanted: WantedAdapter) -> MemCube:
    """The version that is used: the pinned one if it stands, and else the latest. Raises NotFound."""
    numbers = [adapter_in(one).number for one in versions_of(reader, wanted.name)]
    return ready_version(reader, wanted.name, wanted.pinned if wanted.pinned in numbers else None)


def adapter_in(cube: MemCube) -> Parameter:
    """The payload of an adapter."""
    if not isinstance(cube.payload, Parameter):
        raise NotFound(f"the memory {cube.id!r} is no adapter")
    return cube.payload


@dataclass(frozen=True, slots=True)
class AdapterShelf:
    """Stores and reads the versions of one owner's adapters."""

    vault: Vault
    scope: Scope
    clock: Clock

    def store(
        self, adapter: Parameter, data: bytes | None, sources: Sequence[MemCube], wanted: WantedAdapter
    ) -> MemCube:
        """Store a version in the place of its checkpoint, and return it. Raises StoreFull.

        Nothing is stored if the adapter is no longer wanted as it was when the training began.
        """

        def is_wanted(reader: Reader) -> bool:
            return self._is_wanted(reader, adapter, wanted, sources)

        return self._stored(adapter, data, sources, is_wanted, is_wanted)

    def is_wanted(self, adapter: Parameter, wanted: WantedAdapter, sources: Sequence[MemCube]) -> bool:
        """Whether a version that is under way is still wanted as it was, and its sources say what they said."""
        with self.vault.read(self.scope) as reader:
            return self._is_wanted(reader, adapter, wanted, sources)

    def _is_wanted(self, reader: Reader, adapter: Parameter, wanted: WantedAdapter, sources: Sequence[MemCube]) -> bool:
        is_stale = stale_source(reader, adapter, self.clock(), sources) is not None
        return not is_stale and _is_still_wanted(reader, adapter, wanted)

    def add(self, adapter: Parameter, data: bytes, admits: Callable[[Writer], bool]) -> MemCube:
        """Store a version that was trained elsewhere, in the transaction of what `admits` writes. Raises StoreFull."""
        return self._stored(adapter, data, (), admits)

    def _stored(
        self,
        adapter: Parameter,
        data: bytes | None,
        sources: Sequence[MemCube],
        admits: Callable[[Writer], bool],
        is_wanted: Callable[[Reader], bool] = lambda _: True,
    ) -> MemCube:
        parcels = {}
        if data is not None:
            ref = BlobRef.of(data)
            form = PACK if adapter.stage is AdapterStage.READY else CHECKPOINT
            adapter = replace(adapter, blob=Blob(sha256=ref.sha256, size_bytes=ref.size, format=form))
            parcels[ref.sha256] = Parcel(data, ADAPTER_BYTES)
        cube = self._cube(adapter, sources)
        store = partial(self._written, cube, sources, admits)
        with_parcels(self.vault, self.scope, parcels, self.clock, store, is_wanted)
        return cube

    def read(self, cube: MemCube) -> bytes:
        """Return the checked bytes of a version. Raises NotFound, StoreCorrupt, ObjectsUnreachable."""
        blob = adapter_in(cube).blob
        with self.vault.read(self.scope) as reader:
            known = reader.blobs.kept([blob.sha256]).get(blob.sha256) if blob else None
        if known is None:
            raise NotFound(f"the adapter {cube.id!r} has no bytes: it was refused, or a source of it changed")
        return self.vault.blobs.read(known.name)

    def remove(self, cubes: Sequence[MemCube]) -> None:
        """Remove versions with their bytes, but for those that are frozen or on hold."""
        if cubes:
            with self.vault.write(self.scope) as writer:
                replace_built(writer, [one.id for one in cubes])

    def _written(self, cube: MemCube, sources: Sequence[MemCube], admits: Callable[[Writer], bool]) -> list[str]:
        adapter = adapter_in(cube)
        with self.vault.write(self.scope) as writer:
            if not admits(writer):
                return []
            known = versions_of(writer, adapter.name)
            replaced = [one.id for one in known if adapter_in(one).number == adapter.number]
            ready = [one.id for one in known if adapter_in(one).stage is AdapterStage.READY]
            writer.insert([Entry(cube)])
            writer.link([Link(cube.id, LinkKind.COMPUTED_FROM, one.id) for one in sources])
            if adapter.stage is AdapterStage.READY:
                replaced += ready[: max(0, len(ready) + 1 - KEPT)]
            replace_built(writer, replaced)
            change_wanted(writer, adapter.name, last=adapter.number, is_due=adapter.stage is AdapterStage.TRAINING)
        return [cube.id]

    def _cube(self, adapter: Parameter, sources: Sequence[MemCube]) -> MemCube:
        now = self.clock()
        ends = [end for one in sources if (end := one.governance.lifespan.expires_at) is not None]
        tags = set(sources[0].tags).intersection(*(one.tags for one in sources)) if sources else set()
        sensitive = sorted({each for one in sources for each in one.governance.sensitivity})
        modes = {one.governance.access.mode for one in sources}
        mode = modes.pop() if len(modes) == 1 else AccessMode.PRIVATE
        return MemCube(
            id=str(uuid7()),
            scope=self.scope.owner,
            tier=Tier.LPM,
            payload=adapter,
            descriptive=Descriptive(
                event_at=now,
                recorded_at=now,
                updated_at=now,
                origin=Origin.FINETUNING if sources else Origin.IMPORT,
                semantic_type=SemanticType.CAPABILITY,
                tags=tuple(sorted(tags)),
                provenance=tuple(one.id for one in sources),
                derived_by=f"lora:{adapter.model}",
            ),
            behaviour=Behaviour(last_access=now),
            governance=Governance(
                access=Access(mode=mode),
                lifespan=Lifespan(expires_at=min(ends, default=None)),
                sensitivity=tuple(sensitive),
            ),
        )


def _is_still_wanted(reader: Reader, adapter: Parameter, wanted: WantedAdapter) -> bool:
    """Whether nobody deleted or withdrew the adapter, asked for another one, or stored this version meanwhile."""
    now = wanted_adapters(reader).get(wanted.name)
    others = [one for cube in versions_of(reader, wanted.name) if (one := adapter_in(cube)).number == adapter.number]
    is_taken = any(one.stage in SETTLED for one in others)
    return now is not None and not now.is_withdrawn and now.demand == wanted.demand and not is_taken
