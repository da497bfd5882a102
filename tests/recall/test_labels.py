"""Tags, metadata and what else a memory may be found by: each filter is defined once, and holds wherever one asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

import memoryos
from contract.back_ends import files_on
from memoryos import Kind, Memory, Strategy, load_settings, stores
from memoryos.cube import Turn
from memoryos.errors import InvalidInput
from memoryos.filter import FILTERS, Filter, labels_of, one_of
from memoryos.infrastructure.vault import queries, tables
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import Origin, Role

SAID: dict[str, dict[str, Any]] = {
    "plain": {},
    "work": {"tags": ["work"]},
    "both": {"tags": ["work", "home"], "metadata": {"project": "apollo", "n": 3}},
    "home": {"tags": ["home", 'a "b"', "蜂"], "metadata": {"project": "apollo", "done": True, "path": ["x", {"y": 1}]}},
    "tricky": {
        "tags": ["homework", "work\\"],
        "metadata": {"pro=ject": "a=b", "n": 3.5, "long": "x" * 500, "none": None},
    },
}
CASES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set(SAID)),
    ({"tags": ["work"]}, {"work", "both"}),
    ({"tags": ["work", "home"]}, {"both"}),
    ({"any_tags": ["work", "home"]}, {"work", "both", "home"}),
    ({"any_tags": []}, set()),
    ({"no_tags": ["work"]}, {"plain", "home", "tricky"}),
    ({"no_tags": ["work", "home", "homework"]}, {"plain"}),
    ({"any_tags": ["work", "home"], "no_tags": ["home"]}, {"work"}),
    ({"tags": ['a "b"', "蜂"]}, {"home"}),
    ({"tags": ["work\\"]}, {"tricky"}),
    ({"tags": ["b"]}, set()),
    ({"metadata": {"project": "apollo"}}, {"both", "home"}),
    ({"metadata": {"project": "apollo", "n": 3}}, {"both"}),
    ({"metadata": {"n": 3.0}}, {"both"}),
    ({"metadata": {"n": "3"}}, set()),
    ({"metadata": {"done": True}}, {"home"}),
    ({"metadata": {"done": 1}}, set()),
    ({"metadata": {"none": None}}, {"tricky"}),
    ({"metadata": {"path": ["x", {"y": 1}]}}, {"home"}),
    ({"metadata": {"n": [3, 4]}}, {"both"}),
    ({"metadata": {"n": [3, 3.5]}}, {"both", "tricky"}),
    ({"metadata": {"n": (3, 3.5), "project": ["apollo", "gemini"]}}, {"both"}),
    ({"metadata": {"n": []}}, set()),
    ({"metadata": {"pro=ject": "a=b"}}, {"tricky"}),
    ({"metadata": {"long": "x" * 500}}, {"tricky"}),
    ({"metadata": {"long": "x" * 499}}, set()),
    ({"metadata": {"project": "apollo"}, "no_tags": ["work"]}, {"home"}),
]

ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
DEEP: dict[str, Any] = {}
for _ in range(5_000):
    DEEP = {"x": DEEP}


def opened(folder: Path, **values: Any) -> Memory:
    values = {"embedder": "hashing", **values}
    clock = values.pop("clock", None)
    more = {} if clock is None else {"clock": clock}
    return memoryos.open(folder / "memory.db", user="ann", settings=load_settings(**values), **more)


@contextmanager
def filled(folder: Path) -> Iterator[Memory]:
    with opened(folder) as memory:
        for name, about in SAID.items():
            memory.add(f"Tea is what I say here: {name}.", **about)
        yield memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with filled(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> Iterator[Memory]:
    """The same, for tests that only read."""
    folder = tmp_path_factory.mktemp("labels")
    with files_on(back_end, folder), filled(folder) as found:
        yield found


def named(text: str) -> str:
    return text.rstrip(".").rsplit(" ", 1)[-1]


def listed(memory: Memory, filters: dict[str, Any]) -> set[str]:
    """By the condition in SQL."""
    cubes = tables.cubes
    query = select(cubes.c.document).where(cubes.c.kind == Kind.PAGE.value, queries.labelled(Filter.of(filters)))
    with memory._engine.vault.snapshot() as connection:
        found = [memoryos.cube.from_json(text) for text in connection.scalars(query)]
    return {named(page.payload.turns[0].text) for page in found}


@pytest.mark.parametrize(("filters", "expected"), CASES)
def test_a_search_a_context_and_a_list_find_the_same(
    unchanged: Memory, filters: dict[str, Any], expected: set[str]
) -> None:
    for strategy in Strategy:
        found = unchanged.search("tea", strategy=strategy, filters=filters, pages=20)
        assert {named(hit.cube.payload.turns[0].text) for hit in found.hits} == expected, strategy
        assert {named(page.cube.payload.turns[0].text) for page in found.recent} <= expected
    text = unchanged.context("tea", filters=filters).text
    assert {name for name in SAID if f"here: {name}." in text} == expected
    assert listed(unchanged, filters) == expected
    wanted = Filter.of(filters)
    assert {
        named(page.payload.turns[0].text) for page in unchanged.pages.list() if wanted.admits(labels_of(page))
    } == expected


def test_tags_and_filters_hold_together(memory: Memory) -> None:
    found = memory.search("tea", tags=["work"], filters={"no_tags": ["home"]})
    assert {named(hit.cube.payload.turns[0].text) for hit in found.hits} == {"work"}


def test_the_next_process_finds_the_same(memory: Memory, tmp_path: Path) -> None:
    with opened(tmp_path) as other:
        found = other.search("tea", filters={"metadata": {"project": "apollo"}})
        assert {named(hit.cube.payload.turns[0].text) for hit in found.hits} == {"both", "home"}
        (both,) = [hit for hit in found.hits if hit.cube.metadata.get("n")]
        assert both.to_dict()["metadata"] == both.cube.metadata == {"project": "apollo", "n": 3}


@pytest.mark.file
def test_the_labels_in_the_store_are_those_of_its_cubes(memory: Memory, tmp_path: Path) -> None:
    memory.close()
    assert stores.verify(tmp_path / "memory.db").damages == ()


@pytest.mark.once
@pytest.mark.parametrize(
    ("metadata", "key"),
    [({"n": {"$gte": 3}}, "n"), ({"n": {"$in": [3, 4]}}, "n"), ({"$or": [{"n": 3}, {"n": 4}]}, "$or")],
)
def test_an_operator_is_refused_with_what_to_pass(memory: Memory, metadata: dict[str, Any], key: str) -> None:
    for ask in (memory.search, memory.context):
        with pytest.raises(InvalidInput, match=r"operator.*equal values.*list of alternatives") as caught:
            ask("tea", filters={"metadata": metadata})
        assert caught.value.field == f"filters.metadata.{key}"
    with pytest.raises(InvalidInput, match="operator"):
        memory.pages.list(filters={"metadata": metadata})


def test_a_filter_is_added_by_its_definition_alone(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.wait()  # what is written again from here on gets the label, too
    monkeypatch.setitem(FILTERS, "way", one_of("way", lambda cube: cube.descriptive.origin.value))
    memory.add_many([Turn(role=Role.USER, text="Tea is what I say here: imported.")], origin=Origin.IMPORT)
    memory.add("Tea is what I say here: later.")
    for filters, expected in (
        ({"way": "import"}, {"imported"}),
        ({"way": ["import", "user_input"]}, {"imported", "later"}),
        ({"way": "import", "tags": ["work"]}, set()),
    ):
        found = memory.search("tea", filters=filters)
        assert {named(hit.cube.payload.turns[0].text) for hit in found.hits} == expected
        assert listed(memory, filters) == expected
        assert len(listed(memory, filters)) == len(expected)


@pytest.mark.once
@pytest.mark.parametrize(
    ("filters", "field", "says"),
    [
        ({"project": "apollo"}, "filters", "'project' is unknown"),
        (["work"], "filters", "expected a dict"),
        ({"tags": "work"}, "filters.tags", "expected a list"),
        ({"any_tags": [3]}, "filters.any_tags", "expected text"),
        ({"no_tags": [""]}, "filters.no_tags", "is empty"),
        ({"metadata": "apollo"}, "filters.metadata", "expected a dict"),
        ({"metadata": {3: "x"}}, "filters.metadata", "expected a dict"),
        ({"metadata": {"x": float("nan")}}, "filters.metadata.x", "nan cannot be written as JSON"),
    ],
)
def test_a_wrong_filter_is_refused_by_name(memory: Memory, filters: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        memory.search("tea", filters=filters)
    assert caught.value.field == field
    with pytest.raises(InvalidInput, match=says):
        memory.context("tea", filters=filters)


@pytest.mark.once
@pytest.mark.parametrize(
    ("about", "field", "says"),
    [
        ({"metadata": ["x"]}, "metadata", "expected a dict"),
        ({"metadata": {"x": object()}}, "metadata['x']", "object cannot be written as JSON"),
        ({"metadata": {"x": date(2026, 5, 4)}}, "metadata['x']", "date cannot be written as JSON"),
        ({"metadata": {"x": [1, {"y": float("inf")}]}}, "metadata['x'][1]['y']", "inf cannot be written as JSON"),
        ({"metadata": {"x": {(1, 2): 3}}}, "metadata['x']", "a key of type tuple cannot be written as JSON"),
        ({"metadata": {"x": ENDLESS}}, "metadata['x'][0]", "holds itself"),
        ({"metadata": DEEP}, "metadata['x']['x']['x']...['x']", "nested too deep"),
        ({"metadata": {"x": [1, {"y": [object()]}]}}, "metadata['x'][1]['y'][0]", "object cannot be"),
        ({"metadata": {1: 2}}, "metadata", "the key 1 is no text but int"),
        ({"metadata": {"": 1}}, "metadata", "is empty"),
        ({"metadata": {"x": "y" * 20_000}}, "metadata", "Keep it below"),
        ({"metadata": {"x": "a\x00b"}}, "metadata", "NUL"),
        ({"tags": ["\x1fmetadata:x"]}, "tags", "begins with"),
        ({"ttl": "soon"}, "ttl", "expected a timedelta or seconds"),
        ({"ttl": 0}, "ttl", "not a time in the future"),
        ({"ttl": -5}, "ttl", "not a time in the future"),
        ({"ttl": 1e300}, "ttl", "outside the calendar"),
        ({"ttl": 60, "expires_at": "2999-01-01"}, "ttl", "together with `expires_at`"),
        ({"expires_at": "2001-01-01"}, "expires_at", "is in the past"),
        ({"expires_at": "tomorrow"}, "expires_at", "is not a date"),
        ({"title": ""}, "title", "is empty"),
        ({"source": 7}, "source", "expected text"),
    ],
)
def test_what_is_said_of_a_memory_is_checked(memory: Memory, about: dict[str, Any], field: str, says: str) -> None:
    for add in (memory.add, memory.facts.add):
        with pytest.raises(InvalidInput, match=says) as caught:
            add("Tea again.", **about)
        assert caught.value.field == field
    assert len(memory.pages.list()) == len(SAID)
    with pytest.raises(TypeError):
        memory.add("Tea again.", colour="green")  # type: ignore[call-arg]


LIVES = [{"ttl": 3600}, {"ttl": timedelta(hours=1)}, {"expires_at": "2026-06-01T13:00:00"}]


@pytest.mark.parametrize("end", LIVES, ids=["seconds", "timedelta", "expires_at"])
def test_a_memory_with_an_end_is_found_until_then(tmp_path: Path, clock, end: dict[str, Any]) -> None:
    clock.now = memoryos.clock.parse_time("now", "2026-06-01T12:00:00Z")
    with opened(tmp_path, clock=clock, recent_within_seconds=None) as memory:
        page = memory.add("The zanzibarquux is under the mat.", **end)
        memory.facts.add("Ann keeps a zanzibarquux.", **end)
        clock.advance(minutes=59)
        assert page in {hit.id for hit in memory.search("zanzibarquux").hits}
        assert len(memory.facts.list()) == len(memory.pages.list()) == 1
        clock.advance(minutes=1)
        found = memory.search("zanzibarquux")
        assert (found.hits, found.user_facts, found.recent) == ((), (), ())
        assert "zanzibarquux" not in memory.context("zanzibarquux").text
        assert (list(memory.facts.list()), list(memory.pages.list())) == ([], [])


def test_a_fact_ends_with_the_last_of_its_pages(tmp_path: Path, clock) -> None:
    with opened(tmp_path, clock=clock) as memory:
        memory.add("I live in Oslo.", ttl=3600)
        memory.add("I play the cello.", ttl=3600)
        memory.add("I play the cello.")
        memory.wait()
        ends = {fact.text: fact.governance.lifespan.expires_at for fact in memory.facts.list()}
        assert any("Oslo" in text for text in ends)
        clock.advance(hours=2)
        left = [fact.text for fact in memory.facts.list()]
        assert not any("Oslo" in text for text in left)
        assert any("cello" in text for text in left)
        assert "Oslo" not in memory.context("Where does the user live?").text


def test_a_page_that_has_expired_is_not_read(tmp_path: Path, clock) -> None:
    with opened(tmp_path, clock=clock, recent_within_seconds=3600) as memory:
        memory.add("I live in Oslo.", ttl=60)
        memory.add("I play the cello.")
        clock.advance(hours=2)
        memory.consolidate()
        assert [fact.text for fact in memory.facts.list() if "Oslo" in fact.text] == []
        assert any("cello" in fact.text for fact in memory.facts.list())


def test_what_is_said_of_a_fact_is_kept_and_added_to(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.facts.add("Ann plays the cello.", tags=["music"], metadata={"project": "apollo"}, source="call.txt")
        memory.facts.add("Ann plays the cello.", tags=["work"], metadata={"n": 1})
        (fact,) = memory.facts.list()
        assert fact.descriptive.tags == ("music", "work")
        assert (fact.metadata, fact.descriptive.source) == ({"project": "apollo", "n": 1}, "call.txt")
        assert memory.search("cello", filters={"metadata": {"project": "apollo"}}).user_facts
        assert memory.search("cello", filters={"any_tags": ["work"]}).user_facts
        assert not memory.search("cello", filters={"no_tags": ["work"]}).user_facts


def test_what_rests_on_excluded_pages_alone_is_excluded_too(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.add("I live in Oslo.", tags=["secret"])
        memory.add("I play the cello.", tags=["secret"])
        memory.add("I play the cello.")
        memory.wait()
        assert any("Oslo" in fact.text for fact in memory.search("Where does Ann live?").user_facts)
        kept = [fact.text for fact in memory.search("Ann", filters={"no_tags": ["secret"]}).user_facts]
        assert not any("Oslo" in text for text in kept)
        assert any("cello" in text for text in kept)


def test_a_document_keeps_its_title_and_its_source_with_each_part(tmp_path: Path) -> None:
    long = "The bees of the old monastery fly to the lavender fields. " * 60
    fact = "Agatha keeps her passport in the blue drawer."
    with opened(tmp_path) as memory:
        page = memory.add(f"{long}\n\n{fact}\n\n{long}", title="House  rules", source="https://example.org/rules")
        hit = memory.search("Where does Agatha keep her passport?").hits[0]
        assert hit.id == page
        known = hit.to_dict()
        assert (hit.cube.descriptive.title, hit.cube.descriptive.source) == (
            "House  rules",
            "https://example.org/rules",
        )
        assert (known["title"], known["source"]) == ("House  rules", "https://example.org/rules")
        line = next(one for one in memory.context("Where does Agatha keep her passport?").lines if fact in one.text)
        assert line.text.startswith("(outside) [House rules, https://example.org/rules] ")


def test_a_changed_label_is_seen_by_the_next_search(memory: Memory) -> None:
    (page,) = [page for page in memory.pages.list() if named(page.payload.turns[0].text) == "plain"]
    changed = replace(page, descriptive=replace(page.descriptive, tags=("late",)))
    with memory._engine.vault.write(memory.scope) as writer:
        writer.update([Entry(changed)], Operation.MOVE)
    assert [hit.id for hit in memory.search("tea", tags=["late"]).hits] == [page.id]
    assert listed(memory, {"tags": ["late"]}) == {"plain"}


labels = st.frozensets(st.sampled_from("abcd"))


@given(labels, labels, st.lists(labels, max_size=2), labels)
def test_a_filter_admits_what_it_says(
    held: frozenset[str], all_of: frozenset[str], any_of: list, none_of: frozenset[str]
):
    wanted = Filter(all_of, tuple(any_of), none_of)
    expected = all_of <= held and all(some & held for some in any_of) and not none_of & held
    assert wanted.admits(held) == expected
    assert (wanted & Filter(frozenset("a"))).admits(held) == (expected and "a" in held)


def test_each_part_of_a_document_is_found_by_its_title(open_memory) -> None:
    memory = open_memory()
    for title, way in (("Boiler handbook", "slowly"), ("Fountain handbook", "quickly")):
        memory.add(f"Open the valve {way}.", title=title)
        for number in range(8):
            memory.add(f"We baked cake number {number}.")
    for title, way in (("boiler", "slowly"), ("fountain", "quickly")):
        assert way in memory.search(f"How do I open the valve of the {title}?").hits[0].text
    found = [memory.search(word, min_score=0.9).hits for word in ("boiler", "fountain", "handbook", "stove")]
    assert [len(hits) for hits in found] == [1, 1, 2, 0]
