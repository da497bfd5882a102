"""States: what callers change of the life of a memory: freeze it, thaw it, let it expire.

Which state may follow which is in `lifecycle.TRANSITIONS`, and the vault checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import State
from memoryos.operation.correction.protectors import refuse_ends
from memoryos.operation.correction.revised import refuse_absorbed
from memoryos.operation.scheduler.step import Step, take
from memoryos.scope import Scope


def freeze(vault: Vault, home: Scope, cube_id: str, cause: str) -> None:
    """Freeze a memory. Raises NotFound, TransitionRefused, and CubeProtected if another one has taken it in."""

    def plan(reader: Reader) -> Step:
        cube = _present(reader, cube_id)
        refuse_absorbed(reader, cube)
        changed = [] if cube.is_frozen else [Entry(replace(cube, state=State.FROZEN)).prepared]
        return Step(lambda writer: writer.update(changed, Operation.REFRESH, cause=cause), [cube_id])

    take(vault, home, plan)


def expire(vault: Vault, home: Scope, ids: Sequence[str], cause: str) -> None:
    """Let memories expire in one step. Raises NotFound, and CubeProtected if one of them may not go."""
    take(vault, home, lambda reader: state_step(reader, ids, State.EXPIRED, cause))


def state_step(reader: Reader, ids: Sequence[str], state: State, cause: str) -> Step:
    """Give memories another state, in one step. Raises NotFound, and CubeProtected if one that expires may not go.

    Those that have it stay as they are, and so does a page to be archived that another has taken in.
    """
    stays = (state, State.MERGED) if state is State.ARCHIVED else (state,)
    cubes = [_present(reader, one) for one in ids]
    changed = [Entry(replace(cube, state=state)).prepared for cube in cubes if cube.state not in stays]
    # Again: a hold may have come since the caller looked.
    reached = refuse_ends(reader.whole, ids) if state is State.EXPIRED else frozenset(ids)
    held = reader.whole.retention.held(reached)

    def write(writer: Writer) -> None:
        writer.update(changed, Operation.REFRESH, cause=cause)

    return Step(write, reached, holds=lambda writer: writer.retention.held(reached) == held)


def thaw(vault: Vault, home: Scope, cube_id: str, cause: str) -> MemCube:
    """Give a frozen memory the state that it had before. Raises NotFound."""
    thawed: list[MemCube] = []

    def plan(reader: Reader) -> Step:
        cube = _present(reader, cube_id)
        thawed[:] = [replace(cube, state=_before_freezing(reader, cube_id)) if cube.is_frozen else cube]
        changed = [Entry(one).prepared for one in thawed if one != cube]
        return Step(lambda writer: writer.update(changed, Operation.REFRESH, cause=cause), [cube_id])

    take(vault, home, plan)
    return thawed[0]


def _present(reader: Reader, cube_id: str) -> MemCube:
    cube = reader.one(cube_id)
    if cube is None:
        raise NotFound(f"there is no memory {cube_id!r} of this user and agent")
    return cube


def _before_freezing(reader: Reader, cube_id: str) -> State:
    """The state before the memory was frozen; one that was frozen in another store has no record of it."""
    states = [one.before for one in reader.transitions(cube_id) if one.after is State.FROZEN]
    return states[-1] if states else State.GENERATED
