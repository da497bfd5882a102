"""Adding: what `Memory.add` and `add_many` do: check the arguments, then store here or in a mounted memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos import arguments
from memoryos.about import NOTHING, AboutArguments, about
from memoryos.caller import SYSTEM, Action, acting
from memoryos.clock import parse_moment
from memoryos.cube import Attachment, MemCube, Turn
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.kinds import Kind, Origin, Role
from memoryos.operation.intake import ingest
from memoryos.operation.intake.history import RECENT_PAGES, new_turns
from memoryos.operation.intake.messages import Messages, turns_of_messages
from memoryos.operation.intake.page_writer import Arriving
from memoryos.privacy.protection import OwnerProtection
from memoryos.progress import Progress
from memoryos.scope import ID_LIMIT, Scope
from memoryos.text import checked_text


@dataclass(frozen=True, slots=True)
class Adding:
    """One call that adds: the owner, the tags and other details, the idempotency key and the mount."""

    engine: Engine
    scope: Scope
    said_of_it: AboutArguments
    key: str | None
    mount: str | None

    def exchange(
        self,
        query: str | None,
        response: str | None,
        attachments: Sequence[Attachment],
        at: datetime | str | None,
    ) -> str:
        """Store one exchange, or one side of it, and return the id of its page."""
        now, limit = self.engine.clock(), self.engine.settings.max_text_chars
        items = arguments.sequence("attachments", attachments, Attachment)
        turns = ingest.turns_of(query, response, at=at, attachments=items, now=now, limit=limit)
        names = {Role.USER: "query", Role.ASSISTANT: "response"}
        return self._store(turns, now, fields=[names[turn.role] for turn in turns])[0]

    def messages(
        self,
        messages: Messages,
        response: str | None,
        attachments: Sequence[Attachment],
        at: datetime | str | None,
    ) -> list[str]:
        """Store messages of a chat API and return the ids of their pages."""
        if response is not None or attachments:
            field = "attachments" if response is None else "response"
            raise InvalidInput(field, "is passed together with messages", "Put it into a message")
        now, limit = self.engine.clock(), self.engine.settings.max_text_chars
        said_at = now if at is None else parse_moment("at", at, now=now)
        turns = self._new(turns_of_messages(messages, now=now, limit=limit))
        timed = [turn if turn.at else replace(turn, at=said_at) for turn in turns]
        return self._store([ingest.checked_turn(turn, now=now, limit=limit, field="messages") for turn in timed], now)

    def _new(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """Leave out messages that the session already has. A call with a key is stored whole or not at all."""
        if len(turns) < 2 or self.key is not None or self.mount is not None:
            return turns
        if self._privacy.rewrites:  # the words that the session has are those that were stored
            turns = self._privacy.value("messages", turns)
        self.engine.admit(Action.WRITE, self.scope)
        self.engine.responder.wait()  # what was answered a moment ago is stored, too
        return new_turns(turns, acting(SYSTEM, self._latest), self.scope.session)  # who may write need not read

    @property
    def _privacy(self) -> OwnerProtection:
        return self.engine.privacy(self.scope)

    def _latest(self) -> Sequence[MemCube]:
        with self.engine.vault.read(self.scope.owner) as reader:
            return reader.cubes(Kind.PAGE, last=RECENT_PAGES)

    def dialogue(self, turns: Iterable[Turn], origin: Origin, progress: Progress | None) -> list[str]:
        """Store turns and return the ids of their pages."""
        now, limit = self.engine.clock(), self.engine.settings.max_text_chars
        checked = [
            ingest.checked_turn(turn, now=now, limit=limit, field=f"turns[{index}]")
            for index, turn in enumerate(arguments.sequence("turns", turns, Turn))
        ]
        arguments.callback("progress", progress)
        return self._store(checked, now, arguments.one_of("origin", origin, Origin), progress)

    def _store(
        self,
        turns: Sequence[Turn],
        now: datetime,
        origin: Origin = Origin.USER_INPUT,
        progress: Progress | None = None,
        fields: Sequence[str] = (),
    ) -> list[str]:
        told = about(now, **self.said_of_it) if self.said_of_it else NOTHING
        arriving = Arriving(turns, now, told, origin, arguments.idempotency_key(self.key), fields)
        if self.mount is not None:
            name = checked_text("mount", self.mount, limit=ID_LIMIT)
            told = self._privacy.value("", told).tagged(self._privacy.tags(turns, told))
            arriving = replace(arriving, turns=self._privacy.value("turns", turns), about=told)
            return self.engine.mounted.store(self.scope, name, arriving)
        return self.engine.intake.store(self.scope, arriving, progress)
