"""Route: one operation of the library behind an address."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memoryos.caller import Action
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS

VERSION = "/v1"

_READS = {  # which have a body
    "search",
    "tagged",
    "context",
    "digest",
    "pages.swept",
    "governance.reveal",
    "requests.read",
    "requests.preview",
    "activations.answer",
    "adapters.ask",
    "schedule.explain",
    "store:audit.verify",
    "store:admin.verify_receipt",
    "store:admin.verify_words",
}
_ACTIONS = {  # of changes; others write
    Action.DELETE: {
        "delete",
        "forget",
        "governance.expire",
        "governance.erase",
        "branches.discard",
        "activations.delete",
        "adapters.delete",
        "adapters.retire",
        "forms.cool",
    },
    Action.SHARE: {"governance.delegate", "governance.revoke"},
    Action.ADMINISTER: {
        "governance.thaw",
        "governance.retain",
        "governance.unretain",
        "governance.hold",
        "governance.release",
        "archiving.add",
        "archiving.remove",
    },
}


@dataclass(frozen=True, slots=True)
class Route:
    """An operation, its address, and an example of a request."""

    operation: str  #: of Memory, such as search or facts.list; of MemoryOS behind `store:`
    verb: str  #: GET, POST, PUT, PATCH or DELETE
    path: str  #: behind the version
    example: Mapping[str, Any] = field(default_factory=dict, hash=False)  #: a body, or the query of a GET
    status: int = 200  #: of an answer with a body
    named: str = ""  #: what the answer calls a result that is no document; empty: by its type
    without: tuple[str, ...] = ()  #: parameters that have no meaning over HTTP
    has_raw_body: bool = False  #: the body is a text as it is, and all parameters are in the address

    @property
    def is_of_store(self) -> bool:
        """Whether it is an operation of the store as a whole."""
        return self.operation.startswith("store:")

    @property
    def takes_json(self) -> bool:
        """Whether parameters are in a body."""
        return self.verb in ("POST", "PUT", "PATCH") and not self.has_raw_body

    @property
    def changes(self) -> bool:
        """Whether it may change something."""
        return self.verb != "GET" and self.operation not in _READS

    @property
    def action(self) -> Action:
        """What the caller of a change does with the memory."""
        if self.is_of_store:
            return Action.ADMINISTER
        return next((action for action, names in _ACTIONS.items() if self.operation in names), Action.WRITE)

    @property
    def name(self) -> str:
        """The name of the method, with its noun."""
        return self.operation.removeprefix("store:")

    @property
    def step(self) -> str:
        """The name of its span."""
        return self.operation.replace(":", ".") if self.is_of_store else f"memory.{self.operation}"

    @property
    def method(self) -> Callable[..., Any]:
        """The method without the door around it."""
        thing: Any = MemoryOS if self.is_of_store else Memory
        noun, _, verb = self.name.rpartition(".")
        if noun:
            thing = inspect.get_annotations(getattr(thing, noun).fget, eval_str=True)["return"]
        found: Callable[..., Any] = inspect.unwrap(getattr(thing, verb))
        return found
