"""The facts that left LPM for lack of room, with their vectors in one array: there may be very many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryos.infrastructure.vault.records import Entry, Vector
from memoryos.kinds import Subject


@dataclass(frozen=True, slots=True)
class _Rows:
    """Facts about one subject, and their vectors, shape (facts, dim); a fact without one has zeros."""

    facts: tuple[Entry, ...]
    places: Mapping[str, int]  #: the row of each fact, by its id
    vectors: NDArray[np.float32]


class EvictedFacts:
    """Archived facts by id. Not safe for threads: its owner holds a lock."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._facts: dict[str, Entry] = {}
        self._rows: dict[Subject, _Rows] = {}  # made anew at the first question after a change

    def __len__(self) -> int:
        return len(self._facts)

    def put(self, fact: Entry) -> None:
        """Add or update a fact."""
        self._facts[fact.cube.id] = fact
        self._rows.clear()

    def drop(self, cube_id: str) -> None:
        """Remove a fact, if it is there."""
        if self._facts.pop(cube_id, None):
            self._rows.clear()

    def clear(self) -> None:
        """Remove all facts."""
        self._facts.clear()
        self._rows.clear()

    def nearest(self, subject: Subject, question: Vector, more: Mapping[str, float]) -> Iterator[Entry]:
        """The facts about a subject by their cosine with the question, and what some have more, highest first."""
        rows = self._rows.get(subject) or self._rows_about(subject)
        scores = rows.vectors @ question
        for fact_id, score in more.items():
            if (row := rows.places.get(fact_id)) is not None:
                scores[row] += score
        return (rows.facts[row] for row in np.argsort(-scores, kind="stable"))

    def _rows_about(self, subject: Subject) -> _Rows:
        facts = tuple(fact for fact in self._facts.values() if fact.cube.subject is subject)
        vectors = np.zeros((len(facts), self._dim), dtype=np.float32)
        for row, fact in enumerate(facts):
            if fact.vector is not None:
                vectors[row] = fact.vector
        self._rows[subject] = _Rows(facts, {fact.cube.id: row for row, fact in enumerate(facts)}, vectors)
        return self._rows[subject]
