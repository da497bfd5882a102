"""Digest: a stretch of time under a budget: all of it, nothing else, and never too long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memoryos
from contract.back_ends import copy_store, opening_on
from memoryos import AsyncMemory, Memory, Role, Scope, Turn, load_settings
from memoryos.cube import Lifespan
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import Kind, Tier
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall.digest import LEAST_TOKENS, Digest

from .conftest import NOW, SETTINGS, TURNS, dialogue

EVERYTHING = 100_000  # tokens
MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)

budgets = st.integers(1, 3000)
questions = st.sampled_from([None, "bees in the garden", "音乐会", "xyzzy"])


@pytest.fixture(scope="module")
def talk(template, tmp_path_factory, back_end) -> Iterator[Memory]:
    """The dialogue in all three tiers; read only."""
    path = tmp_path_factory.mktemp("digest") / "talk.db"
    copy_store(template, path)
    with opening_on(back_end):
        memory = opened(path)
    with memory:
        yield memory


def opened(path: Path) -> Memory:
    return memoryos.open(path, user="ann", settings=load_settings(**SETTINGS), clock=lambda: NOW)


def said(turns: list[tuple[datetime, str]]) -> list[Turn]:
    return [Turn(role=Role.USER, text=text, speaker="Ann", at=at) for at, text in turns]


def bodies(digest: Digest) -> str:
    return " ".join(line.text for line in digest.lines)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=budgets, query=questions)
def test_the_budget_is_never_passed_and_every_turn_is_in_a_line(talk, budget, query):
    digest = talk.digest(tokens=budget, query=query)
    assert digest.tokens == count_tokens(digest.text) <= budget
    assert digest.text == "\n".join(line.text for line in digest.lines)
    assert digest.turns == TURNS
    if budget >= LEAST_TOKENS:
        assert digest.covered == 1
        assert sum(line.turns for line in digest.lines) == TURNS
        assert (digest.start, digest.end) == (dialogue(TURNS)[0].at, dialogue(TURNS)[-1].at)
    assert list(digest.lines) == sorted(digest.lines, key=lambda line: line.start)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pair=st.tuples(budgets, budgets), query=questions)
def test_more_budget_never_covers_less(talk, pair, query):
    less, more = (talk.digest(tokens=budget, query=query) for budget in sorted(pair))
    assert less.covered <= more.covered


def test_the_grain_follows_the_budget(talk):
    small, middle, large = (talk.digest(tokens=budget) for budget in (LEAST_TOKENS, 400, EVERYTHING))
    assert [line.turns for line in small.lines] == [TURNS]
    assert 1 < len(middle.lines) < TURNS
    assert 0 <= small.resolved < middle.resolved < large.resolved == 1
    texts = [turn.text for turn in dialogue(TURNS)]
    assert [line.text.split(": ", 1)[1] for line in large.lines] == texts


def test_a_digest_is_the_same_each_time_and_in_another_process(talk, path):
    with opened(path) as other:
        for query in (None, "bees"):
            assert talk.digest(tokens=300, query=query) == other.digest(tokens=300, query=query)


def test_a_line_says_where_to_read_more(talk):
    digest = talk.digest(tokens=300)
    segments = {view.cube.id: view for view in talk.segments.list(archive=True)}
    for line in digest.lines:
        assert line.ids
        for name in line.ids:
            pages = segments[name].page_ids if name in segments else (name,)
            times = [turn.at for page in pages for turn in talk.get(page).payload.turns]
            assert any(line.start <= at <= line.end for at in times)


def test_detail_goes_to_what_is_recent(talk):
    lines = talk.digest(tokens=500).lines
    half = len(lines) // 2
    assert sum(line.turns for line in lines[:half]) > sum(line.turns for line in lines[half:])


def test_detail_goes_to_what_is_asked(open_memory):
    memory = open_memory()
    times = [NOW - timedelta(days=90 - number) for number in range(80)]
    texts = [f"I talked about item {number} of the list and its price." for number in range(80)]
    texts[3] = "The lighthouse keeper feeds a seal called Bruno."
    memory.add_many(said(list(zip(times, texts, strict=True))))
    asked = memory.digest(tokens=128, query="Who feeds the seal?")
    assert texts[3] in asked.text
    assert texts[3] not in memory.digest(tokens=128).text
    assert asked.covered == 1


@pytest.mark.parametrize("query", [None, "tea"])
def test_a_memory_without_a_turn(open_memory, query):
    digest = open_memory().digest(tokens=64, query=query)
    assert (digest.text, digest.tokens, digest.lines, digest.turns) == ("", 0, (), 0)
    assert (digest.covered, digest.resolved, digest.start, digest.end) == (1, 1, None, None)


def test_one_page(open_memory):
    memory = open_memory()
    page = memory.add("I moved to Lisbon.", "How is it there?", at="2026-05-01T10:00:00Z")
    digest = memory.digest()
    assert digest.text == "[2026-05-01] user: I moved to Lisbon.\n[2026-05-01] assistant: How is it there?"
    assert {line.ids for line in digest.lines} == {(page,)}
    assert digest.resolved == 1


def test_a_turn_that_is_longer_than_the_budget_is_told_in_part(open_memory):
    memory = open_memory()
    memory.add("The harbour sleeps. " + " ".join(f"Crate {number} holds oranges." for number in range(3000)))
    digest = memory.digest(tokens=60)
    assert digest.covered == 1
    assert "oranges" in digest.text
    assert digest.tokens <= 60


def test_a_span_has_nothing_from_outside_it(talk):
    turns = dialogue(TURNS)
    since, until = turns[10].at, turns[30].at
    digest = talk.digest(since, until, tokens=EVERYTHING)
    assert (digest.start, digest.end, digest.turns) == (since, until, 21)
    small = talk.digest(since, until, tokens=100)
    assert (small.start, small.end, small.covered) == (since, until, 1)
    outside = {turn.text for turn in (*turns[:10], *turns[31:])} - {turn.text for turn in turns[10:31]}
    assert not any(text in small.text for text in outside)
    assert talk.digest(NOW + timedelta(days=1), tokens=100).turns == 0
    assert talk.digest(until=turns[0].at - timedelta(seconds=1), tokens=100).text == ""


def test_a_span_that_ends_before_it_begins_is_refused(talk):
    with pytest.raises(InvalidInput, match="until"):
        talk.digest(NOW, NOW - timedelta(days=1))
    with pytest.raises(InvalidInput, match="tokens"):
        talk.digest(tokens=0)
    with pytest.raises(InvalidInput, match="query"):
        talk.digest(query=" ")


@pytest.mark.parametrize("budget", [40, 120, EVERYTHING])
@pytest.mark.parametrize("query", [None, "the secret pelican"])
def test_what_has_expired_or_was_deleted_is_in_no_line(open_memory, budget, query):
    """Nor in a summary that was made when it was still there."""
    memory = open_memory(segment_threshold=0)  # one topic, whose summary knows all of it
    pages = [memory.add(f"The {word} pelican sings in the bath.") for word in ("secret", "loud", "grey", "tall")]
    pages += [memory.add(f"Item {number}.") for number in range(8)]
    memory.wait()
    assert any("secret" in view.summary for view in memory.segments.list())
    assert "secret" in memory.digest(tokens=budget, query=query).text or budget == 40
    with memory._engine.vault.write(Scope(user="ann")) as writer:
        cube = writer.get([pages[0]])[pages[0]]
        ended = replace(cube.governance, lifespan=Lifespan(expires_at=NOW))
        writer.update([Entry(replace(cube, governance=ended))], Operation.MOVE)
    expired = memory.digest(tokens=budget, query=query)
    assert "secret" not in bodies(expired)
    assert expired.turns == 11
    memory.delete(pages[1])
    gone = memory.digest(tokens=budget, query=query)
    assert "loud" not in bodies(gone)
    assert gone.turns == 10


def test_other_scopes_are_not_told_of(open_memory):
    memory = open_memory()
    memory.add("Ann's own words.")
    memory.of(Scope(user="ben")).add("Somebody else's words.")
    assert "else" not in memory.digest().text
    assert "own" not in memory.of(Scope(user="ben")).digest().text


@pytest.mark.parametrize("budget", [LEAST_TOKENS, 64, 200, EVERYTHING])
def test_chinese(open_memory, budget):
    memory = open_memory()
    texts = [f"今天我在杭州看见了{number}只蜜蜂。它们在花园里采蜜。" for number in range(30)]
    turns = [(MARCH + timedelta(days=number), text) for number, text in enumerate(texts)]
    memory.add_many([replace(turn, speaker="小明") for turn in said(turns)])
    digest = memory.digest(tokens=budget, query="哪里有蜜蜂？")
    assert digest.tokens <= budget
    assert digest.covered == 1
    assert sum(line.turns for line in digest.lines) == 30
    assert budget == LEAST_TOKENS or "蜜蜂" in digest.text


def test_a_digest_changes_nothing(path):
    with opened(path) as memory:
        before = memory.pages.list(), memory.segments.list(archive=True), memory.log.events()[-1]
        memory.digest(tokens=200, query="bees")
        memory.wait()
        assert (memory.pages.list(), memory.segments.list(archive=True), memory.log.events()[-1]) == before


def test_a_summary_that_is_stored_is_told(open_memory):
    memory = open_memory(segment_threshold=0, short_term_capacity=1)
    for number in range(12):
        memory.add(f"Item {number} is on the shelf in the cellar.", at=MARCH + timedelta(days=number))
    memory.wait()
    (view,) = memory.segments.list()
    with memory._engine.vault.write(Scope(user="ann")) as writer:
        words = "Ann arranged her whole cellar: items, shelf, order, plans, labels, jars and boxes."
        payload = replace(view.cube.payload, summary=words, written=words)
        writer.update([Entry(replace(view.cube, payload=payload))], Operation.REFRESH)
    assert "arranged her whole cellar" in memory.digest(until=MARCH + timedelta(days=10, hours=1), tokens=70).text


def test_it_can_be_awaited(path):
    async def told() -> Digest:
        async with AsyncMemory(opened(path)) as memory:
            return await memory.digest(tokens=100)

    assert asyncio.run(told()).turns == TURNS


def test_the_tiers_are_all_told(talk):
    with talk._engine.vault.read(talk.scope) as reader:
        by_tier = {tier: {cube.id for cube in reader.cubes(Kind.PAGE, tiers=[tier])} for tier in Tier}
    told = {name for line in talk.digest(tokens=EVERYTHING).lines for name in line.ids}
    assert all(by_tier[tier] <= told for tier in (Tier.STM, Tier.MTM, Tier.ARCHIVE))
    assert by_tier[Tier.ARCHIVE]
