"""Protectors: frozen memories and legal holds, which keep others from changing and from going."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from memoryos.errors import CubeProtected
from memoryos.hold import HeldThing
from memoryos.infrastructure.vault.built_cubes import built_on
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import State
from memoryos.operation.correction.rederive import derived_from
from memoryos.operation.correction.removal import pages_with


def refuse_ends(reader: Reader, ids: Sequence[str]) -> set[str]:
    """Raise CubeProtected or OnHold if these memories of one home may not go; returns what may not come on hold."""
    pages = pages_with(reader, ids)
    segments = [link.target for link in reader.targets(pages, LinkKind.MEMBER_OF)]
    return refuse_protected(reader, pages, segments, {*pages, *ids})


def refuse_protected(reader: Reader, pages: Sequence[str], segments: Sequence[str], given: Collection[str]) -> set[str]:
    """Raise CubeProtected for what `Corrector.refuse_frozen` refuses in one home; returns what may not come on hold."""
    derived = derived_from(reader, pages)
    built = built_on(reader, {*given, *segments, *derived})
    reached = {*given, *segments, *derived, *built}
    _refuse_held(reader, given, reached)
    states = reader.states({*reached, *reader.successions(derived)})
    for frozen in (one for one, state in states.items() if state is State.FROZEN):
        reason = "" if frozen in given else ", which depends on it,"
        raise CubeProtected(
            f"the memory {frozen}{reason} is frozen, and nothing was changed: thaw it first", memory_id=frozen
        )
    return reached


def _refuse_held(reader: Reader, given: Collection[str], reached: Iterable[str]) -> None:
    """Raise OnHold if a memory that is given is on hold, or one that is reached is by itself."""
    for cube_id, hold in reader.retention.held(reached).items():
        if cube_id in given or hold.on is HeldThing.MEMORY:
            raise hold.refusal(cube_id)
