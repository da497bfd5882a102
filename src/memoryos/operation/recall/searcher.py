"""Searcher: searches one store, and offers its results for ranking with other memories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.records import StoredPassage
from memoryos.kinds import Kind, Subject
from memoryos.language.words import stem
from memoryos.operation.consolidation.promotion import persona_scope
from memoryos.operation.index.resident import Resident
from memoryos.operation.recall.filters import SEARCHABLE, Filters
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import Hit, Recall
from memoryos.operation.recall.moment import former
from memoryos.operation.recall.offer import Found, Totals, Wanted
from memoryos.operation.recall.search import Search, Source, recall
from memoryos.operation.recall.sources import Sources
from memoryos.scope import Scope

T = TypeVar("T")

_TOLD_WHOLE = tuple(kind for kind in SEARCHABLE if kind not in (Kind.PAGE, Kind.SEGMENT))


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches the memories of one store without writing."""

    sources: Sources
    settings: Settings

    def recall(self, owner: Scope, asked: Asked, search: Search) -> Recall:
        """Return everything the owner's tiers hold for the question."""
        return self._with_persona(owner, asked, search, lambda recalled, _: recalled)

    def offer(self, owner: Scope, asked: Asked, search: Search) -> tuple[Recall, Found]:
        """Return the same, with what another memory needs to rank the turns with its own."""
        return self._with_persona(
            owner, asked, search, lambda recalled, source: (recalled, _told(recalled, source, asked))
        )

    def latest(self, owner: Scope, wanted: Wanted) -> Found:
        """Return the pages that pass the filters as hits without a question, latest first."""
        home = persona_scope(owner, self.settings)
        with self.sources.then(owner, wanted.filters) as source:
            pages = _latest_pages(source, wanted.filters, wanted.pages)
            facts = _held(source, source, wanted.filters)
            if home != owner.owner:
                with self.sources.then(home, wanted.filters) as persona:
                    facts += _held(persona, source, wanted.filters)
        return Found(pages, (), sorted(facts, key=lambda hit: hit.at, reverse=True)[: wanted.facts])

    def _with_persona(self, owner: Scope, asked: Asked, search: Search, use: Callable[[Recall, Source], T]) -> T:
        home = persona_scope(owner, self.settings)

        def found(source: Source) -> T:
            source = source.looking_back(search.filters, self.sources.embedder)
            under = source.under(search)
            if home == owner.owner:
                return use(recall(source, source, asked, under, self.settings), source)
            with self.sources.of(home, source.reader) as persona:
                return use(
                    recall(
                        source, persona.looking_back(search.filters, self.sources.embedder), asked, under, self.settings
                    ),
                    source,
                )

        pages = search.pages or self.settings.recall_pages
        return self.sources.answer(owner, asked, search, pages, found)


def _told(recalled: Recall, source: Source, asked: Asked) -> Found:
    pages = {hit.id: hit.cube for hit in recalled.hits}
    with source.resident.lock:
        told = source.resident.turns.pages_around(pages)
    passages = [passage for passage in source.reader.passages(told) if passage.part]
    facts = [*recalled.user_facts, *recalled.agent_facts]
    return Found(pages, passages, facts, _totals(source.resident, passages, asked))


def _totals(resident: Resident, passages: Iterable[StoredPassage], asked: Asked) -> Totals:
    """The statistics of all turns of the resident."""
    with resident.lock:
        index = resident.turns
        if corpus := index.corpus:  # its index can only be read during the search
            stems = {stem(word) for passage in passages for word in passage.words.split()}
            known = dict(corpus.frequencies(stems))
            return Totals(corpus.turns, round(corpus.turns * corpus.mean_length), corpus.lowest, _asked_of(known))
        cosines = index.vectors.dot(asked.vector)[index.alive]
        words = int(index.lengths[index.alive].sum())
        return Totals(len(cosines), words, float(cosines.min(initial=1.0)), _counted_by(resident))


def _asked_of(known: Mapping[str, int]) -> Callable[[Collection[str]], Mapping[str, int]]:
    return lambda stems: {form: known.get(form, 0) for form in stems}


def _counted_by(resident: Resident) -> Callable[[Collection[str]], Mapping[str, int]]:
    def counted(stems: Collection[str]) -> Mapping[str, int]:
        with resident.lock:
            return resident.turns.frequencies(stems)

    return counted


def _latest_pages(source: Source, filters: Filters, limit: int) -> dict[str, MemCube]:
    if Kind.PAGE not in filters.kinds:
        return {}
    with source.resident.lock:
        index = source.resident.turns
        rows = np.flatnonzero(replace(filters, classes=source.classes).admitted(index).rows)
        latest = rows[np.lexsort((-index.order[rows], -index.said_at[rows]))]
        ids = list(dict.fromkeys(index.place(row)[0] for row in latest.tolist()))[:limit]
    cubes = source.then(ids, filters)
    return {cube_id: cubes[cube_id] for cube_id in ids if cube_id in cubes}


def _held(persona: Source, pages: Source, filters: Filters) -> list[Hit]:
    """The memories of LPM that pass the filters; they also have the labels and times of their pages."""
    held = [entry for kind in _TOLD_WHOLE for entry in persona.resident.entries(kind)]
    replaced = _TOLD_WHOLE if filters.looks_back else (Kind.FACT,) if filters.until else ()
    held += [entry for kind in replaced for subject in Subject for entry in former(persona.reader, subject, kind)]
    permitted = persona.permitted(held, filters)
    with pages.resident.lock:
        admitted = filters.entries(permitted, pages.resident.turns)
    return [Hit(entry.cube, 0.0) for entry in persona.entries_then(admitted, filters)]
