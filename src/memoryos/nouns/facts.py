"""Facts: what was stated about the user and the agent, or learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from memoryos import arguments
from memoryos.about import AboutArguments, about
from memoryos.clock import parse_moment
from memoryos.cube import MemCube
from memoryos.kinds import Origin, Subject
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.knowledge.stated import VALUE_CHARS, stated_fact
from memoryos.operation.recall import overview
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
        **said_of_it: Unpack[AboutArguments],
    ) -> None:
        """State a fact about the user or the agent; stating it twice changes nothing but what is said of it.

        `tags`, `metadata`, `ttl` or `expires_at`, `title` and `source` are as in `Memory.add`.
        """
        now = self._engine.clock()
        said_at = now if at is None else parse_moment("at", at, now=now)
        checked = checked_text("text", text, limit=min(self._engine.settings.max_text_chars, VALUE_CHARS))
        of_whom, origin = arguments.one_of("subject", subject, Subject), arguments.one_of("origin", origin, Origin)
        vector = self._engine.embedder.embed([checked])[0]
        lesson = stated_fact(checked, vector, subject=of_whom, at=said_at, origin=origin)
        self._engine.learn(self._scope, replace(lesson, about=about(now, **said_of_it)))

    def list(self, *, subject: Subject = Subject.USER) -> Sequence[MemCube]:
        """What LPM knows about the user, or about the agent."""
        of_whom = arguments.one_of("subject", subject, Subject)
        people = overview.profile_of(
            self._engine.vault, self._scope, self._engine.home(self._scope), self._engine.clock()
        )
        return list((people.user if of_whom is Subject.USER else people.agent).facts)
