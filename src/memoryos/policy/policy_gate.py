"""PolicyGate: asks the policies who may do what; what no policy permits is denied."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Protocol

from memoryos.api_key import STORE_TENANT
from memoryos.caller import OPERATOR, SYSTEM, Action, Caller
from memoryos.clock import Clock
from memoryos.delegation import Delegation
from memoryos.errors import PermissionDenied
from memoryos.policy.delegated import DelegatedRuling
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_request import PolicyRequest
from memoryos.policy.ruling import Reach, Ruling
from memoryos.scope import Scope

_MOST_RULINGS = 256  # that are remembered: one for each caller, context and action

_WHO = '. "operator" is the program that opened the store: permit Role::"administrator"'

_Key = tuple[Caller, Action, datetime | None]
_Passed = tuple[Caller, Action, tuple[Delegation, ...]]


class _Rights(Protocol):
    """What an identity has in a tenant beside what policies say of it."""

    @property
    def delegations(self) -> Sequence[Delegation]: ...

    @property
    def roles(self) -> frozenset[str]: ...


class _NoRights:
    delegations: Sequence[Delegation] = ()
    roles: frozenset[str] = frozenset()


Rights = Callable[[str, str], _Rights]
AnyRuling = Ruling | DelegatedRuling


class PolicyGate:
    """The gate of a store with policies. The work of the program itself is not asked."""

    def __init__(self, files: PolicyFiles, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._lock = Lock()
        self._policies = files.policies()
        self._rulings: OrderedDict[_Key, Ruling] = OrderedDict()
        self._delegated: dict[_Passed, DelegatedRuling] = {}
        self.rights: Rights = lambda identity, tenant: _NoRights()  # noqa: ARG005 - until it has a store
        self._note: Callable[[str], None] = lambda fingerprint: None  # noqa: ARG005 - until somebody observes it

    def observe(self, note: Callable[[str], None]) -> str:
        """Have the fingerprint of other policies noted whenever they change; returns that of the present ones."""
        self._note = note
        return self._policies.fingerprint

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return if the caller may do this with the store (None), or with some cube of the scope.

        Raises PermissionDenied; what it says is the same whether or not the scope has cubes.
        """
        if caller is SYSTEM:
            return
        ruling = self.ruling(caller, action, scope.tenant if scope else STORE_TENANT)
        is_admitted = ruling.of_store().allowed if scope is None else ruling.reach(scope) is not Reach.NOTHING
        if not is_admitted:
            what = "the store" if scope is None else "this memory"
            problem = f"{caller.identity} may not {action.value} {what}: no policy permits it"
            raise PermissionDenied(problem + (_WHO if caller == OPERATOR else ""))

    def view(self, caller: Caller, action: Action, scope: Scope) -> AnyRuling | None:
        """What decides which cubes of the scope the caller may use in this way; None for the program itself: all."""
        return None if caller is SYSTEM else self.ruling(caller, action, scope.tenant)

    def ruling(self, caller: Caller, action: Action, tenant: str) -> AnyRuling:
        """The decisions for this caller, under the policies, delegations and roles that are in force now.

        What was granted or passed on to the identity of the caller counts for the memories of the `tenant`. Raises
        InvalidInput.
        """
        rights = self.rights(caller.identity, tenant)
        if rights.roles:
            caller = replace(caller, roles=caller.roles | rights.roles)
        found = tuple(one for one in rights.delegations if action in one.actions)
        own = self._own(caller, action)
        if not found:
            return own
        passed = (_timeless(caller), action, found)
        rulings = [(one, self._own(one.behalf(caller), action)) for one in found]
        with self._lock:
            known = self._delegated.get(passed)
            is_current = (
                known
                and known.own is own
                and all(ours is now for (_, ours), (_, now) in zip(known.passed_on, rulings, strict=True))
            )
            if known is None or not is_current:
                if len(self._delegated) >= _MOST_RULINGS:
                    self._delegated.clear()
                known = self._delegated[passed] = DelegatedRuling(own, rulings)
        return known

    def _own(self, caller: Caller, action: Action) -> Ruling:
        """The decisions for this caller without what others passed on to it."""
        policies = self._files.policies()
        now = (caller.at or self._clock()).replace(second=0, microsecond=0)
        asker = _timeless(caller)
        key = (asker, action, now if policies.asks_time else None)
        with self._lock:
            if is_other := policies is not self._policies:
                self._rulings.clear()
                self._policies = policies
            ruling = self._rulings.get(key)
            if ruling is None:
                ruling = self._rulings[key] = Ruling(policies, PolicyRequest(asker, action, now))
            self._rulings.move_to_end(key)
            if len(self._rulings) > _MOST_RULINGS:
                self._rulings.popitem(last=False)
        if is_other:
            self._note(policies.fingerprint)
        return ruling


def _timeless(caller: Caller) -> Caller:
    return caller if caller.at is None else replace(caller, at=None)
