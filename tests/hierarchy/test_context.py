"""context(): as much as fits a budget, each thing once, in a stable order."""

from __future__ import annotations

from datetime import timedelta
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryos import MemoryOS, Recall, Role, Scope, Subject, Turn
from memoryos.cube import Behaviour, Descriptive, Fact, MemCube, Origin, Page, Payload, ProfileField, SemanticType, Tier
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall.context import pack
from memoryos.operation.recall.hit import Hit

from .world import START, World

SECTIONS = ["## User profile", "## User facts", "## Agent", "## Earlier conversation", "## Recent conversation"]


def full(world: World) -> MemoryOS:
    memory = world.open(short_term_capacity=2)
    for day in range(9):
        memory.add(f"🍵 question {day} about 茶", f"answer {day}", at=START - timedelta(days=30 - day))
    memory.set_profile("name", "Ann", subject=Subject.USER)
    memory.set_profile("role", "barista", subject=Subject.AGENT)
    memory.add_fact("🍵 likes tea", at=START - timedelta(days=3))
    memory.add_fact("🍵 owns a pot", at=START - timedelta(days=5))
    memory.add_fact("🍵 brews slowly", subject=Subject.AGENT)
    return memory


def test_stable_parts_come_first_and_time_runs_forward(world: World):
    text = full(world).context("🍵").text
    assert [line for line in text.splitlines() if line.startswith("##")] == SECTIONS
    earlier, recent = text.split("## Earlier conversation")[1].split("## Recent conversation")
    for section, days in ((earlier, range(7)), (recent, range(7, 9))):
        places = [section.index(f"question {day}") for day in days]
        assert places == sorted(places)
    assert text.index("owns a pot") < text.index("likes tea")


def test_nothing_appears_twice(world: World):
    memory = full(world)
    context = memory.context("🍵")
    assert len(set(context.ids)) == len(context.ids)
    lines = [line for line in context.text.splitlines() if line]
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("tokens", [1, 20, 40, 64, 100, 150, 250, 2048])
def test_the_budget_holds(world: World, tokens):
    context = full(world).context("🍵", tokens=tokens)
    assert context.tokens == count_tokens(context.text) <= tokens
    assert bool(context.ids) is bool(context.text)


def test_a_larger_budget_holds_more(world: World):
    memory = full(world)
    sizes = [len(memory.context("🍵", tokens=tokens).ids) for tokens in (40, 120, 240, 2048)]
    assert all(small < large for small, large in pairwise(sizes))


def test_the_default_budget_is_a_setting(world: World):
    memory = world.open(short_term_capacity=50, context_tokens=64)
    for number in range(20):
        memory.add(f"🍵 a page of some words, number {number}")
    assert 0 < memory.context("🍵").tokens <= 64


def test_the_same_question_gives_the_same_text(world: World):
    memory = full(world)
    assert memory.context("🍵 茶") == memory.context("🍵 茶")


def test_times_speakers_and_captions_are_in_the_text(world: World):
    memory = world.open()
    memory.add_many([Turn(role=Role.USER, text="🍵 好喝", speaker="安娜", source_id="D1:3")])
    context = memory.context("🍵")
    assert f"[{START:%Y-%m-%d %H:%M}] 安娜: 🍵 好喝" in context.text
    assert context.source_ids == ("D1:3",)


def test_a_page_too_long_for_the_budget_keeps_no_shorter_one_out(world: World):
    memory = world.open()
    memory.add("🍵 short one")
    memory.add("🍵 " + "long " * 500)
    text = memory.context("🍵", tokens=120).text
    assert "short one" in text
    assert "long" not in text


def test_the_newest_pages_are_kept_when_not_all_fit(world: World):
    memory = world.open()
    for number in range(6):
        memory.add(f"🍵 page number {number} " + "word " * 20)
    text = memory.context("🍵", tokens=110).text
    assert "number 5" in text
    assert "number 0" not in text


def test_an_empty_memory_gives_an_empty_context(world: World):
    context = world.open().context("🍵")
    assert (context.text, context.tokens, context.ids) == ("", 0, ())


_numbers = count()


def cube(payload: Payload, day: int = 0) -> MemCube:
    at = START - timedelta(days=day)
    described = Descriptive(
        event_at=at, recorded_at=at, updated_at=at, origin=Origin.USER_INPUT, semantic_type=SemanticType.DIALOGUE
    )
    return MemCube(
        id=f"cube{next(_numbers)}",
        scope=Scope(user="ann"),
        tier=Tier.STM,
        payload=payload,
        descriptive=described,
        behaviour=Behaviour(last_access=at),
    )


words = st.text(st.sampled_from("ab cé茶🍵.\n\u0301#"), min_size=1, max_size=120)
days = st.integers(0, 9)
subjects = st.sampled_from(Subject)
pages = st.builds(lambda text, day: cube(Page(turns=(Turn(role=Role.USER, text=text),)), day), words, days)
facts = st.builds(lambda text, day: cube(Fact(subject=Subject.USER, text=text), day), words, days)
fields = st.builds(lambda who, text: cube(ProfileField(subject=who, field="f", value=text)), subjects, words)


@st.composite
def recalls(draw) -> Recall:
    recent = tuple(Hit(page, 0.5) for page in draw(st.lists(pages, max_size=5)))
    hits = tuple(Hit(page, 0.5) for page in draw(st.lists(pages, max_size=8)))
    known = tuple(Hit(fact, 0.5) for fact in draw(st.lists(facts, max_size=5)))
    return Recall(
        query="?",
        hits=(*hits, *hits[:1], *recent),
        turns=(),
        recent=recent,
        user_facts=known,
        agent_facts=(),
        profile=tuple(draw(st.lists(fields, max_size=4))),
        traits=(),
    )


@settings(max_examples=150, deadline=None)
@given(recalls(), st.integers(1, 400), st.booleans())
def test_no_memory_and_no_budget_breaks_the_rules(recall: Recall, budget: int, recent: bool):
    context = pack(recall, budget, count_tokens, recent=recent)
    assert count_tokens(context.text) == context.tokens <= budget
    assert len(set(context.ids)) == len(context.ids)
    assert recent or not {hit.id for hit in recall.recent} & set(context.ids)
    assert pack(recall, budget, count_tokens, recent=recent) == context
