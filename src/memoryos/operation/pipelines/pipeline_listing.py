"""Pipeline listing: the pipelines that have a name, and the files of them that are broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memoryos.errors import InvalidInput
from memoryos.listing import Listing
from memoryos.operation.pipelines.pipeline import Pipeline


class PipelineListing(Listing[Pipeline]):
    """The pipelines by name. `broken` has what is wrong with each other file, by its name."""

    def __init__(self, items: Iterable[Pipeline] = (), broken: Mapping[str, str] | None = None) -> None:
        super().__init__(items)
        if not isinstance(broken, Mapping | None):
            raise InvalidInput("broken", f"expected a mapping, got {type(broken).__name__}", "Pass the names of files")
        self.broken = dict(broken or {})

    def mapped(self, change: Callable[[Pipeline], Pipeline]) -> PipelineListing:
        """Return the list with each pipeline as `change` returns it."""
        return PipelineListing(map(change, self), self.broken)

    def to_dict(self) -> dict[str, Any]:
        """The items, and the broken files."""
        return {**super().to_dict(), "broken": self.broken}
