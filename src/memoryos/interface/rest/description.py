"""Description: what /openapi.json answers. It is made at the first request for it, and kept as it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

ADDRESS = "/openapi.json"


@dataclass(slots=True)
class Description:
    """The description of one application. To make it takes seconds: a thread does that."""

    make: Callable[[], dict[str, Any]]
    _lock: Lock = field(default_factory=Lock)
    _made: dict[str, Any] | None = None
    _sent: bytes = b""
    _tag: str = ""

    def document(self) -> dict[str, Any]:
        """The description."""
        with self._lock:
            if self._made is None:
                made = self.make()
                self._sent = json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()
                self._tag = f'"{sha256(self._sent).hexdigest()[:16]}"'
                self._made = made
            return self._made

    def answer(self, request: Request) -> Response:
        """The answer to a request; to one that knows it already, nothing but that."""
        self.document()
        headers = {"ETag": self._tag, "Cache-Control": "no-cache"}
        if self._tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(self._sent, headers=headers, media_type="application/json")
