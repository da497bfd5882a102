"""A statement of a sentence about its speaker, before it becomes a memory."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.kinds import SemanticType

# Longer "sentences" are pasted documents, logs or code, which rarely describe the person who pastes them.
SENTENCE_LIMIT = 400  # characters

AGES = range(5, 111)  # years; other numbers after "I am" are times, sizes or jokes

PLAIN = 0.9  # confidence: a first-person statement in the singular
SHARED = 0.75  # confidence: said of "we", so it holds for the speaker and someone else


@dataclass(frozen=True, slots=True)
class Statement:
    """A declarative sentence, or the part of it, that describes the speaker."""

    quote: str  #: exact words
    semantic_type: SemanticType
    confidence: float
    clause: str = ""  #: the clause of the quote that says it, with the subject that it leaves out; empty: all of it

    @property
    def said(self) -> str:
        """The statement as a complete sentence."""
        return self.clause or self.quote


@dataclass(frozen=True, slots=True)
class Claim:
    """A profile field the speaker states about themselves."""

    field: str  #: "name", "gender", "birth_year", "birthday", "occupation" or "location"
    value: str
    quote: str  #: exact words
    is_over: bool = False  #: whether it no longer holds; then an empty value stands for whichever did
