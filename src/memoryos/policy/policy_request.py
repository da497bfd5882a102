"""PolicyRequest: what the policy engine is asked, in its own form."""

from __future__ import annotations

import ipaddress
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memoryos.caller import Action, Caller
from memoryos.filter import ACCESS_LABEL, RESERVED, SENSITIVITY_LABEL
from memoryos.kinds import AccessMode
from memoryos.policy.policy_schema import CUBE, ROLE, STORE, USER
from memoryos.scope import Scope

_ONE = "asked"  # the id of the resource: policies ask for its attributes
_LEFT_OPEN = ("kind", "tags", "sensitivity", "access")
_ESCAPES = {'"': '\\"', "'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A caller who wants to do something at some time; it is asked of cubes, of a scope, or of the store."""

    caller: Caller
    action: Action
    now: datetime

    def of_cube(self, scope: Scope, kind: str, labels: Iterable[str]) -> dict[str, Any]:
        """Ask about a cube of that kind with these labels."""
        return self._about(CUBE, {**_of_scope(scope), "kind": kind, **_of_labels(labels)})

    def of_store(self) -> dict[str, Any]:
        """Ask about the store as a whole."""
        return self._about(STORE, {})

    def of_some_cube(self, scope: Scope) -> dict[str, Any]:
        """Ask about any cube of a scope: its kind and labels are unknown."""
        unknown = {name: _extension("unknown", name) for name in _LEFT_OPEN}
        asked = self._about(CUBE, {**_of_scope(scope), **unknown})
        named = [_uid("Action", self.action.value), *(_uid(ROLE, role) for role in sorted(self.caller.roles))]
        if scope.user != self.caller.identity:
            named.append(_uid(USER, scope.user))
        asked["entities"] += [{"uid": uid, "attrs": {}, "parents": []} for uid in named]  # others would be unknown, too
        return asked

    def _about(self, kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
        uid = _uid(kind, _ONE)
        principal = {
            "uid": _uid(USER, self.caller.identity),
            "attrs": {},
            "parents": [_uid(ROLE, role) for role in sorted(self.caller.roles)],
        }
        request = {
            "principal": principal["uid"],
            "action": _uid("Action", self.action.value),
            "resource": uid,
            "context": self._context,
        }
        return {"request": request, "entities": [principal, {"uid": uid, "attrs": attributes, "parents": []}]}

    @property
    def _context(self) -> dict[str, Any]:
        caller = self.caller
        told: dict[str, Any] = {
            "purpose": caller.purpose,
            "session": caller.session,
            "application": caller.application,
            "network": caller.network,
            "address": _address(caller.network),
            "time": _extension("datetime", f"{self.now.astimezone(UTC):%Y-%m-%dT%H:%M:00Z}"),
        }
        return {name: value for name, value in told.items() if value is not None}


def as_text(uid: dict[str, str]) -> str:
    """An entity as Cedar writes it, with the escapes that it asks for."""
    told = "".join(_escaped(character, is_first=not place) for place, character in enumerate(uid["id"]))
    return f'{uid["type"]}::"{told}"'


def _escaped(character: str, *, is_first: bool) -> str:
    """A character in a text of Cedar, which takes only what Rust's `escape_debug` writes."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    stands_alone = is_first and unicodedata.category(character) in ("Mn", "Me")
    return character if character.isprintable() and not stands_alone else f"\\u{{{ord(character):x}}}"


def _uid(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "id": name}


def _of_scope(scope: Scope) -> dict[str, Any]:
    return {
        "owner": {"__entity": _uid(USER, scope.user)},
        "tenant": scope.tenant,
        "agent": scope.agent or "",
        "namespace": scope.trunk.path,
    }


def _of_labels(labels: Iterable[str]) -> dict[str, Any]:
    held = sorted(labels)
    modes = _named(ACCESS_LABEL, held)
    return {
        "tags": [one for one in held if not one.startswith(RESERVED)],
        "sensitivity": _named(SENSITIVITY_LABEL, held),
        "access": modes[0] if modes else AccessMode.PRIVATE.value,
    }


def _named(prefix: str, labels: Iterable[str]) -> list[str]:
    return [one.removeprefix(prefix) for one in labels if one.startswith(prefix)]


def _address(network: str | None) -> dict[str, Any] | None:
    """The network as an address, if it is one."""
    if network is None:
        return None
    try:
        return _extension("ip", str(ipaddress.ip_address(network)))
    except ValueError:
        return None


def _extension(function: str, argument: str) -> dict[str, Any]:
    return {"__extn": {"fn": function, "arg": argument}}
