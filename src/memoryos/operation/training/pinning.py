"""Pinning: an earlier version of an adapter is used again, until another one is trained on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from uuid_utils.compat import uuid7

from memoryos.built_memory import AdapterStage
from memoryos.caller import Action
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.authors import authored
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.operation.calls.permission import check_stored
from memoryos.operation.training.adapter_cubes import adapter_in, ready_version, versions_of
from memoryos.operation.training.wanted_adapter import change_wanted
from memoryos.scope import Scope


def pin(vault: Vault, place: Scope, name: str, number: int, detail: str | None = None) -> MemCube:
    """Use that version, and return it; `detail` is for its event. Raises NotFound, PermissionDenied."""
    with vault.view(place) as reader:
        ready_version(reader, name, number)  # for who may not read it, there is none
    found: list[MemCube] = []

    def tell(writer: Writer) -> None:
        found.append(ready_version(writer, name, number))
        if detail is not None:
            writer.update([Entry(one) for one in found], Operation.REFRESH, detail=authored(detail))

    stop_training(vault, place, name, {"pinned": number}, tell)
    return found[-1]


def stop_training(
    vault: Vault,
    place: Scope,
    name: str,
    changed: Mapping[str, object],
    tell: Callable[[Writer], None] = lambda _: None,
) -> None:
    """Change these fields of what is wanted, and drop a training that is under way, in whatever process."""
    with vault.write(place) as writer:
        check_change(vault, place, writer, name)
        writer.delete([one.id for one in begun(writer, name)])
        last = max((adapter_in(one).number for one in versions_of(writer, name)), default=0)
        change_wanted(writer, name, is_due=False, demand=str(uuid7()), last=last, **changed)
        tell(writer)


def check_change(vault: Vault, place: Scope, writer: Writer, name: str) -> None:
    """Raise PermissionDenied unless the caller may change all versions."""
    check_stored(vault, place, writer, [one.id for one in versions_of(writer, name)], Action.WRITE)


def begun(reader: Reader, name: str) -> list[MemCube]:
    """The checkpoints of an adapter."""
    return [one for one in versions_of(reader, name) if adapter_in(one).stage is AdapterStage.TRAINING]
