"""Governance: what may be done with the memories of one owner."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.caller import Action
from memoryos.cube import MemCube
from memoryos.kinds import State
from memoryos.lifecycle import Transition
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.correction.states import set_state, thaw
from memoryos.scope import Scope
from memoryos.text import checked_text

REASON_CHARS = 256


@door
class MemGovernance(Noun):
    """The states of one owner's memories (MemLifecycle), and who changed them."""

    def freeze(self, memory_id: str, *, reason: str = "freeze") -> MemCube:
        """Freeze a memory: nothing changes, deletes, evicts or expires it until it is thawed. Returns it.

        It is still found, and visits are counted. What would change it is refused with CubeProtected: an update, the
        deletion of a page that it rests on, `forget`. A statement that contradicts a frozen fact becomes a proposal.
        `reason` is kept with the transition. Raises NotFound, and TransitionRefused if the memory has expired.
        """
        return self._set(memory_id, State.FROZEN, reason)

    def thaw(self, memory_id: str, *, reason: str = "thaw") -> MemCube:
        """Give a frozen memory the state that it had before, and return it. The gate must admit ADMINISTER.

        Raises NotFound, PermissionDenied.
        """
        self._engine.admit(Action.ADMINISTER, self._scope)
        checked, cause = arguments.cube_id(memory_id), _reason(reason)
        thawed = thaw(self._engine.vault, self._home(checked), checked, cause)
        for home in {self._scope.owner, thawed.scope.owner}:
            self._engine.housekeeping.queued(home)
        return thawed

    def expire(self, memory_id: str, *, reason: str = "expire") -> MemCube:
        """Let a memory expire now: no search, list or context shows it again. Returns it.

        A background job then removes it from the store, with what rests on it alone, as `delete` would. Raises
        NotFound, TransitionRefused.
        """
        expired = self._set(memory_id, State.EXPIRED, reason)
        self._engine.housekeeping.queued(expired.scope)
        return expired

    def transitions(self, memory_id: str) -> Sequence[Transition]:
        """List the changes of a memory's state, oldest first: when, from what to what, by whom and why.

        Raises NotFound.
        """
        checked = arguments.cube_id(memory_id)
        with self._engine.vault.read(self._home(checked)) as reader:
            return reader.transitions(checked)

    def _set(self, memory_id: str, state: State, reason: str) -> MemCube:
        checked, cause = arguments.cube_id(memory_id), _reason(reason)
        self._engine.admit(Action.WRITE, self._scope)
        return set_state(self._engine.vault, self._home(checked), checked, state, cause)

    def _home(self, memory_id: str) -> Scope:
        return self._engine.corrector(self._scope).find(memory_id)[1]


def _reason(reason: str) -> str:
    return checked_text("reason", reason, limit=REASON_CHARS)
