"""MemoryVerbs: what of a Memory requests use. Requests lie below Memory, and do what they do through its verbs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memoryos.nouns.governance import MemGovernance
from memoryos.nouns.pages import Pages
from memoryos.nouns.profiles import Profiles
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.recall.context import Context
from memoryos.operation.recall.hit import Recall
from memoryos.scope import Scope


class MemoryVerbs(Protocol):
    """One owner's memory, for requests."""

    @property
    def pages(self) -> Pages:
        """The dialogue."""
        ...

    @property
    def profile(self) -> Profiles:
        """The profile."""
        ...

    @property
    def governance(self) -> MemGovernance:
        """States and rights."""
        ...

    def of(self, scope: Scope) -> MemoryVerbs:
        """The memory of another owner or session."""
        ...

    def add(self, query: str) -> str:
        """Store something that was said."""
        ...

    def search(self, query: str, *, mounts: Sequence[str] | None = None) -> Recall:
        """Find memories."""
        ...

    def context(
        self, query: str, *, since: datetime | str | None = None, until: datetime | str | None = None
    ) -> Context:
        """Pack what bears on a question."""
        ...

    def delete(self, cube_id: str) -> None:
        """Remove a memory."""
        ...

    def forget(self) -> Forgotten:
        """Remove everything of the owner or the session."""
        ...
