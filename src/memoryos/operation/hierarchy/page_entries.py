"""Passages: the turns of a page as search knows them, and the page's own vector, which is made of theirs.

A turn is one passage, and a long one several (`language/passages.py`).

A passage's vector stands for the words alone; who said them and when are kept beside it. With the names in the
embedded text all turns of a speaker look alike, and recall is lower (docs/explanation/retrieval.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoryos.clock import from_micros
from memoryos.cube import MemCube, Page, Turn
from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import (
    UNMARKED,
    Entry,
    Extent,
    LinkKind,
    Mark,
    Passage,
    StoredPassage,
    Vector,
)
from memoryos.kinds import Role
from memoryos.language.calendar import spoken
from memoryos.language.marks import asks, ends_asking
from memoryos.language.passages import passage_bounds
from memoryos.language.times import named_periods
from memoryos.language.words import KEYWORD_LIMIT, index_words, keywords, stem, stems, words
from memoryos.models.embedder import Embedder
from memoryos.text_cache import text_cache

Vectors = NDArray[np.float32]


class _Draft(NamedTuple):
    """A passage before it is embedded; a plain tuple because there are very many."""

    turn: Turn
    extent: Extent
    said: str
    ends_turn: bool


def page_entries(pages: Sequence[MemCube], embedder: Embedder) -> list[Entry]:
    """The pages with their passages; every passage is embedded once, in one batch."""
    drafts = [(cube, list(_drafts(cube))) for cube in pages]
    vectors = iter(embedder.embed([draft.said for _, own in drafts for draft in own]))
    return [Entry(cube, passages=[_passage(cube, draft, next(vectors)) for draft in own]) for cube, own in drafts]


def said_in(cube: MemCube, extent: Extent) -> str:
    """The words of a passage of a page."""
    return turns_of(cube)[extent.turn].words[extent.start : extent.end]


def page_vectors(reader: Reader, pages: Iterable[str]) -> dict[str, Vector]:
    """The direction of each page: the mean of its passages', each weighed by its words.

    So "Okay, thanks!" does not count as half of a page. Pages without passages, which an older program stored, have a
    vector of their own.
    """
    wanted = list(pages)
    return directions(reader, wanted, passages_of(reader, wanted))


def passages_of(reader: Reader, pages: Iterable[str]) -> dict[str, list[StoredPassage]]:
    """The passages of each page, in order; of an older program's pages, none."""
    said: dict[str, list[StoredPassage]] = {}
    for passage in reader.passages(pages):
        if passage.part:
            said.setdefault(passage.page, []).append(passage)
    return said


def directions(reader: Reader, pages: Iterable[str], said: Mapping[str, Sequence[StoredPassage]]) -> dict[str, Vector]:
    """The vectors of pages from passages that were read already."""
    own = reader.vectors(page for page in pages if page not in said)
    return own | {page: page_direction(passages) for page, passages in said.items()}


def segment_vector(reader: Reader, segment: MemCube, embedder: Embedder) -> Vector:
    """The mean of the vectors of a segment's pages; the vector of its summary when it has none."""
    members = [link.source for link in reader.sources([segment.id], LinkKind.MEMBER_OF)]
    vectors = page_vectors(reader, members)
    if not vectors:
        return np.asarray(embedder.embed([segment.meaning])[0], np.float32)
    return centre(vectors, segment.id)


def centre(vectors: Mapping[str, Vector], segment: str) -> Vector:
    """The mean of the vectors of a segment's pages. Raises StoreCorrupt if all are damaged."""
    if not vectors:
        raise StoreCorrupt(f"no page of the segment {segment} has a sound vector: run `memoryos verify --repair`")
    return np.asarray(np.stack(list(vectors.values())).mean(axis=0, dtype=np.float32), np.float32)


def turn_vectors(passages: Sequence[StoredPassage]) -> list[Vector]:
    """The direction of each turn of a page."""
    turns = [list(own) for _, own in groupby(passages, key=lambda passage: passage.extent.turn)]
    return [vector_of(own[0]) if len(own) == 1 else page_direction(own) for own in turns]


def vector_of(passage: StoredPassage) -> Vector:
    """The vector of one passage."""
    return np.frombuffer(passage.vector, "<f2").astype(np.float32)


