"""Ruling: decides what one caller may do in one way, and remembers it for as long as policies and context are the same.

Policies see the owner, the kind and the labels of a cube, so all cubes that agree in these are one class, and a class
is decided once. That is what makes a search with policies as fast as one without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

from memoryos.bounded import Bounded
from memoryos.errors import StoreCorrupt
from memoryos.filter import METADATA_LABEL, read_labels
from memoryos.policy.policies import Policies, cedar
from memoryos.policy.policy_decision import PolicyDecision
from memoryos.policy.policy_request import PolicyRequest, as_text
from memoryos.scope import Scope

_DECOY = "\x1fdecoy:"  # a label that no cube has and no policy can ask for
_MOST_SCOPES = 64  # of whose cubes one ruling remembers what it decided
MOST_CLASSES = 10_000  # that one ruling remembers
_UNREAD = "Failed to parse"  # what Cedar says of a request that it does not understand


class Reach(Enum):
    """How much of a scope a caller may use."""

    NOTHING = "nothing"
    SOME = "some"  # or nothing: that depends on the cubes
    EVERYTHING = "everything"


class DecidedCubes:
    """What was decided about single cubes; an event that may change the class of one makes it void."""

    def __init__(self) -> None:
        self._known = Bounded[Scope, tuple[int, dict[str, bool]]](_MOST_SCOPES)

    def at(self, scope: Scope, sequence: int, are_same: Callable[[int], bool]) -> dict[str, bool]:
        """The decisions by cube id that hold at that event; the caller of this method adds to the dict."""
        since, known = self._known.get(scope, (None, {}))
        if since != sequence:
            if since is None or since > sequence or not are_same(since):
                known = {}
            self._known[scope] = sequence, known
        return known


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decisions for one question; the view of a session asks it about cubes."""

    policies: Policies
    request: PolicyRequest
    mark: object = field(default_factory=object)
    _reaches: Bounded[Scope, Reach] = field(default_factory=partial(Bounded, MOST_CLASSES))
    _decided: DecidedCubes = field(default_factory=DecidedCubes)
    _classes: Bounded[tuple[Scope, str, frozenset[str]], bool] = field(default_factory=partial(Bounded, MOST_CLASSES))
    _stored: Bounded[tuple[Scope | str | None, ...], bool] = field(
        default_factory=partial(Bounded, MOST_CLASSES)
    )  # the same, by stored labels

    def reach(self, scope: Scope) -> Reach:
        """How much of the scope the caller may use."""
        owner = scope.owner
        if (known := self._reaches.get(owner)) is not None:
            return known
        found = self._reaches[owner] = self._partial(owner)
        return found

    def has_all(self, scope: Scope) -> bool:
        """Whether the caller may use every cube of the scope."""
        return self.reach(scope) is Reach.EVERYTHING

    def admits(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        """Whether the caller may use cubes of this class; `labels` are JSON lists that the store keeps."""
        stored = (scope, kind, *labels)
        if (known := self._stored.get(stored)) is not None:
            return known
        governed = (scope, kind, _governed(labels))
        if (found := self._classes.get(governed)) is None:
            found = self._classes[governed] = self.decision(*governed).allowed
        self._stored[stored] = found
        return found

    def admits_anew(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        """The same without memory, so that it takes as long for every class and for a cube that does not exist."""
        return self.explained(scope, kind, *labels).allowed

    def decided(self, scope: Scope, sequence: int, are_same: Callable[[int], bool]) -> dict[str, bool]:
        """Decisions about cubes of the scope, by id, as of that event; the caller adds to the dict."""
        return self._decided.at(scope, sequence, are_same)

    def takes_as_long(self, scope: Scope) -> None:
        """Take as long as a decision about a cube."""
        self.decision(scope, "page", [_DECOY])

    def decision(self, scope: Scope, kind: str, labels: Collection[str]) -> PolicyDecision:
        """Decide about cubes of this class, with the reason."""
        return self._answer(self.request.of_cube(scope.owner, kind, labels))

    def explained(self, scope: Scope, kind: str, *labels: str | None) -> PolicyDecision:
        """Like `admits_anew`, with the reason."""
        return self.decision(scope, kind, _governed(labels))

    def of_store(self) -> PolicyDecision:
        """Decide about the store as a whole."""
        return self._answer(self.request.of_store())

    def _answer(self, asked: dict[str, Any]) -> PolicyDecision:
        answer = cedar().is_authorized(asked["request"], self.policies.parsed, asked["entities"])
        told = answer.diagnostics
        return PolicyDecision(
            allowed=bool(answer.allowed),
            caller=self.request.caller.identity,
            action=self.request.action,
            policies=self.policies.named(told.reasons),
            errors=tuple(map(str, told.errors)),
        )

    def _partial(self, owner: Scope) -> Reach:
        """Ask about a cube of which only the owner is known. What stays open depends on the cubes."""
        asked = self.request.of_some_cube(owner)
        request = {name: as_text(asked["request"][name]) for name in ("principal", "action", "resource")}
        context = json.dumps(asked["request"]["context"])
        answer = cedar().is_authorized_partial({**request, "context": context}, self.policies.parsed, asked["entities"])
        if any(_UNREAD in error for error in answer.diagnostics.errors) and self.request.caller.identity != owner.user:
            return Reach.NOTHING  # nobody gets what belongs to others because of the characters of a name
        if answer.decision is None or answer.diagnostics.errors:
            return Reach.SOME
        return {"Allow": Reach.EVERYTHING, "Deny": Reach.NOTHING}.get(answer.decision.value, Reach.SOME)


def _governed(stored: Iterable[str | None]) -> frozenset[str]:
    """The labels that policies can ask for: all but those of the metadata, of which each cube may have its own.

    Raises StoreCorrupt if they are damaged: then nobody can tell who may read the cube.
    """
    read = [read_labels(text) for text in stored]
    labels = [label for some in read if some is not None for label in some]
    if None in read:
        raise StoreCorrupt("the labels of a memory are damaged: run `memoryos verify`, or restore from a backup")
    return frozenset(label for label in labels if not label.startswith(METADATA_LABEL))
