"""Facts: what was stated or learned about the user and the agent."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Unpack

from memoryos import arguments
from memoryos.about import AboutArguments, about
from memoryos.clock import parse_moment
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Origin, Subject, Tier
from memoryos.listing import Listing
from memoryos.nouns.looking_back import LookBack, looked_back
from memoryos.nouns.noun import Noun
from memoryos.nouns.selecting import counted, listed, selection
from memoryos.operation.calls.door import door
from memoryos.operation.knowledge.stated import VALUE_CHARS, stated_fact


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
        **said_of_it: Unpack[AboutArguments],
    ) -> str | None:
        """Store a fact about the user or the agent and return its id.

        If the fact is known, in the same or other words, no fact is added, and the id of the known one is returned; its
        `tags`, `metadata`, `ttl`, `expires_at`, `title` and `source` (as in `Memory.add`) are updated. Returns None if
        the same change of a fact was already proposed in other words and waits for a decision.
        """
        now = self._engine.clock()
        said_at = now if at is None else parse_moment("at", at, now=now)
        limit, privacy = min(self._engine.settings.max_text_chars, VALUE_CHARS), self._engine.privacy(self._scope)
        checked = self._engine.said("text", text, self._scope, limit=limit)
        told = privacy.value("", about(now, **said_of_it))
        of_whom, origin = arguments.one_of("subject", subject, Subject), arguments.one_of("origin", origin, Origin)
        vector = self._engine.embedder.embed([checked])[0]
        lesson = stated_fact(checked, vector, subject=of_whom, at=said_at, origin=origin)
        tagged = told.tagged(privacy.tags(checked, told))
        return self._engine.learn(self._scope, replace(lesson, about=tagged))

    def list(
        self,
        *,
        subject: Subject = Subject.USER,
        tier: Tier = Tier.LPM,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: datetime | str | None = None,
        **only: Unpack[arguments.ListFilters],
    ) -> Listing[MemCube]:
        """List the facts about the user or the agent, in the order in which they were learned.

        The tier `archive` has the facts that others replaced and those that exceeded the capacity of LPM. `limit` and
        `cursor` work as in `pages.list`. `since` and `until` bound when a fact was said or happened, both included.
        `tags` and `filters` work as in `search`, but the fact itself must pass. `as_of` (a moment, or the name of a
        snapshot) lists the facts that held then, wherever they are now.
        """
        of_whom = arguments.one_of("subject", subject, Subject)
        then, wanted = self._wanted(of_whom, tier, as_of, **only)
        with self._engine.vault.view(self._engine.home(self._scope, of_whom)) as reader:
            return listed(reader, wanted, limit, cursor, then)

    def count(
        self,
        *,
        subject: Subject = Subject.USER,
        tier: Tier = Tier.LPM,
        as_of: datetime | str | None = None,
        **only: Unpack[arguments.ListFilters],
    ) -> int:
        """Return the number of facts; the filters are those of `list`.

        The documents are read only for a filter that needs them. So a damaged one, which `list` leaves out, may count.
        """
        of_whom = arguments.one_of("subject", subject, Subject)
        then, wanted = self._wanted(of_whom, tier, as_of, **only)
        with self._engine.vault.view(self._engine.home(self._scope, of_whom)) as reader:
            return counted(reader, wanted, then)

    def _wanted(
        self, of_whom: Subject, tier: Tier, as_of: datetime | str | None, **only: Unpack[arguments.ListFilters]
    ) -> tuple[LookBack | None, Selection]:
        tiers = [arguments.tier(tier, "facts", Tier.LPM, Tier.ARCHIVE)]
        wanted = selection(Kind.FACT, self._engine.clock(), tiers=tiers, subject=of_whom, **only)
        then = looked_back(self._engine, self._scope, as_of)
        return then, wanted if then is None else replace(wanted, tiers=())
