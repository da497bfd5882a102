"""Mount: another memory that searches look into, too, under a name of its own (MemOS paper, section 5.5.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from memoryos.errors import InvalidInput
from memoryos.plain import Plain
from memoryos.scope import ID_LIMIT, Namespace, Scope
from memoryos.text import checked_text

_URL = re.compile(r"(\w[\w+.-]*://)(?:[^@/?#]*@)?([\w.:\[\]-]*(?:/[\w./%-]*)?)(?:\?[^@]*)?")

_FOR_EVERYBODY = (Namespace.EXPERT, Namespace.INDUSTRY)


@dataclass(frozen=True, slots=True)
class Mount(Plain):
    """Where another memory is, whose it is there, and what it is called here.

    `place` is the file or the URL of a store, or what the adapter of another back end understands; None is the store
    that it is mounted in. Such an adapter may do without a scope; a store may not.
    """

    name: str
    place: str | Path | None = field(default=None, repr=False)  #: there may be a password in it
    scope: Scope | None = None
    writable: bool = False

    def __post_init__(self) -> None:
        checked_text("mount.name", self.name, limit=ID_LIMIT)
        if not isinstance(self.place, str | Path | None):
            raise InvalidInput(
                "mount.place", f"is a {type(self.place).__name__}", "Name the file or the URL of a store"
            )
        if not isinstance(self.scope, Scope | None):
            raise InvalidInput("mount.scope", f"is a {type(self.scope).__name__}", "Pass Scope(user=...)")
        if self.place is None and self.scope is None:
            raise InvalidInput("mount.scope", "is missing", "Name whose memory it is: scope=Scope(user=...)")
        if self.scope is not None and self.scope.session is not None:
            raise InvalidInput("mount.scope", "names a session", "Leave it out: a memory is mounted whole")

    @property
    def shown(self) -> str:
        """The place as it may be shown: a URL without who logs in, and without its options."""
        text = "" if self.place is None else str(self.place)
        if "://" not in text:
            return text
        told = _URL.fullmatch(text)
        return "".join(told.groups("")) if told else f"{text.split('://')[0]}://..."

    def serves(self, caller: Scope) -> bool:
        """Whether searches of that scope may look into it.

        What is expert or industry knowledge serves everybody. What is private serves its user alone, and any other
        namespace its tenant.
        """
        if self.scope is None or self.scope.namespace[0] in _FOR_EVERYBODY:
            return True
        if self.scope.namespace[0] == Namespace.PRIVATE and self.scope.user != caller.user:
            return False
        return self.scope.tenant == caller.tenant
