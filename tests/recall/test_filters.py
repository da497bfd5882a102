"""Filters come before the ranking: they change what may be found, never how much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memoryos
from contract.back_ends import opening_on
from memoryos import Kind, MemCube, Memory, Scope, Strategy, Tier, TurnHit, load_settings
from memoryos.cube import Turn
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import Role
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.recall.filters import Admitted

from .conftest import WORDS, pages_in
from .picture import Said, Sheet, indexed

START = datetime(2024, 1, 1, tzinfo=UTC)
DAYS = 260


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> Iterator[Memory]:
    """A page a day about tea, most of them better matches than the few in March."""
    path = tmp_path_factory.mktemp("filters") / "memory.db"
    knobs = load_settings(embedder="hashing", mid_term_capacity=20)
    with opening_on(back_end):
        opened = memoryos.open(path, user="ann", settings=knobs)
    with opened:
        days = [START + timedelta(days=day) for day in range(DAYS)]
        opened.add_many(
            Turn(role=Role.USER, text="We had tea" if day.month == 3 else "Green tea, black tea, tea!", at=day)
            for day in days
        )
        yield opened


@pytest.mark.parametrize("strategy", Strategy)
def test_a_period_is_searched_as_if_there_were_nothing_else(memory: Memory, strategy: str) -> None:
    found = memory.search(
        "tea", strategy=strategy, since="2024-03-01T00:00Z", until="2024-03-31T00:00Z", pages=20, archive=True
    )
    assert len(found.hits) == 20
    assert {hit.at.month for hit in found.hits} == {3}


def test_both_ends_belong_to_the_period(memory: Memory) -> None:
    day = START + timedelta(days=70)
    assert [hit.at for hit in memory.search("tea", since=day, until=day).hits] == [day]


def test_a_period_without_a_turn_finds_none(memory: Memory) -> None:
    assert memory.search("tea", since="2030-01-01T00:00Z").hits == ()


@pytest.mark.parametrize(
    ("period", "field"),
    [
        ({"since": "yesterday"}, "since"),
        ({"until": "2024-03-01 or so"}, "until"),
        ({"since": "2024-03-02T00:00Z", "until": "2024-03-01T00:00Z"}, "until"),
    ],
)
def test_a_bad_period_is_refused(memory: Memory, period: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.search("tea", **period)
    assert caught.value.field == field


class Shortest:
    """Likes short texts."""

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        return [-len(text) / (1 + question.count("tea")) for text in texts]


@pytest.mark.parametrize("strategy", ["hybrid", "two_stage"])
def test_a_reranker_has_the_last_word(tmp_path: Path, strategy: str) -> None:
    knobs = load_settings(embedder="hashing")
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=knobs, reranker=Shortest()) as memory:
        for text in ("tea tea tea", "tea and much else, all day long", "tea"):
            memory.add(text)
        found = memory.search("tea", strategy=strategy, explain=True)
    assert [hit.text for hit in found.hits] == [
        "user: tea",
        "user: tea tea tea",
        "user: tea and much else, all day long",
    ]
    assert [turn.parts["rerank"] for turn in found.turns] == [turn.score for turn in found.turns]
    assert all(list(turn.parts) == ["rerank"] for turn in found.turns)


# Labels, tiers and kinds

RARE, MANY = 2, 15  # pages with a tag: less than asked for, and more
TAGGED = 400


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> Iterator[Memory]:
    """400 pages about tea, of which some worse matches carry tags, in several sessions and all tiers."""
    path = tmp_path_factory.mktemp("crowd") / "memory.db"
    knobs = load_settings(
        embedder="hashing", mid_term_capacity=10, short_term_capacity=3, heat_threshold=1000, segment_threshold=1.2
    )
    with opening_on(back_end):
        opened = memoryos.open(path, user="ann", settings=knobs)
    with opened:
        for session in ("monday", "tuesday"):
            for kind, pages in (("plain", TAGGED // 2 - 3), ("rare", RARE // 2), ("many", MANY // 2)):
                tags = {"plain": (), "rare": ("rare", "odd"), "many": ("many", "odd")}[kind]
                opened.of(Scope(user="ann", session=session)).add_many(
                    [said(kind, session, number) for number in range(pages)], tags=tags
                )
        opened.add("the last of many cups of tea", tags=["many", "odd"])
        opened.wait()
        yield opened


def said(kind: str, session: str, number: int) -> Turn:
    topic = " ".join([WORDS[number % 30]] * 6)
    words = "tea tea green tea" if kind == "plain" else "a cup of something called tea"
    return Turn(role=Role.USER, text=f"{topic} {kind} {session} {number}: {words}", at=START)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("pages", [1, 2, 10])
def test_a_rare_tag_is_found_in_full(crowd: Memory, strategy: Strategy, pages: int) -> None:
    for tag, there in (("rare", RARE), ("many", MANY)):
        found = crowd.search("green tea", strategy=strategy, tags=[tag], pages=pages, archive=True)
        beside = len(found.recent) if strategy is Strategy.TWO_STAGE else 0  # it finds STM beside what it was asked for
        assert len(found.hits) == min(pages, there - beside) + beside
        assert all(tag in hit.cube.descriptive.tags for hit in (*found.hits, *found.recent))
        assert {turn.cube.id for turn in found.turns} == {hit.id for hit in found.hits}


@pytest.mark.parametrize("strategy", Strategy)
def test_of_several_tags_a_page_must_have_all(crowd: Memory, strategy: Strategy) -> None:
    found = crowd.search("tea", strategy=strategy, tags=["odd", "rare"], pages=50, archive=True)
    assert len(found.hits) == RARE
    assert crowd.search("tea", strategy=strategy, tags=["rare", "many"], archive=True).hits == ()
    assert crowd.search("tea", strategy=strategy, tags=["nobody's"], archive=True).hits == ()


@pytest.mark.parametrize("strategy", Strategy)
def test_a_session_is_searched_alone(crowd: Memory, strategy: Strategy) -> None:
    found = crowd.search("tea", strategy=strategy, session="monday", tags=["odd"], pages=50, archive=True)
    assert len(found.hits) == RARE // 2 + MANY // 2
    assert {hit.cube.scope.session for hit in found.hits} == {"monday"}
    assert crowd.search("tea", strategy=strategy, session="sunday").hits == ()
    assert crowd.search("tea", strategy=strategy, session="sunday").recent == ()


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("tiers", [["stm"], ["mtm"], ["archive"], ["stm", Tier.ARCHIVE], ["lpm"]])
def test_a_tier_is_searched_alone(crowd: Memory, strategy: Strategy, tiers: Sequence[str]) -> None:
    found = crowd.search("tea", strategy=strategy, tiers=tiers)
    assert bool(found.hits) == (tiers != ["lpm"])
    assert {hit.cube.tier.value for hit in found.hits} <= set(tiers)
    assert bool(found.recent) == ("stm" in tiers)


def test_the_archive_is_a_tier_like_others(crowd: Memory) -> None:
    everywhere = crowd.search("tea", pages=50)
    assert pages_in(everywhere) == pages_in(crowd.search("tea", pages=50, tiers=list(Tier)))
    without = crowd.search("tea", archive=False)
    assert pages_in(without) == pages_in(crowd.search("tea", tiers=["stm", "mtm", "lpm"]))


@given(
    st.lists(st.sampled_from(["odd", "rare", "many"]), max_size=2, unique=True),
    st.sampled_from([(), ("mtm",), ("stm", "archive"), ("mtm", "archive")]),
    st.sampled_from([None, "monday", "tuesday"]),
    st.sampled_from([strategy for strategy in Strategy if strategy is not Strategy.TWO_STAGE]),
    st.sampled_from([1, 7, 40]),
)
@settings(max_examples=40)
def test_filtering_is_ranking_all_and_then_choosing(
    crowd: Memory, tags: list[str], tiers: Sequence[str], session: str | None, strategy: Strategy, pages: int
) -> None:
    def fits(cube: MemCube) -> bool:
        return (
            set(tags) <= set(cube.descriptive.tags)
            and (not tiers or cube.tier.value in tiers)
            and session in (None, cube.scope.session)
        )

    everything = [turn for turn in _ranked(crowd, strategy) if fits(turn.cube)]
    found = crowd.search("green tea", strategy=strategy, tags=tags, tiers=tiers, session=session, pages=pages)
    assert [turn.cube.id for turn in found.turns] == [turn.cube.id for turn in everything[:pages]]
    assert [turn.score for turn in found.turns] == [turn.score for turn in everything[:pages]]


@cache
def _ranked(memory: Memory, strategy: Strategy) -> tuple[TurnHit, ...]:
    return memory.search("green tea", strategy=strategy, pages=2 * TAGGED).turns


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> Iterator[Memory]:
    """Something of every kind; the facts of Ann rest on a page that is tagged. To be searched, not to be changed."""
    with opening_on(back_end):
        opened = _of_every_kind(tmp_path_factory.mktemp("known") / "memory.db")
    with opened:
        yield opened


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[Memory]:
    """The same, to be changed."""
    with _of_every_kind(tmp_path / "memory.db") as opened:
        yield opened


def _of_every_kind(path: Path) -> Memory:
    knobs = load_settings(embedder="hashing", short_term_capacity=1, heat_threshold=1000)
    opened = memoryos.open(path, user="ann", settings=knobs)
    home = Scope(user="ann", session="home")
    opened.of(home).add("I live in Lisbon and I love tea. My name is Ann.", "Noted!", tags=["me"])
    opened.add("Green tea is the best.")
    opened.consolidate()
    opened.facts.add("Ann has a kettle")
    opened.profile.set("role", "helper", subject="agent")
    return opened


LISTS = {
    Kind.PAGE: ("hits", "turns", "recent"),
    Kind.FACT: ("user_facts", "agent_facts"),
    Kind.TRAIT: ("traits",),
    Kind.PROFILE: ("profile",),
    Kind.SEGMENT: ("segments",),
}


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize(
    "kinds", [["fact"], ["page"], [Kind.PROFILE, "trait"], ["segment"], [kind.value for kind in LISTS]]
)
def test_only_the_kinds_asked_for_are_found(known: Memory, strategy: Strategy, kinds: Sequence[str]) -> None:
    found = known.search("tea", strategy=strategy, kinds=kinds)
    for kind, lists in LISTS.items():
        assert any(getattr(found, name) for name in lists) <= (kind.value in kinds)
    for kind in ("page", "fact", "profile", "segment"):
        assert any(getattr(found, name) for name in LISTS[Kind(kind)]) == (kind in kinds)


def test_segments_are_found_on_demand_and_counted_as_visited(changing: Memory) -> None:
    assert changing.search("tea").segments == ()
    (segment, *_) = changing.search("tea", kinds=["segment"], explain=True).segments
    assert segment.score == pytest.approx(sum(segment.parts.values()))
    changing.add("and now?")
    changing.wait()
    assert changing.get(segment.id).behaviour.visits == 2, "for a page of it, and for itself"


def test_what_was_derived_has_the_labels_of_its_pages(known: Memory) -> None:
    derived = known.search("tea", kinds=["fact", "profile"])
    for labels in ({"tags": ["me"]}, {"session": "home"}):
        found = known.search("tea", kinds=["fact", "profile", "segment"], **labels)
        assert {hit.text for hit in derived.user_facts} - {hit.text for hit in found.user_facts} == {"Ann has a kettle"}
        assert found.profile == derived.profile[:-1], "what was stated rests on no page"
        assert len(found.segments) == 1
    for labels in ({"tags": ["other"]}, {"session": "other"}):
        found = known.search("tea", kinds=[kind.value for kind in LISTS], **labels)
        assert not any(getattr(found, name) for lists in LISTS.values() for name in lists)


def test_a_context_takes_the_same_filters(known: Memory) -> None:
    assert "Lisbon" in known.context("tea", tags=["me"]).text
    assert "best" not in known.context("tea", tags=["me"]).text
    assert "best" not in known.context("tea", kinds=["fact"]).text
    assert known.context("tea", kinds=["fact"], session="other").text == ""


def test_labels_follow_the_log(changing: Memory) -> None:
    page = changing.pages.list()[-1]
    assert changing.search("best", tags=["new"]).hits == ()
    with changing._engine.vault.write(page.scope) as writer:
        changed = replace(page, descriptive=replace(page.descriptive, tags=("new",)))
        writer.update([Entry(changed)], Operation.MOVE)
    for strategy in Strategy:
        assert [hit.id for hit in changing.search("best", strategy=strategy, tags=["new"]).hits] == [page.id]


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"tiers": ["attic"]}, "tiers"),
        ({"tiers": "stm"}, "tiers"),
        ({"tiers": 7}, "tiers"),
        ({"tiers": [["stm"]]}, "tiers"),
        ({"tiers": ["stm"], "archive": False}, "archive"),
        ({"kinds": ["thought"]}, "kinds"),
        ({"kinds": [None]}, "kinds"),
        ({"kinds": ["activation"]}, "kinds"),
        ({"tags": "work"}, "tags"),
        ({"tags": [""]}, "tags"),
        ({"tags": [7]}, "tags"),
        ({"session": ""}, "session"),
        ({"session": 7}, "session"),
    ],
)
def test_a_bad_filter_is_refused(known: Memory, filters: dict[str, object], field: str) -> None:
    for ask in (known.search, known.context):
        with pytest.raises(InvalidInput) as caught:
            ask("tea", **filters)
        assert caught.value.field == field


@pytest.mark.once
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3)), max_size=40),
    st.integers(0, 12),
    st.sets(st.integers(0, 150)),
)
def test_the_first_pages_are_those_of_all_rows_in_order(pages, most, hidden):
    """Nearest or latest, with many that are as near as others."""
    index = indexed(
        Sheet(f"page{number}", number, tuple(Said((), vector=(near, 1.0)) for _ in range(turns)))
        for number, (turns, near) in enumerate(pages, 1)
    )
    rows = [row for row in range(len(index)) if row not in hidden]
    admitted, question = Admitted(index, np.isin(np.arange(len(index)), rows)), np.array((1, 0), np.float32)
    nearest = sorted(rows, key=lambda row: -index.vectors.dot(question)[row])
    latest = sorted(rows, key=lambda row: -row)
    assert admitted.nearest_pages(question, most) == firsts(index, nearest)[:most]
    assert admitted.latest_pages(most) == firsts(index, latest)[:most][::-1]


def firsts(index: TurnIndex, rows: Sequence[int]) -> list[str]:
    return list(dict.fromkeys(index.place(row).page for row in rows))


@pytest.mark.once
def test_of_many_turns_only_the_first_are_looked_at(monkeypatch):
    sheets = (Sheet(f"page{number}", number, (Said((), vector=(number / 4, 0)),) * 3) for number in range(1, 400))
    index, looked = indexed(sheets), list[int]()
    place = TurnIndex.place
    monkeypatch.setattr(TurnIndex, "place", lambda self, row: looked.append(row) or place(self, row))
    admitted = Admitted(index, index.alive)
    assert admitted.latest_pages(2) == ["page398", "page399"]
    assert admitted.nearest_pages(np.array((1, 0), np.float32), 2) == ["page399", "page398"]
    assert len(looked) <= 24
