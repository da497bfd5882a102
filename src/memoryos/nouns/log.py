"""Log: the changes in one owner's memory, and the usage of models."""

from __future__ import annotations

from datetime import date

from memoryos import arguments
from memoryos.infrastructure.vault.records import Event, Spending
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door


@door
class Log(Noun):
    """The log of one owner."""

    def events(self, *, after: int = 0, limit: int = 1000) -> Listing[Event]:
        """List the changes of memories, oldest first."""
        first, most = arguments.natural("after", after), arguments.natural("limit", limit)
        with self._engine.settled(self._scope) as reader:
            return Listing(reader.events(after=first, limit=most))

    def usage(self, *, since: date | None = None) -> Listing[Spending]:
        """Return the usage of models by day (UTC), purpose and model.

        It is counted over all memories: who may read only a part of them is shown none.
        """
        first = arguments.day("since", since)
        with self._engine.vault.view(self._scope) as reader:
            return Listing(reader.spending(since=first) if reader.whole is reader else [])
