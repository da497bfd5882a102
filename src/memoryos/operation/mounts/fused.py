"""Fused: the results of several memories, ranked as one memory.

Scores of two memories cannot be compared, because each is scaled by the best and the farthest turn of its own. So the
turns that each offers, with those around them, become one small index with the statistics of all turns, and the normal
code ranks them. A memory without relevant turns gets no place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.records import StoredPassage
from memoryos.models.embedder import Embedder
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import Corpus, TurnIndex
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import Hit, Recall, Strategy, TurnHit
from memoryos.operation.recall.offer import Found, Totals, Wanted
from memoryos.operation.recall.ranking import best_turns
from memoryos.operation.recall.search import judged, pages_of, ranking, reranked
from memoryos.operation.recall.topics import Home

Offers = Mapping[str | None, Found]  #: by the name of the mount; None is the own memory, and comes first


def fused(own: Recall, offers: Offers, asked: Asked, wanted: Wanted, lexicon: Embedder) -> Recall:
    """The owner's recall with the turns of all memories, best first, and with the facts of mounts."""
    cubes, mounts = _pages(offers, wanted.search.filters)
    resident = Resident(len(asked.vector), lexicon, 0)
    resident.turns = _index(offers, asked, frozenset(cubes))
    ranked = [replace(turn, mount=mounts[turn.cube.id]) for turn in _turns(resident, cubes, asked, wanted)]
    turns = reranked(ranked, asked, wanted.search)
    homes = {hit.id: Home(hit.segment, hit.topic) for hit in own.hits}
    elsewhere = Home(topic="")
    found = {turn.cube.id: homes.get(turn.cube.id, elsewhere) for turn in turns}
    together = replace(
        own, hits=tuple(pages_of(turns, found)), turns=tuple(turns), knowledge=_knowledge(own, offers, wanted)
    )
    return judged(together, resident, asked, wanted.search)


def _turns(resident: Resident, cubes: Mapping[str, MemCube], asked: Asked, wanted: Wanted) -> list[TurnHit]:
    search = wanted.search
    # The paper compares pages of its second stage by their cosine.
    strategy = Strategy.DENSE if search.strategy is Strategy.TWO_STAGE else search.strategy
    # The sessions are told apart by their memories now; each has looked for the one that was asked for.
    again = replace(search, strategy=strategy, filters=replace(search.filters, session=None))

    def read(ids: Iterable[str]) -> dict[str, MemCube]:
        return {cube_id: cubes[cube_id] for cube_id in ids}

    return best_turns(ranking(resident, asked, again), read, wanted.pages, explain=search.explain)


def _pages(offers: Offers, filters: Filters) -> tuple[dict[str, MemCube], dict[str, str | None]]:
    """The pages and their mounts; a page in several memories counts for the first."""
    cubes: dict[str, MemCube] = {}
    mounts: dict[str, str | None] = {}
    for name, found in offers.items():
        for cube_id, cube in found.pages.items():
            if filters.admits(cube):  # an adapter may tell all that it has
                cubes.setdefault(cube_id, cube)
                mounts.setdefault(cube_id, name)
    return cubes, mounts


def _index(offers: Offers, asked: Asked, pages: frozenset[str]) -> TurnIndex:
    totals = [found.known(asked.vector) for found in offers.values()]
    turns = sum(known.turns for known in totals)
    corpus = Corpus(
        pages=pages,
        turns=turns,
        mean_length=sum(known.words for known in totals) / max(turns, 1),
        lowest=min(known.lowest for known in totals),
        frequencies=lambda stems: _added(totals, stems),
    )
    index = TurnIndex(len(asked.vector), corpus)
    index.put(list(_passages(offers)))
    return index


def _passages(offers: Offers) -> Iterator[StoredPassage]:
    """The turns of all memories, each page once; sessions of two memories are kept apart."""
    seen: set[str] = set()
    behind = 0  # positions begin again in each memory
    for number, found in enumerate(offers.values()):
        here = [passage for passage in found.passages if passage.page not in seen]
        for passage in here:
            session = f"{number}:{'' if passage.session is None else 's' + passage.session}"
            yield passage._replace(position=passage.position + behind, session=session)
        seen.update(passage.page for passage in here)
        behind += max((passage.position for passage in here), default=0)


def _added(totals: Sequence[Totals], stems: Collection[str]) -> dict[str, int]:
    each = [known.frequencies(stems) for known in totals]
    return {form: sum(found.get(form, 0) for found in each) for form in stems}


def _knowledge(own: Recall, offers: Offers, wanted: Wanted) -> tuple[Hit, ...]:
    """The facts of mounts, each once, without those that the owner's memory also has."""
    known = {hit.id for hit in (*own.user_facts, *own.agent_facts)}
    told: dict[str, Hit] = {}
    for name, found in offers.items():
        for fact in found.facts if name is not None else ():
            if fact.id not in known and wanted.filters.allows(fact.cube):
                told.setdefault(fact.id, replace(fact, mount=name))
    return tuple(sorted(told.values(), key=lambda hit: -hit.score)[: wanted.facts])
