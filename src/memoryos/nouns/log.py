"""Log: the changes in one owner's memory, and the usage of models."""

from __future__ import annotations

from datetime import date

from memoryos import arguments
from memoryos.infrastructure.vault.records import Event, Spending
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door


@door
class Log(Noun):
    """The log of one owner."""

    def events(self, *, after: int = 0, limit: int = 1000, cursor: str | None = None) -> Listing[Event]:
        """List the changes of memories, oldest first: those with a higher `sequence` than `after`.

        `cursor` goes on with the next part, in place of `after`. Who may read only some of the memories may get fewer
        than `limit` in a part, or none, before the last one, which has no cursor: one call looks at a bounded number.
        """
        first, most = arguments.natural("after", after), arguments.natural("limit", limit)
        (first,) = key_in("events", cursor, (int,)) or (first,)
        with self._engine.settled(self._scope) as reader:
            found, last = reader.logged(after=first, limit=most)
        return Listing(found, None if last is None else cursor_after("events", last))

    def usage(self, *, since: date | None = None) -> Listing[Spending]:
        """Return the usage of models by day (UTC), purpose and model.

        It is counted over all memories: who may read only a part of them is shown none.
        """
        first = arguments.day("since", since)
        with self._engine.vault.view(self._scope) as reader:
            return Listing(reader.spending(since=first) if reader.whole is reader else [])
