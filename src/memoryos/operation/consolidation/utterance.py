"""Utterances: the turns of pages, with what is needed to read them: who speaks, when, and on which page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.cached_property import cached_property
from memoryos.cube import MemCube, Page, Turn
from memoryos.kinds import Role, Subject
from memoryos.language.orders import gives_orders
from memoryos.language.sentences import split_sentences
from memoryos.operation.consolidation.own_words import own_sentences
from memoryos.operation.consolidation.stance import Said
from memoryos.operation.consolidation.wording import wording

# Display names that say what an assistant is, not who is talking.
_GENERIC_SPEAKERS = frozenset(
    ("assistant", "ai", "bot", "chatbot", "agent", "system", "model", "llm", "ai companion", "ai assistant", "chatgpt")
) | frozenset(("gpt", "gpt-4", "claude", "gemini", "助手", "助理", "机器人", "智能助手", "人工智能", "系统"))


READ_CHARS = 100_000  # of a turn: what is learned of a longer one is what its beginning says; search knows all of it


@dataclass(frozen=True)
class Utterance:
    """One turn of a page."""

    page: str
    turn: Turn
    at: datetime

    @property
    def subject(self) -> Subject:
        """Whose persona it tells of."""
        return Subject.USER if self.turn.role is Role.USER else Subject.AGENT

    @property
    def speaker(self) -> str:
        """The display name, if there is one."""
        return " ".join((self.turn.speaker or "").split())

    @property
    def is_person(self) -> bool:
        """A user, or the second human of a two-person chat in the assistant's place."""
        if self.turn.role is Role.USER:
            return True
        return bool(self.speaker) and self.speaker.casefold() not in _GENERIC_SPEAKERS

    @property
    def own_text(self) -> str:
        """The speaker's own text, up to the limit that is read."""
        return self.turn.text[:READ_CHARS]

    @cached_property
    def own_sentences(self) -> list[str]:
        """The sentences in which speakers talk about themselves seriously."""
        return own_sentences(self.own_text)

    @cached_property
    def said(self) -> Said:
        """Its words as claims are held against them."""
        return Said(self.turn.words[:READ_CHARS], self.speaker)

    @cached_property
    def text(self) -> str:
        """Its text, without sentences that give orders."""
        words = self.turn.words[:READ_CHARS]
        return " ".join(sentence for sentence in split_sentences(words) if not gives_orders(sentence))

    @cached_property
    def wording(self) -> str:
        """Its text without case, marks and width."""
        return wording(self.text)

    def says(self, words: str) -> bool:
        """Whether it says these words, as `wording` writes them."""
        return f" {words} " in f" {self.wording} "


def utterances(pages: Sequence[MemCube]) -> Iterator[Utterance]:
    """The words of user and assistant on these pages, in order."""
    for cube in pages:
        if isinstance(cube.payload, Page):
            for turn in cube.payload.turns:
                if turn.role in (Role.USER, Role.ASSISTANT):
                    yield Utterance(cube.id, turn, turn.at or cube.descriptive.event_at)
