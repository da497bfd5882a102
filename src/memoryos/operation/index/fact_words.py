"""The words of an owner's facts, so that a question finds a fact by a name or a number, however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from memoryos.cube import MemCube
from memoryos.language.bm25 import idf
from memoryos.language.words import index_words, stem


class FactWords:
    """The stems of facts, by fact and by stem. Not safe for threads: its owner holds a lock."""

    def __init__(self) -> None:
        self._stems: dict[str, frozenset[str]] = {}  # by the id of the fact
        self._facts: dict[str, set[str]] = {}  # ids, by stem

    def put(self, fact: MemCube) -> None:
        """Take in a fact, or its present words."""
        self.drop(fact.id)
        self._stems[fact.id] = _stems(fact.text)
        for form in self._stems[fact.id]:
            self._facts.setdefault(form, set()).add(fact.id)

    def drop(self, fact_id: str) -> None:
        """Let go of a fact, if it is here."""
        for form in self._stems.pop(fact_id, ()):
            self._facts[form].discard(fact_id)
            if not self._facts[form]:
                del self._facts[form]

    def clear(self) -> None:
        """Let go of all facts."""
        self._stems.clear()
        self._facts.clear()

    @property
    def facts(self) -> Iterable[str]:
        """The ids of all facts."""
        return self._stems.keys()

    def weights(self, words: Iterable[str], among: Collection[str] | None = None) -> dict[str, float]:
        """The stems of a question's words, each with its idf among the facts as a part of their sum.

        Only the facts `among` these ids are counted; None: all.
        """
        forms = {stem(word) for word in words}
        having = {form: self._facts.get(form, set()) for form in forms}
        if among is not None:
            having = {form: facts.intersection(among) for form, facts in having.items()}
        total_facts = len(self._stems if among is None else among)
        weights = {form: float(idf(len(facts), total_facts)) for form, facts in having.items()}
        total = sum(weights.values())
        return {form: weight / total for form, weight in weights.items()} if total else {}

    def shares(self, weights: Mapping[str, float]) -> Mapping[str, float]:
        """How much of the weight each fact has that has some of these words, from 0 to 1, by its id."""
        found: dict[str, float] = defaultdict(float)
        for form, weight in weights.items():
            for fact_id in self._facts.get(form, ()):
                found[fact_id] += weight
        return found


def share_of(text: str, weights: Mapping[str, float]) -> float:
    """How much of the weight of a question's words a text has, from 0 to 1."""
    return sum(weights[form] for form in _stems(text) & weights.keys())


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, index_words(text)))
