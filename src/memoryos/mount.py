"""Mount: another memory that searches include, under its own name (MemOS paper, section 5.5.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from memoryos.errors import InvalidInput
from memoryos.plain import Plain
from memoryos.regex import regex
from memoryos.scope import ID_LIMIT, Namespace, Scope
from memoryos.text import checked_text

_URL = regex(r"(\w[\w+.-]*://)(?:[^@/?#]*@)?([\w.:\[\]-]*(?:/[\w./%-]*)?)(?:\?[^@]*)?")

_FOR_EVERYBODY = (Namespace.EXPERT, Namespace.INDUSTRY)


@dataclass(frozen=True, slots=True)
class Mount(Plain):
    """Another memory: its name here, its place, and its scope there.

    `place` is the file or URL of a store, or a value that the adapter of another back end understands; None means the
    same store. A store needs a scope; another back end may do without one.
    """

    name: str  #: name, unique in this store
    place: str | Path | None = field(default=None, repr=False)  #: its file or URL; it may contain a password
    scope: Scope | None = None  #: whose memory it is
    writable: bool = False  #: whether memories can be added to it

    def __post_init__(self) -> None:
        checked_text("mount.name", self.name, limit=ID_LIMIT)
        if not isinstance(self.place, str | Path | None):
            raise InvalidInput(
                "mount.place", f"is a {type(self.place).__name__}", "Name the file or the URL of a store"
            )
        if not isinstance(self.scope, Scope | None):
            raise InvalidInput("mount.scope", f"is a {type(self.scope).__name__}", "Pass Scope(user=...)")
        if self.place is None and self.scope is None:
            raise InvalidInput("mount.scope", "is missing", "Name the user whose memory it is")
        if self.scope is not None and self.scope.session is not None:
            raise InvalidInput("mount.scope", "names a session", "Leave it out: a memory is mounted whole")

    @property
    def shown(self) -> str:
        """The place for display: a URL without credentials and options."""
        text = "" if self.place is None else str(self.place)
        if "://" not in text:
            return text
        told = _URL.fullmatch(text)
        return "".join(told.groups("")) if told else f"{text.split('://')[0]}://..."

    def serves(self, caller: Scope) -> bool:
        """Whether searches of this scope include the mount.

        Expert and industry knowledge serves everybody. Private memory serves only its user. Any other namespace serves
        its tenant.
        """
        if self.scope is None or self.scope.namespace[0] in _FOR_EVERYBODY:
            return True
        if self.scope.namespace[0] == Namespace.PRIVATE and self.scope.user != caller.user:
            return False
        return self.scope.tenant == caller.tenant
