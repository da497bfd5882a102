"""Profiles: what LPM knows about the user and the agent."""

from __future__ import annotations

from datetime import datetime

from memoryos import arguments
from memoryos.kinds import Origin, Subject
from memoryos.nouns.looking_back import looked_back
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.knowledge.stated import stated_field
from memoryos.operation.recall import overview
from memoryos.operation.recall.overview import Profile


@door
class Profiles(Noun):
    """Profile fields, traits and facts of the user and of the agent."""

    def get(self, *, as_of: datetime | str | None = None) -> Profile:
        """Return what LPM holds about the user and about the agent.

        With `as_of` (a moment, or the name of a snapshot), what held then.
        """
        then, home = looked_back(self._engine, self._scope, as_of), self._engine.home(self._scope)
        return overview.profile_of(
            self._engine.vault, self._scope, home, self._engine.clock(), then.cubes if then else None
        )

    def set(
        self, field: str, value: str, *, subject: Subject = Subject.USER, origin: Origin = Origin.USER_INPUT
    ) -> str | None:
        """Set a static field of a persona, such as the user's name or, with Subject.AGENT, the agent's role.

        Returns the id of the field. What is said about it later replaces the value.
        """
        about, origin = arguments.one_of("subject", subject, Subject), arguments.one_of("origin", origin, Origin)
        lesson = stated_field(field, value, subject=about, at=self._engine.clock(), origin=origin)
        return self._engine.learn(self._scope, lesson.protected(self._engine.privacy(self._scope)))
