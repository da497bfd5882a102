"""Lists and counts: filters, and cursors that neither skip nor repeat what was there when the list began."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.back_ends import files_on
from memoryos import AsyncMemoryOS, Memory, MemoryOS, Role, Subject, Tier, Turn, load_settings
from memoryos.errors import InvalidInput
from memoryos.listing import Listing, cursor_after

START = datetime(2024, 1, 1, tzinfo=UTC)
SETTINGS = {"embedder": "hashing", "short_term_capacity": 3, "knowledge_capacity": 4}


@pytest.fixture
def store(tmp_path: Path, back_end: str) -> Iterator[MemoryOS]:
    with (
        files_on(back_end, tmp_path),
        MemoryOS.open(tmp_path / "lists.db", settings=load_settings(**SETTINGS)) as opened,
    ):
        yield opened


@pytest.fixture
def memory(store: MemoryOS) -> Memory:
    """Twelve pages of two sessions, one a day, said by Ann and Bob in turn."""
    for number in range(12):
        session = "even" if number % 2 == 0 else "odd"
        said = Turn(role=Role.USER, text=f"Note {number}.", speaker="Ann", at=START + timedelta(days=number))
        answer = Turn(role=Role.ASSISTANT, text="Noted.", speaker="Bob", at=START + timedelta(days=number))
        some = store.memory("ann", session=session)
        some.add_many([said, answer] if number % 3 == 0 else [said], tags=["third"] if number % 3 == 0 else ())
    return store.memory("ann")


def in_steps(listed: Callable[..., Listing[Any]], limit: int, between: Callable[[], object] = list) -> list[Any]:
    """All items, so many at a time; `between` is called after each step."""
    found, cursor = [], None
    while True:
        some = listed(limit=limit, cursor=cursor)
        assert len(some) <= limit
        found += some
        between()
        if (cursor := some.cursor) is None:
            return found


def notes(pages: list[Any]) -> list[int]:
    return [int(page.text.split("Note ")[1].split(".")[0]) for page in pages]


@pytest.mark.parametrize("limit", [1, 5, 12, 13])
def test_pages_are_listed_in_steps(memory, limit):
    assert notes(in_steps(memory.pages.list, limit)) == list(range(12))
    assert memory.pages.list(limit=12).cursor is None


@pytest.mark.parametrize("limit", [1, 5, 12])
def test_pages_are_listed_in_steps_the_latest_first(memory, limit):
    latest = lambda **place: memory.pages.list(latest=True, **place)  # noqa: E731
    assert notes(in_steps(latest, limit)) == list(reversed(range(12)))
    assert notes(in_steps(lambda **place: latest(tags=["third"], **place), limit)) == [9, 6, 3, 0]
    memory.snapshots.create("then")
    memory.add("Note 12.")
    assert notes(in_steps(lambda **place: latest(as_of="then", **place), limit)) == list(reversed(range(12)))
    assert notes(latest(limit=1)) == [12]


def test_the_cursor_of_one_order_is_none_of_the_other(memory):
    for first, second in ((True, False), (False, True)):
        cursor = memory.pages.list(limit=2, latest=first).cursor
        with pytest.raises(InvalidInput, match="does not come from this listing"):
            memory.pages.list(limit=2, latest=second, cursor=cursor)
    with pytest.raises(InvalidInput, match="latest"):
        memory.pages.list(latest="yes")


def test_what_comes_and_goes_meanwhile_is_no_reason_to_skip_or_repeat(memory):
    present = [page.id for page in memory.pages.list()]

    def change() -> None:
        memory.add("Something else.")
        memory.delete(memory.pages.list(limit=1)[0].id)

    found = [page.id for page in in_steps(memory.pages.list, 2, change)]
    assert len(found) == len(set(found))
    left = {page.id for page in memory.pages.list()}
    assert [one for one in present if one in left] == [one for one in found if one in left and one in present]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"session": "odd"}, [1, 3, 5, 7, 9, 11]),
        ({"session": "never"}, []),
        ({"since": START + timedelta(days=10)}, [10, 11]),
        ({"until": "2024-01-02T00:00Z"}, [0, 1]),
        ({"tags": ["third"]}, [0, 3, 6, 9]),
        ({"tags": ["third", "fourth"]}, []),
        ({"filters": {"no_tags": ["third"]}, "session": "even"}, [2, 4, 8, 10]),
        ({"filters": {"any_tags": ["third", "fourth"]}}, [0, 3, 6, 9]),
        ({"speaker": "Bob"}, [0, 3, 6, 9]),
        ({"speaker": "Bob", "role": "user"}, []),
        ({"role": Role.ASSISTANT, "session": "odd"}, [3, 9]),
        ({"tier": Tier.STM}, [9, 10, 11]),
    ],
)
def test_filters_say_what_is_listed_and_counted(memory, filters, expected):
    memory.wait()
    assert notes(memory.pages.list(**filters)) == expected
    assert notes(in_steps(lambda **place: memory.pages.list(**filters, **place), 2)) == expected
    assert memory.pages.count(**filters) == len(expected)


def test_a_fact_has_an_id_and_is_listed(memory):
    first = memory.facts.add("likes jazz")
    assert memory.facts.add("likes jazz") == first
    assert memory.get(first).text == "likes jazz"
    assert memory.facts.add("answers in rhyme", subject=Subject.AGENT) == memory.facts.list(subject="agent")[0].id
    assert [fact.id for fact in memory.facts.list()] == [first]
    assert (memory.facts.count(), memory.facts.count(subject="agent")) == (1, 1)


def test_facts_beyond_the_capacity_are_listed_in_the_archive(memory):
    stated = [f"owns {number} green {thing}" for number, thing in enumerate("boats lamps cups hats doors pens".split())]
    ids = [memory.facts.add(fact) for fact in stated]
    archived = in_steps(lambda **place: memory.facts.list(tier="archive", **place), 1)
    known = in_steps(memory.facts.list, 1)
    assert [fact.id for fact in [*archived, *known]] == ids
    assert (memory.facts.count(), memory.facts.count(tier=Tier.ARCHIVE)) == (4, 2)


def test_a_profile_field_has_an_id(memory):
    assert memory.get(memory.profile.set("name", "Ann")).text


def test_segments_are_listed_in_steps(memory):
    memory.wait()
    whole = memory.segments.list(archive=True)
    assert memory.segments.count(archive=True) == len(whole) > 0
    found = in_steps(lambda **place: memory.segments.list(archive=True, **place), 1)
    assert sorted(view.cube.id for view in found) == sorted(view.cube.id for view in whole)
    assert [view.heat for view in whole] == sorted((view.heat for view in whole), reverse=True)


@pytest.mark.parametrize(
    "only",
    [
        {"tags": ["third"]},
        {"since": START + timedelta(days=4), "until": START + timedelta(days=6)},
        {"session": "odd", "speaker": "Bob"},
        {"filters": {"no_tags": ["third"]}},
        {"tags": ["nothing"]},
    ],
    ids=["tags", "period", "speaker", "filters", "nothing"],
)
def test_segments_that_hold_a_page_which_passes_are_listed(memory, only):
    memory.wait()
    passing = {page.id for page in memory.pages.list(**only)}
    whole = memory.segments.list(archive=True)
    wanted = [view.cube.id for view in whole if passing & set(view.page_ids)]
    assert [view.cube.id for view in memory.segments.list(archive=True, **only)] == wanted
    assert memory.segments.count(archive=True, **only) == len(wanted)
    steps = in_steps(lambda **place: memory.segments.list(archive=True, **only, **place), 1)
    assert sorted(view.cube.id for view in steps) == sorted(wanted)


def test_users_and_scopes_are_listed_in_steps(store):
    names = ["ann", "bob", "红", "a/b", "Zoe"]
    for name in names:
        store.memory(name).add("Hello.")
    store.memory("bob", agent=None).add("Hello.")
    store.memory("bob", agent="coder", namespace=("work", "x")).add("Hello.")
    assert in_steps(store.admin.users, 2) == sorted(names)
    assert in_steps(store.admin.scopes, 2) == list(store.admin.scopes())
    assert len(store.admin.scopes()) == 7
    assert store.admin.count_users() == 5
    assert store.admin.users(tenant="other") == []


@pytest.mark.once
@pytest.mark.parametrize(
    "cursor", ["", "x", 5, "!!!!", cursor_after("facts", 1), cursor_after("pages", -1), "A" * 9999]
)
def test_a_cursor_of_something_else_is_refused(memory, cursor):
    with pytest.raises(InvalidInput) as caught:
        memory.pages.list(limit=1, cursor=cursor)
    assert caught.value.field == "cursor"


@pytest.mark.once
@pytest.mark.parametrize("key", ["a\x00b", "\ud800", 5])
def test_a_cursor_that_no_list_gave_is_refused(store, key):
    with pytest.raises(InvalidInput):
        store.admin.users(cursor=cursor_after("users", key))


@pytest.mark.once
@pytest.mark.parametrize(
    ("field", "value"), [("limit", 0), ("limit", "5"), ("role", "owner"), ("speaker", ""), ("tags", "x")]
)
def test_a_wrong_filter_is_named(memory, field, value):
    with pytest.raises(InvalidInput) as caught:
        memory.pages.list(**{field: value})
    assert caught.value.field == field


def test_an_unknown_filter_is_refused(memory):
    with pytest.raises(TypeError, match="colour"):
        memory.pages.list(colour="red")


def test_a_list_is_data(memory):
    some = memory.pages.list(limit=2)
    assert json.loads(some.to_json()) == some.to_dict()
    assert [item["id"] for item in some.to_dict()["items"]] == [page.id for page in some]
    assert some.to_dict()["cursor"] == some.cursor


@pytest.mark.file
def test_lists_are_awaited(tmp_path):
    async def use() -> tuple[list[str], int]:
        async with await AsyncMemoryOS.open(tmp_path / "a.db") as store:
            memory = store.memory("ann")
            await memory.add("Hello.")
            return await store.admin.users(limit=1), await memory.pages.count()

    assert asyncio.run(use()) == (["ann"], 1)
