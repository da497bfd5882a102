"""Guard: what a write may not do to stored memories, whoever asks for it.

A frozen memory keeps its words, its labels and its place until it is thawed; a read-only one keeps its words. What the
program notes beside them still changes: visits, the tier on the way to MTM, the summary of the chain. A state follows
another only as `lifecycle.TRANSITIONS` allows, and only what is asked as ADMINISTER thaws.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memoryos.caller import SYSTEM, Action, Caller, current_action
from memoryos.cube import MemCube, Page
from memoryos.errors import CubeProtected, TransitionRefused
from memoryos.hold import HOLD_ACTS, HoldAct
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import State, Tier
from memoryos.lifecycle import TRANSITIONS, Actor

_FIX = "thaw it first: memory.governance.thaw(id)"

ReadCubes = Callable[[Iterable[str]], Mapping[str, MemCube]]


CORRECTED = "correction"  # the cause if the words that a memory was learned from were corrected


@dataclass(frozen=True, slots=True)
class StateChange:
    """A change of a cube's state that is about to be written; its event says what happened."""

    cube: MemCube  #: as it will be
    before: State
    by: Caller
    cause: str  #: why

    @property
    def detail(self) -> str:
        """What the event says, as JSON."""
        told = {"before": self.before, "after": self.cube.state, "by": self.by.identity, "cause": self.cause}
        return json.dumps(told, ensure_ascii=False)


def state_changes(
    entries: Sequence[Entry], stored: Mapping[str, State], by: Caller, cause: str | None, operation: Operation
) -> list[StateChange]:
    """The changes of state in these entries, where `stored` are the states so far. Raises TransitionRefused."""
    cubes = [entry.cube for entry in entries if stored.get(entry.cube.id, entry.cube.state) is not entry.cube.state]
    found = [
        StateChange(cube, stored[cube.id], by, cause or _cause(stored[cube.id], cube, operation)) for cube in cubes
    ]
    for one in found:
        _check(one)
    return found


def check_contents(
    entries: Sequence[Entry], operation: Operation, stored: Mapping[str, State], read: ReadCubes
) -> None:
    """Refuse to change what a frozen memory says, and the words of a read-only one. Raises CubeProtected."""
    frozen = [one.cube for one in entries if stored.get(one.cube.id) is State.FROZEN]
    read_only = [one.cube for one in entries if operation is Operation.REVISE and one.cube.is_read_only]
    before = read(cube.id for cube in (*frozen, *read_only)) if frozen or read_only else {}
    for cube in frozen:
        if cube.id in before and _kept(before[cube.id]) != _kept(cube):
            raise CubeProtected(f"the memory {cube.id} is frozen, and nothing was changed: {_FIX}", memory_id=cube.id)
        if cube.tier is Tier.ARCHIVE and cube.id in before and before[cube.id].tier is not Tier.ARCHIVE:
            raise CubeProtected(f"the memory {cube.id} is frozen and cannot be evicted: {_FIX}", memory_id=cube.id)
    for cube in read_only:
        if cube.id in before and before[cube.id].text != cube.text:
            raise CubeProtected(
                f"the memory {cube.id} is read-only, and nothing was changed: publish a new version and accept it",
                memory_id=cube.id,
            )


def check_deletion(stored: Mapping[str, State]) -> None:
    """Refuse to delete frozen memories. Raises CubeProtected."""
    for cube_id, state in stored.items():
        if state is State.FROZEN:
            raise CubeProtected(f"the memory {cube_id} is frozen, and nothing was deleted: {_FIX}", memory_id=cube_id)


def check_hold_act(act: HoldAct, by: Caller) -> None:
    """Refuse what this caller may not do with a hold. Raises TransitionRefused."""
    if _actor(by) not in HOLD_ACTS[act]:
        raise TransitionRefused(f"background work may not {act.value} a legal hold; nothing was changed")


def _cause(before: State, after: MemCube, operation: Operation) -> str:
    """Why a state changes if nobody said it: use is written together with whatever else is written of a cube."""
    if after.is_withdrawn:
        return CORRECTED
    is_use = after.state is State.ACTIVATED and before in (State.GENERATED, State.ARCHIVED)
    return (Operation.VISIT if is_use else operation).value


def _actor(by: Caller) -> Actor:
    return Actor.PROGRAM if by is SYSTEM else Actor.CALLER


def _check(one: StateChange) -> None:
    actor = _actor(one.by)
    if actor not in TRANSITIONS.get((one.before, one.cube.state), frozenset()):
        raise TransitionRefused(
            f"the memory {one.cube.id} is {one.before.value} and cannot become {one.cube.state.value}"
            + (" by background work" if actor is Actor.PROGRAM else "")
            + "; nothing was changed",
            memory_id=one.cube.id,
        )
    if one.before is State.FROZEN and current_action() is not Action.ADMINISTER:
        raise CubeProtected(
            f"the memory {one.cube.id} is frozen, and nothing was changed: {_FIX}", memory_id=one.cube.id
        )


def _kept(cube: MemCube) -> MemCube:
    """The cube without what the program may change of a frozen one."""
    payload = cube.payload
    if isinstance(payload, Page):
        payload = replace(payload, chain_summary="", chain_written="")
    behaviour = replace(
        cube.behaviour, last_access=cube.descriptive.recorded_at, visits=0, interactions=0, fingerprint=()
    )
    return replace(cube, tier=Tier.STM, state=State.FROZEN, mark=None, payload=payload, behaviour=behaviour)
