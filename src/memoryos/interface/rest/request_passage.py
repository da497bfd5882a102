"""RequestPassage: one request on its way through the server."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from uuid import uuid4

from starlette.types import Scope

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

OTHER, UNKNOWN = "OTHER", "unknown"  #: the method and the route of what is not known


@dataclass(slots=True)
class RequestPassage:
    """One request on its way through the guard."""

    scope: Scope
    id: str = field(default_factory=lambda: uuid4().hex)
    began: float = field(default_factory=time.monotonic)
    status: int = 0  #: 0: no answer has begun
    is_answered: bool = False  #: the whole answer is sent
    error: str = ""  #: the class of what went wrong, if it is no refusal

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    @property
    def method(self) -> str:
        """The HTTP method; all unknown methods share one name."""
        method: str = self.scope["method"]
        return method if method in _METHODS else OTHER

    @property
    def route(self) -> str:
        """Its address without values."""
        return getattr(self.scope.get("route"), "path", UNKNOWN)
