"""A KV state and an adapter as cubes with bytes, without a model."""

from __future__ import annotations

from datetime import timedelta

from uuid_utils.compat import uuid7

from memoryos.built_memory import Activation, Blob, Parameter
from memoryos.clock import Clock
from memoryos.cube import Behaviour, Descriptive, MemCube, Payload
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind
from memoryos.infrastructure.vault.stored_blob import StoredBlob
from memoryos.kinds import Origin, SemanticType, Tier


def put_built(vault: Vault, source: MemCube, clock: Clock) -> tuple[MemCube, MemCube]:
    """Store a KV state and an adapter that have the words of a memory."""
    sources, refs = ((source.id, source.version.number),), [BlobRef.of(one) for one in (b"state", b"adapter")]
    state, adapter = (Blob(sha256=ref.sha256, size_bytes=ref.size, format="test") for ref in refs)
    payloads: list[Payload] = [
        Activation(model="tiny", text=source.text, tokens=8, versions=sources, blob=state),
        Parameter(model="tiny", method="lora", modules=("q_proj",), rank=8, name="home", blob=adapter),
    ]
    built = [_cube(one, source, clock) for one in payloads]
    with vault.write(source.scope) as writer:
        blobs = [StoredBlob(str(uuid7()), ref.sha256, ref.size, None) for ref in refs]
        writer.blobs.begin(blobs, remove_at=clock() + timedelta(hours=1))
        writer.insert([Entry(one) for one in built])
        writer.link([Link(one.id, LinkKind.COMPUTED_FROM, source.id) for one in built])
    return built[0], built[1]


def _cube(payload: Payload, source: MemCube, clock: Clock) -> MemCube:
    now = clock()
    return MemCube(
        id=str(uuid7()),
        scope=source.scope.owner,
        tier=Tier.LPM,
        payload=payload,
        descriptive=Descriptive(
            event_at=now,
            recorded_at=now,
            updated_at=now,
            origin=Origin.INFERENCE,
            semantic_type=SemanticType.TASK_PROMPT,
            title="me",
            provenance=(source.id,),
        ),
        behaviour=Behaviour(last_access=now),
    )
