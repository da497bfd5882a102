"""Names: places of persons' names in a text, found by a spaCy pipeline that the user installed; off without one.

Any pipeline that marks entities will do: a trained one, or rules of one's own in a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from memoryos.errors import InvalidInput, MissingExtra
from memoryos.process_lock import ProcessLock

NameFinder = Callable[[str], Iterable[tuple[int, int]]]  #: start and end of each name

_PERSON = frozenset(("PERSON", "PER"))  # the labels of persons in spaCy's pipelines
_AT_ONCE = 100_000  # characters; a pipeline takes memory by their number


@cache
def name_finder(pipeline: str) -> NameFinder:
    """Load a pipeline by the name of its package or by its folder; once for all stores.

    Raises MissingExtra, and InvalidInput if there is no such pipeline.
    """
    try:
        import spacy
    except ImportError:
        raise MissingExtra("Finding names (the setting privacy_names)", "privacy-names") from None
    try:
        nlp = spacy.load(pipeline)
    except (OSError, ValueError) as error:
        problem = f"spaCy cannot load the pipeline {pipeline!r} ({type(error).__name__})"
        raise InvalidInput(
            "privacy_names", problem, f"Run `python -m spacy download {pipeline}`, or name a folder"
        ) from None
    return _Pipeline(nlp)


class _Pipeline:
    """A loaded pipeline, for one thread at a time."""

    def __init__(self, nlp: Any) -> None:
        self._nlp = nlp
        self._lock = ProcessLock()

    def __call__(self, text: str) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(text):
            end = _end_of_part(text, start)
            with self._lock:
                found = self._nlp(text[start:end]).ents
            yield from ((start + one.start_char, start + one.end_char) for one in found if one.label_ in _PERSON)
            start = end


def _end_of_part(text: str, start: int) -> int:
    """Where the next part ends: between two words, if there is a space."""
    end = start + _AT_ONCE
    if end >= len(text):
        return len(text)
    space = text.rfind(" ", start + 1, end)
    return end if space < 0 else space
