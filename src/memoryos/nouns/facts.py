"""Facts: what was stated about the user and the agent, or learned."""

from __future__ import annotations

from datetime import datetime
from typing import Unpack

from memoryos import arguments
from memoryos.clock import parse_moment
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Origin, Subject, Tier
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.nouns.selecting import listed, selection
from memoryos.operation.calls.door import door
from memoryos.operation.knowledge.stated import VALUE_CHARS, stated_fact
from memoryos.text import checked_text


@door
class Facts(Noun):
    """The facts of one owner."""

    def add(
        self,
        text: str,
        *,
        subject: Subject = Subject.USER,
        at: datetime | str | None = None,
        origin: Origin = Origin.USER_INPUT,
    ) -> str | None:
        """State a fact about the user or the agent, and return its id; stating it twice changes nothing.

        The id is that of the fact which says it: a known one, when it was known in these or other words. It is None
        when the same change of a fact was proposed before in other words, and waits for an answer.
        """
        now = self._engine.clock()
        said_at = now if at is None else parse_moment("at", at, now=now)
        checked = checked_text("text", text, limit=min(self._engine.settings.max_text_chars, VALUE_CHARS))
        about, origin = arguments.one_of("subject", subject, Subject), arguments.one_of("origin", origin, Origin)
        vector = self._engine.embedder.embed([checked])[0]
        return self._engine.learn(self._scope, stated_fact(checked, vector, subject=about, at=said_at, origin=origin))

    def list(
        self,
        *,
        subject: Subject = Subject.USER,
        tier: Tier = Tier.LPM,
        limit: int | None = None,
        cursor: str | None = None,
        **only: Unpack[arguments.ListFilters],
    ) -> Listing[MemCube]:
        """What LPM knows about the user, or about the agent, in the order in which it was learned.

        In the tier `archive` are facts that gave way to others, and those that LPM had no room for. `limit` and
        `cursor` are as in `pages.list`; `since` and `until` bound when it was said or happened (both included), and
        `tags` names labels that a fact must have itself.
        """
        about = arguments.one_of("subject", subject, Subject)
        with self._engine.vault.read(self._engine.home(self._scope, about)) as reader:
            return listed(reader, self._selection(about, tier, **only), limit, cursor)

    def count(
        self, *, subject: Subject = Subject.USER, tier: Tier = Tier.LPM, **only: Unpack[arguments.ListFilters]
    ) -> int:
        """How many facts there are; the filters are as in `list`."""
        about = arguments.one_of("subject", subject, Subject)
        with self._engine.vault.read(self._engine.home(self._scope, about)) as reader:
            return reader.counted(self._selection(about, tier, **only))

    def _selection(self, about: Subject, tier: Tier, **only: Unpack[arguments.ListFilters]) -> Selection:
        tiers = [arguments.one_of("tier", tier, Tier)]
        return selection(Kind.FACT, self._engine.clock(), tiers=tiers, subject=about, **only)
