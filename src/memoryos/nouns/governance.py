"""Governance: what may be done with the memories of one owner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from memoryos import arguments
from memoryos.about import about
from memoryos.caller import NAME_LIMIT, Action, Caller, doing
from memoryos.cube import MemCube
from memoryos.delegation import Delegation
from memoryos.errors import InvalidInput, NotFound
from memoryos.kinds import State
from memoryos.lifecycle import Transition
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.correction.states import set_state, thaw
from memoryos.policy.policy_decision import Decision
from memoryos.scope import Scope
from memoryos.text import checked_text

if TYPE_CHECKING:
    from memoryos.policy.policy_gate import PolicyGate

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
        home = self._home(checked, Action.ADMINISTER)
        thawed = doing(Action.ADMINISTER, lambda: thaw(self._engine.vault, home, checked, cause))
        self._engine.housekeeping.queued(self._scope)
        return thawed

    def expire(self, memory_id: str, *, reason: str = "expire") -> MemCube:
        """Let a memory expire now: no search, list or context shows it again. Returns it.

        Its words stay in the store until it is deleted. Raises NotFound, TransitionRefused.
        """
        return self._set(memory_id, State.EXPIRED, reason)

    def transitions(self, memory_id: str) -> Sequence[Transition]:
        """List the changes of a memory's state, oldest first: when, from what to what, by whom and why.

        Raises NotFound.
        """
        checked = arguments.cube_id(memory_id)
        with self._engine.vault.view(self._home(checked)) as reader:
            return reader.transitions(checked)

    def explain(
        self,
        memory_id: str,
        caller: Caller,
        action: Action | str = Action.READ,
        *,
        policies: str | Path | None = None,
    ) -> Decision:
        """Return whether a caller may do something with a memory, and which policies say so. Nothing is done.

        `policies`, a .cedar file or a folder, are asked in place of those of the store. The gate must admit ADMINISTER.
        What was derived from several pages is decided for each of them, and the first refusal is returned. Raises
        NotFound, PermissionDenied, and InvalidInput if there are no policies.
        """
        self._engine.admit(Action.ADMINISTER, self._scope)
        arguments.instance("caller", caller, Caller, "Pass Caller(...)")
        wanted = arguments.one_of("action", action, Action)
        ruling = self._policies(policies).ruling(caller, wanted)
        checked = arguments.cube_id(memory_id)
        with self._engine.vault.read(self._home(checked)) as reader:
            classes = reader.classes([checked])[checked]
        decisions = [ruling.explained(*one) for one in classes]
        return next((one for one in decisions if not one.allowed), decisions[0])

    def delegate(
        self,
        to: str,
        actions: Iterable[Action | str] = (Action.READ,),
        *,
        ttl: timedelta | float | None = None,
        expires_at: datetime | str | None = None,
    ) -> Delegation:
        """Let another caller do with this user's memories what the caller itself may do, until it ends.

        Only a store with policies asks for it. It ends after `ttl` (a timedelta or seconds) or at `expires_at`; one of
        them is needed. What a policy forbids the other caller stays forbidden, and it cannot pass the right on. The
        policies must permit SHARE. Raises PermissionDenied and InvalidInput.
        """
        self._engine.admit(Action.SHARE, self._scope)
        now = self._engine.clock()
        end = about(now, ttl=ttl, expires_at=expires_at).expires_at
        if end is None:
            raise InvalidInput("ttl", "is missing", "Pass e.g. ttl=3600, or expires_at")
        named = (actions,) if isinstance(actions, str) else tuple(actions)
        made = Delegation(
            id=uuid4().hex,
            tenant=self._scope.tenant,
            user=self._scope.user,
            by=self._caller.identity,
            roles=self._caller.roles,
            to=checked_text("to", to, limit=NAME_LIMIT),
            actions=frozenset(arguments.one_of("actions", one, Action) for one in named),
            created_at=now,
            expires_at=end,
        )
        self._engine.vault.delegations.put(made)
        return made

    def delegations(self) -> Sequence[Delegation]:
        """List the rights about this user's memories that were passed on and have not ended, oldest first."""
        self._engine.admit(Action.SHARE, self._scope)
        return self._engine.vault.delegations.of(self._scope)

    def revoke(self, delegation_id: str) -> None:
        """End a right that was passed on, in every process at once. Raises NotFound."""
        self._engine.admit(Action.SHARE, self._scope)
        wanted = arguments.cube_id(delegation_id, field="delegation_id")
        if not self._engine.vault.delegations.remove(self._scope, wanted):
            raise NotFound(f"there is no delegation {delegation_id!r} about the memories of this user")

    def _policies(self, path: str | Path | None) -> PolicyGate:
        from memoryos.policy.policy_files import PolicyFiles  # only stores with policies need them
        from memoryos.policy.policy_gate import PolicyGate

        if path is not None:
            gate = PolicyGate(PolicyFiles(path), self._engine.clock)
            gate.passed_on = self._engine.vault.delegations.to
            return gate
        views = self._engine.vault.views
        if not isinstance(views, PolicyGate):
            raise InvalidInput("policies", "are not set", "Pass a .cedar file, or open the store with `policies`")
        return views

    def _set(self, memory_id: str, state: State, reason: str) -> MemCube:
        checked, cause = arguments.cube_id(memory_id), _reason(reason)
        self._engine.admit(Action.WRITE, self._scope)
        return set_state(self._engine.vault, self._home(checked, Action.WRITE), checked, state, cause)

    def _home(self, memory_id: str, action: Action = Action.READ) -> Scope:
        return self._engine.corrector(self._scope).find(memory_id, action)[1]


def _reason(reason: str) -> str:
    return checked_text("reason", reason, limit=REASON_CHARS)
