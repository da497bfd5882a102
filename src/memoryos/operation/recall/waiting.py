"""Waiting: found turns that a text takes only after others.

A short reply ("Okay.", "¡Qué bien!") says nothing without the message that it answers, whatever its language is. Behind
other words, it reads as an answer to them. So it waits until that message is told, unless it has a word of the
question.

A passage of a document that has no word of the question is found by its meaning alone. Such passages get a share of the
text; more of them wait until the other turns had their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from memoryos.cube import MemCube
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.cut import share
from memoryos.operation.recall.draft import Draft
from memoryos.operation.recall.line import Key, Line
from memoryos.operation.recall.repetition import SHORT

OF_A_DOCUMENT = 4  # fraction (1/n) of the tokens for passages of one document without a word of the question


@dataclass
class Waiting:
    """The found turns in the order in which a text takes them."""

    draft: Draft
    asked: Collection[str]  #: the stems of the question's words
    is_wanted: Callable[[MemCube, int], bool]  #: whether the text may have the turn of a page
    passages: list[Line] = field(default_factory=list)  #: of documents, that wait for the other turns
    replies: list[Line] = field(default_factory=list)  #: that wait for what they answer
    most: int = field(init=False)  #: tokens of a document's passages

    def __post_init__(self) -> None:
        self.most = self.draft.room // OF_A_DOCUMENT

    def ready(self, lines: Iterable[Line]) -> Iterator[Line]:
        """The lines that the text may take now; the others wait."""
        for line in lines:
            if line.turn is not None and self.is_lone_reply(line.cube, line.turn):
                self.replies.append(line)
            elif self._is_more_of_a_document(line):
                self.passages.append(line)
            else:
                yield line

    def rest(self) -> Iterator[Line]:
        """The replies to what the text tells by now, and the passages that waited."""
        yield from (line for line in self.replies if not self.is_lone_reply(line.cube, line.turn or 0))
        yield from self.passages

    def is_lone_reply(self, page: MemCube, number: int) -> bool:
        """Whether a turn is a short reply to one that the text could tell and does not."""
        message = answered(page, number, self.asked)
        return message is not None and message not in self.draft and self.is_wanted(page, message[1] or 0)

    def _is_more_of_a_document(self, line: Line) -> bool:
        if not line.cube.is_document or not self.draft.has_turns or self._has_asked(line):
            return False
        return self.draft.tokens_of(line.cube.id) + self.draft.price(line) > self.most

    def _has_asked(self, line: Line) -> bool:
        known = line.cube.descriptive
        return share(" ".join(filter(None, (known.title, known.source, line.words))), self.asked) > 0


def answered(page: MemCube, number: int, asked: Collection[str]) -> Key | None:
    """The turn that a short reply without a word of the question answers; None if the turn stands by itself."""
    turns = turns_of(page)
    turn, before = turns[number], turns[number - 1]
    if not number or (turn.role, turn.speaker) == (before.role, before.speaker):
        return None
    is_short = len(turn.words.encode()) < SHORT
    return (page.id, number - 1) if is_short and not share(turn.words, asked) else None
