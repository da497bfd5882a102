"""Documents: texts of any length, stored part by part while they are read."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from memoryos import arguments
from memoryos.about import AboutArguments, about
from memoryos.caller import Action, acting
from memoryos.errors import DocumentIncomplete, InvalidInput
from memoryos.kinds import Origin
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door, in_calls
from memoryos.operation.calls.keywords import named
from memoryos.operation.intake import ingest
from memoryos.operation.intake.document_parts import PART_CHARS, is_visible, parts_of
from memoryos.operation.intake.page_writer import Arriving
from memoryos.operation.intake.text_source import TextSource, check_whole, checked_pieces
from memoryos.text import checked_text

_BETWEEN = "\x1f"  # the key of a call and the number of a part: no key of a caller has this character


class Documents(Noun):
    """The documents of one owner."""

    @in_calls
    @named
    def add(
        self,
        text: TextSource,
        *,
        at: datetime | str | None = None,
        idempotency_key: str | None = None,
        **said_of_it: Unpack[AboutArguments],
    ) -> list[str]:
        """Store a document of any length and return the ids of its pages, in order.

        `text` is the text itself, the Path of a UTF-8 file, a stream that is open for reading text, or an iterable of
        texts. It is read and stored in parts of at most 100,000 characters, cut at paragraphs, lines or sentences; each
        part is a page with its own transaction, and no more than a part is in memory. A `title` or a `source` is
        required; the source of a Path is the name of its file. `at` and the other arguments are those of `Memory.add`.

        If reading or storing fails after the first part, this raises DocumentIncomplete with the pages that are stored;
        if it fails earlier, or is interrupted, the error is raised as it is. A text or a file with a character that
        cannot be stored (NUL, a lone surrogate) is refused before any of it is stored. With an `idempotency_key`, a
        repeated call with the same text stores only the parts that are missing, and returns the ids of all. Raises
        InvalidInput if the text is empty or cannot be decoded.
        """
        acting(self._caller, lambda: self._engine.admit(Action.WRITE, self._scope))  # before anything is read
        told = self._told(text, said_of_it)
        key = arguments.idempotency_key(idempotency_key)
        check_whole(text)
        adding = _DocumentPages(self._engine, self._scope, self._caller)
        with _StoredParts() as stored:
            for number, part in enumerate(parts_of(checked_pieces(text), self._longest)):
                own = None if key is None else f"{key}{_BETWEEN}{number}"
                if not stored.pages and not is_visible(part):
                    break
                stored.take(adding.add(part, at, own, told), part)
            if not stored.pages:
                raise InvalidInput("text", "is empty", "Pass at least one visible character")
        return stored.pages

    @property
    def _longest(self) -> int:
        return min(PART_CHARS, self._engine.settings.max_text_chars)

    def _told(self, text: TextSource, said_of_it: AboutArguments) -> AboutArguments:
        """What is said of the document, with the name of its file as the source if none is given."""
        if said_of_it.get("source") is None and isinstance(text, Path):
            return {**said_of_it, "source": arguments.file_name("text", text).name}
        if said_of_it.get("title") is None and said_of_it.get("source") is None:
            raise InvalidInput("title", "is missing, and so is the source", "Pass one of them")
        return said_of_it


@door
class _DocumentPages(Noun):
    """The pages of a document. Each is stored by a call of its own, which other calls and interrupts can follow."""

    def add(self, part: str, at: datetime | str | None, key: str | None, said_of_it: AboutArguments) -> list[str]:
        """Store one part and return the id of its page."""
        now, limit = self._engine.clock(), self._engine.settings.max_text_chars
        said = checked_text("text", part, limit=limit)
        turns = ingest.turns_of(said, None, at=at, attachments=(), now=now, limit=limit)
        arriving = Arriving(turns, now, about(now, **said_of_it), Origin.USER_INPUT, key, ("text",))
        return self._engine.intake.store(self._scope, arriving)


def _is_of_the_key(error: Exception) -> bool:
    """Whether the key has stored another document: then this call has stored nothing, and cannot go on."""
    return isinstance(error, InvalidInput) and error.field == "idempotency_key"


class _StoredParts:
    """What is stored of a document so far, for the error that ends it."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self._characters = 0

    def take(self, pages: list[str], part: str) -> None:
        """Record that a part is stored."""
        self.pages += pages
        self._characters += len(part)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.pages and isinstance(error, Exception) and not _is_of_the_key(error):
            raise DocumentIncomplete(self.pages, self._characters, str(error)) from error
