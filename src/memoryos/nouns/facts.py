"""Facts: what was stated about the user and the agent, or learned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memoryos import arguments
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
    ) -> None:
        """State a fact about the user or the agent; stating it twice changes nothing."""
        now = self._engine.clock()
        said_at = now if at is None else parse_moment("at", at, now=now)
        checked = checked_text("text", text, limit=min(self._engine.settings.max_text_chars, VALUE_CHARS))
        about, origin = arguments.one_of("subject", subject, Subject), arguments.one_of("origin", origin, Origin)
        vector = self._engine.embedder.embed([checked])[0]
        self._engine.learn(self._scope, stated_fact(checked, vector, subject=about, at=said_at, origin=origin))

    def list(self, *, subject: Subject = Subject.USER) -> Sequence[MemCube]:
        """What LPM knows about the user, or about the agent."""
        about = arguments.one_of("subject", subject, Subject)
        people = overview.profile_of(self._engine.vault, self._scope, self._engine.home(self._scope))
        return list((people.user if about is Subject.USER else people.agent).facts)
