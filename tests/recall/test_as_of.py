"""A question as of a past moment sees nothing of what came later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import memoryos
from memoryos import AsyncMemory, Memory, Role, Scope, Turn, load_settings
from memoryos.errors import InvalidInput
from memoryos.kinds import Subject

from .conftest import QUESTIONS, dialogue

NOW = datetime(2023, 8, 30, 12, tzinfo=UTC)
MAY = datetime(2023, 5, 8, 12, tzinfo=UTC)
RANKED = ["hybrid", "bm25", "dense", "rrf", "linear", "two_stage"]
HUM = "The kettle hums in C sharp."


class Hand:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def memory(tmp_path: Path, hand: Hand) -> Iterator[Memory]:
    settings = load_settings(embedder="hashing", short_term_capacity=5)
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, clock=hand) as opened:
        yield opened


@pytest.mark.parametrize("strategy", RANKED)
def test_turns_said_later_are_not_found_and_those_before_are(memory: Memory, strategy: str) -> None:
    said = dialogue(40, start=NOW - timedelta(days=50))
    memory.add_many(said)
    moment = said[20].at
    for question in QUESTIONS:
        found = memory.search(question, strategy=strategy, pages=40, as_of=moment, archive=True)
        for hit in (*found.hits, *found.recent):
            assert all(turn.at <= moment for turn in hit.cube.payload.turns)
        assert all(turn.turn.at <= moment for turn in found.turns)
    if strategy in ("hybrid", "two_stage"):
        assert {turn.turn.text for turn in found.turns} == {turn.text for turn in said[:21]}


@pytest.mark.parametrize("keyword_weight", [0, 1])
def test_two_stage_ranks_a_page_by_what_had_been_said_by_then(tmp_path: Path, keyword_weight: float) -> None:
    at = NOW - timedelta(days=50)
    settings = load_settings(embedder="hashing", short_term_capacity=5, keyword_weight=keyword_weight)
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, clock=lambda: NOW) as memory:
        memory.add_many(
            [
                Turn(role=Role.USER, text="What is in the shed?", at=at, source_id="1"),
                Turn(role=Role.ASSISTANT, text=HUM, at=at + timedelta(hours=1), source_id="2"),
                *dialogue(30, start=at + timedelta(hours=2)),
            ]
        )
        now, then = (memory.search(HUM, strategy="two_stage", archive=True, as_of=moment) for moment in (None, at))
    assert [hit.text for hit in then.hits] == ["user: What is in the shed?"]
    assert HUM in now.hits[0].text
    assert then.hits[0].score < now.hits[0].score / 2


def test_a_digest_tells_only_what_had_been_said(memory: Memory) -> None:
    said = dialogue(40, start=NOW - timedelta(days=50))
    memory.add_many(said)
    memory.wait()  # until no page moves between two digests
    moment = said[20].at
    whole, short = (memory.digest(tokens=tokens, as_of=moment) for tokens in (4_000, 60))
    assert (whole.turns, short.turns, memory.digest(tokens=60).turns) == (21, 21, 40)
    assert whole.end == said[20].at
    later = {turn.text for turn in said[21:]} - {turn.text for turn in said[:21]}
    for digest in (whole, short, memory.digest(tokens=200, query=QUESTIONS[0], as_of=moment)):
        assert not [text for text in later if text in digest.text]
    assert all(turn.text in whole.text for turn in said[:21])
    assert memory.digest(tokens=60, as_of=NOW) == memory.digest(tokens=60)


def test_tagged_memories_are_those_of_then(memory: Memory) -> None:
    for days, text in ((9, "Tea is hot."), (3, "Milk is cold.")):
        memory.add(text, at=NOW - timedelta(days=days), tags=["drink"])
    memory.facts.add("Ann lives in Rome", at=NOW - timedelta(days=9), tags=["drink"])
    memory.facts.add("Ann lives in Oslo", at=NOW - timedelta(days=3), tags=["drink"])
    memory.wait()
    assert {hit.text for hit in memory.tagged("drink", as_of=MAY)} == set()
    then = {hit.text for hit in memory.tagged("drink", as_of=NOW - timedelta(days=6))}
    assert then == {"user: Tea is hot.", "Ann lives in Rome"}
    now = {hit.text for hit in memory.tagged("drink")}
    assert now == {"user: Tea is hot.", "user: Milk is cold.", "Ann lives in Oslo"}


def test_segments_are_described_from_the_pages_of_then(memory: Memory) -> None:
    said = dialogue(40, start=NOW - timedelta(days=50))
    ids = memory.add_many(said)
    moment, known = said[19].at, {page.id for page in memory.pages.list(as_of=said[19].at)}
    segments = memory.segments.list(archive=True, as_of=moment)
    found = {page for view in segments for page in view.page_ids}
    assert found == known - {page.id for page in memory.pages.list(tier="stm")}
    assert found < set(ids)
    later = {turn.text for turn in said[20:]} - {turn.text for turn in said[:20]}
    assert not [text for text in later for view in segments if text in view.summary]
    assert [view.cube.payload.pages for view in segments] == [len(view.page_ids) for view in segments]
    assert memory.segments.count(archive=True, as_of=moment) == len(segments)
    assert (memory.pages.count(as_of=moment), memory.pages.count()) == (len(known), len(ids))
    assert memory.segments.list(archive=True, as_of=MAY - timedelta(days=365)) == []
    memory.wait()
    assert memory.segments.list(as_of=NOW) == memory.segments.list()


def test_as_of_now_is_the_memory_as_it_is(memory: Memory) -> None:
    memory.add_many(dialogue(30, start=NOW - timedelta(days=50)))
    memory.facts.add("Ann keeps bees")
    memory.wait()
    for question in QUESTIONS:
        assert memory.search(question, as_of=NOW) == memory.search(question)


def test_half_a_page_is_seen_by_its_first_half(memory: Memory) -> None:
    at = datetime(2023, 5, 8, 10, tzinfo=UTC)
    asked = Turn(role=Role.USER, text="Which teapot?", at=at, source_id="1")
    memory.add_many(
        [asked, Turn(role=Role.ASSISTANT, text="The red teapot.", at=at + timedelta(hours=1), source_id="2")]
    )
    found = memory.search("teapot", as_of=at)
    assert [hit.text for hit in (*found.hits, *found.recent)] == ["user: Which teapot?"] * 2
    assert found.hits[0].source_ids == ("1",)
    assert "red" not in memory.context("teapot", as_of=at).text
    assert "red" in memory.context("teapot").text


def test_facts_are_those_that_were_known(memory: Memory) -> None:
    memory.facts.add("Ann keeps bees", at="2023-03-01T00:00Z")
    memory.facts.add("Ann keeps hens", at="2023-06-01T00:00Z")
    memory.facts.add("Ann keeps bees", at="2023-07-01T00:00Z")  # said again
    memory.facts.add("I keep notes", at="2023-06-01T00:00Z", subject=Subject.AGENT)

    def known(as_of: str) -> list[str]:
        found = memory.search("What does Ann keep?", as_of=as_of)
        return [hit.text for hit in (*found.user_facts, *found.agent_facts)]

    assert known("2023-02-28T00:00Z") == []
    assert known("2023-05-08T00:00Z") == ["Ann keeps bees"]
    assert sorted(known("2023-06-01T00:00Z")) == ["Ann keeps bees", "Ann keeps hens", "I keep notes"]
    assert "hens" not in memory.context("What does Ann keep?", as_of="2023-05-08T00:00Z").text


def test_a_profile_field_has_the_value_it_had(memory: Memory, hand: Hand) -> None:
    def city(as_of: datetime | None) -> list[str]:
        return [cube.text for cube in memory.search("Where?", as_of=as_of).profile]

    hand.now = MAY
    memory.profile.set("city", "Rome")
    hand.now = MAY + timedelta(days=60)
    memory.profile.set("city", "Oslo")
    hand.now = NOW
    assert city(MAY - timedelta(days=1)) == []
    assert city(MAY) == city(MAY + timedelta(days=59)) == ["city: Rome"]
    assert city(MAY + timedelta(days=60)) == city(None) == ["city: Oslo"]


def test_a_fact_that_gave_way_is_found_before_and_not_after(memory: Memory) -> None:
    memory.facts.add("Ann lives in Oslo", at="2023-06-01T00:00Z")
    memory.facts.add("Ann lives in Rome", at="2023-03-01T00:00Z")  # told later, but of an earlier time

    def known(as_of: str | None) -> list[str]:
        found = [hit.text for hit in memory.search("Where does Ann live?", as_of=as_of).user_facts]
        text = memory.context("Where does Ann live?", as_of=as_of).text
        assert all(("Rome" in text, "Oslo" in text) == ("Rome" in one, "Oslo" in one) for one in found)
        return found

    assert known("2023-02-28T00:00Z") == []
    assert known("2023-03-01T00:00Z") == known("2023-05-31T00:00Z") == ["Ann lives in Rome"]
    assert known("2023-06-01T00:00Z") == known(None) == ["Ann lives in Oslo"]
    assert memory.search("Where?", as_of="2023-05-01T00:00Z", kinds=["page"]).user_facts == ()


def test_what_was_said_later_of_an_earlier_time_was_not_known_then(memory: Memory) -> None:
    memory.facts.add("Ann lives in Rome", at="2023-03-01T00:00Z")
    memory.facts.add("Ann has lived in Oslo since 2019", at="2023-06-01T00:00Z")
    found = memory.search("Where does Ann live?", as_of=MAY).user_facts
    assert [hit.text for hit in found] == ["Ann lives in Rome"]
    (fact,) = memory.profile.get().user.facts
    assert fact.descriptive.valid_from == datetime(2019, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("question", ["What did we bake last month?", "上个月 bake 什么？"])
def test_what_is_relative_is_counted_from_that_moment(memory: Memory, question: str) -> None:
    for month in range(1, 9):
        memory.add("We bake bread", at=datetime(2023, month, 8, tzinfo=UTC))
    assert memory.search(question, as_of=MAY).hits[0].at.month == 4
    assert memory.search(question).hits[0].at.month == 7


def test_a_period_and_a_moment_bound_each_other(memory: Memory) -> None:
    for month in range(1, 9):
        memory.add("We bake bread", at=datetime(2023, month, 8, tzinfo=UTC))
    found = memory.search("bread", since="2023-03-01T00:00Z", until="2023-07-01T00:00Z", as_of=MAY)
    assert sorted(hit.at.month for hit in found.hits) == [3, 4, 5]


def test_an_owner_who_shares_a_persona_has_it_as_of_then_too(tmp_path: Path) -> None:
    settings = load_settings(embedder="hashing", persona_sharing="user")
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, clock=lambda: NOW) as memory:
        memory.of(Scope(user="ann", agent="one")).facts.add("Ann keeps bees", at="2023-06-01T00:00Z")
        other = Scope(user="ann", agent="two")
        assert memory.of(other).search("bees", as_of=MAY).user_facts == ()
        assert [hit.text for hit in memory.of(other).search("bees").user_facts] == ["Ann keeps bees"]


def test_the_awaited_search_knows_the_moment(memory: Memory) -> None:
    memory.add("tea in March", at="2023-03-01T00:00Z")
    memory.add("tea in June", at="2023-06-01T00:00Z")

    async def found() -> tuple[str, str]:
        awaited = AsyncMemory(memory)
        hits = (await awaited.search("tea", as_of=MAY)).hits
        return hits[0].text, (await awaited.context("tea", as_of=MAY)).text

    text, context = asyncio.run(found())
    assert text == "user: tea in March"
    assert "June" not in context


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"as_of": "yesterday"}, "as_of"),
        ({"as_of": "next year"}, "as_of"),
        ({"as_of": 7}, "as_of"),
    ],
)
def test_a_bad_moment_is_refused(memory: Memory, options: dict[str, object], field: str) -> None:
    for ask in (memory.search, memory.context):
        with pytest.raises(InvalidInput) as caught:
            ask("tea", **options)
        assert caught.value.field == field
