"""Profiles: what LPM knows about the user and the agent."""

from __future__ import annotations

from memoryos import arguments
from memoryos.kinds import Origin, Subject
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.knowledge.stated import stated_field
from memoryos.operation.recall import overview
from memoryos.operation.recall.overview import Profile


@door
class Profiles(Noun):
    """Profile fields, traits and facts of the user and of the agent."""

    def get(self) -> Profile:
        """Return what LPM holds about the user and about the agent."""
        return overview.profile_of(
            self._engine.vault, self._scope, self._engine.home(self._scope), self._engine.clock()
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