def page_direction(passages: Sequence[StoredPassage]) -> Vector:
    """The direction of the weighted mean of passages; that of the first when they cancel each other."""
    halves = np.frombuffer(b"".join([passage.vector for passage in passages]), "<f2")
    vectors = halves.reshape(len(passages), -1).astype(np.float32)
    return weighed(vectors, [weight(len(one.words.split()), one.speaker, one.said_at) for one in passages])


def weighed(vectors: Vectors, weights: Sequence[int]) -> Vector:
    """The direction of the weighted mean of some vectors, shape (k, dim); that of the first when they cancel out."""
    total = np.array(weights, np.float32) @ vectors
    length = np.sqrt(total @ total)
    return np.asarray(total / length if length > 0 else vectors[0], dtype=np.float32)


def weight(words: int, speaker: str | None, said_at: int) -> int:
    """The number of index words of a passage that are its own, without the speaker's name and the date."""
    common = len(_found_by(speaker or "")) + _words_of_day(said_at // _DAY)
    return max(words - common, 1)


def direction_of(entry: Entry) -> Vector:
    """The direction of a page as it will be stored with these passages."""
    said = [
        StoredPassage(entry.cube.id, 0, part, entry.cube.tier.value, None, **passage.columns)
        for part, passage in enumerate(entry.passages or (), 1)
    ]
    return page_direction(said)


def turns_of(cube: MemCube) -> tuple[Turn, ...]:
    """The turns of a page; none for any other cube."""
    return cube.payload.turns if isinstance(cube.payload, Page) else ()


def topic_words(page: Page) -> tuple[str, ...]:
    """The keywords of the page, without the names of the speakers, which are on every page."""
    people = stems(word for turn in page.turns if turn.speaker for word in words(turn.speaker))
    said = keywords(page.said, limit=KEYWORD_LIMIT + len(people))
    return tuple([word for word in said if stem(word) not in people])[:KEYWORD_LIMIT]


def _drafts(cube: MemCube) -> Iterator[_Draft]:
    for number, turn in enumerate(turns_of(cube)):
        words = turn.words
        bounds = passage_bounds(words)
        last = len(bounds)
        for place, (start, end) in enumerate(bounds, 1):
            yield _Draft(turn, Extent(number, start, end), words[start:end], place == last)


def _passage(cube: MemCube, draft: _Draft, vector: Vector) -> Passage:
    said_at, speaker = draft.turn.at or cube.descriptive.event_at, draft.turn.speaker
    title = cube.descriptive.title or ""
    return Passage(
        vector,
        [*_words(speaker, draft.said, said_at), *_found_by(title)],
        said_at,
        speaker,
        _marks(draft),
        draft.extent,
    )


def _words(speaker: str | None, said: str, said_at: datetime) -> list[str]:
    """What the passage is found by: who said what and when, and the times it names, resolved against that day.

    The date is text, so that "May 2023" finds what was said then. "Last May" gets the words may and 2022, as far as
    they are not there yet, and the period as a term that only its search by time knows (`recall/timely.py`).
    """
    found = [*_found_by(speaker or ""), *index_words(said), *_found_by(spoken(said_at))]
    for period in named_periods(said, said_at):
        found += [word for word in period.words if word not in found]
        found.append(period.term)
    return found


@lru_cache(1024)
def _words_of_day(day: int) -> int:
    """The number of date words that are added to each passage of that day (days since the epoch)."""
    return len(_found_by(spoken(from_micros(day * _DAY))))


_DAY = 86_400_000_000  # microseconds
_ROLE_NAMES = {"user", "human", "assistant", "ai", "用户", "助手"}
_ROLE_MARKS = {Role.USER: Mark.BY_USER, Role.ASSISTANT: Mark.BY_ASSISTANT}
_found_by = text_cache(1024)(index_words)  # of names and dates, which come again and again


def _marks(draft: _Draft) -> Mark:
    """The marks of a passage; the last passage of a turn gets the marks of the whole turn."""
    found = _said_by(draft.turn)
    if asks(draft.turn.words if draft.ends_turn else draft.said):
        found |= Mark.ASKS
    if draft.ends_turn and ends_asking(draft.turn.text):
        found |= Mark.ENDS_ASKING
    return found


def _said_by(turn: Turn) -> Mark:
    """The role as speaker if nobody has a name; among named people, a role says nothing."""
    if turn.speaker and turn.speaker.casefold() not in _ROLE_NAMES:
        return UNMARKED
    return _ROLE_MARKS.get(turn.role, UNMARKED)
