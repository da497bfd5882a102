"""LPM: personas per (user, agent) pair; facts first in, first out; traits and fields that grow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import Kind, Memory, Scope, Subject, Tier
from memoryos.infrastructure.vault.records import LinkKind

from .world import ANN, START, World, texts

CODER = Scope(user="ann", agent="coder")
COOK = Scope(user="ann", agent="cook")


def facts(memory: Memory, **where) -> list[str]:
    return texts(memory.profile.get(**where).user.facts)


def say(world: World, memory: Memory, *lines: str, scope: Scope = ANN) -> list[str]:
    """Pages that have reached MTM and were extracted, one for each line."""
    pages = [memory.of(scope).add(f"🍵\n{line}") for line in lines]
    memory.of(scope).add("🍵 end")
    world.extract(scope=scope)
    return pages


def test_the_hundred_and_first_fact_archives_the_first(world: World):
    memory = world.open()
    for number in range(101):
        memory.facts.add(f"fact {number}")
    assert facts(memory) == [f"fact {number}" for number in range(1, 101)]
    assert texts(world.cubes(Kind.FACT, Tier.ARCHIVE)) == ["fact 0"]


def test_user_and_agent_facts_are_counted_apart(world: World):
    memory = world.open(knowledge_capacity=2)
    for number in range(3):
        memory.facts.add(f"user {number}")
    memory.facts.add("agent 0", subject=Subject.AGENT)
    profile = memory.profile.get()
    assert texts(profile.user.facts) == ["user 1", "user 2"]
    assert texts(profile.agent.facts) == ["agent 0"]


def test_overflow_within_one_extraction_loses_nothing(world: World):
    memory = world.open(short_term_capacity=1, knowledge_capacity=2, heat_threshold=1000)
    say(world, memory, *(f"fact: 事实{number}" for number in range(5)))
    assert facts(memory) == ["事实3", "事实4"]
    assert texts(world.cubes(Kind.FACT, Tier.ARCHIVE)) == ["事实0", "事实1", "事实2"]


def test_an_archived_fact_can_be_learned_again(world: World):
    memory = world.open(knowledge_capacity=1)
    for text in ("tea", "coffee", "tea"):
        memory.facts.add(text)
    assert facts(memory) == ["tea"]


def test_a_repeat_adds_support_instead_of_a_copy(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    pages = say(world, memory, "fact: likes green tea", "fact: rides", "fact: likes green tea")
    pages += say(world, memory, "fact: Likes  GREEN tea")
    likes = memory.profile.get().user.facts[0]
    assert facts(memory) == ["likes green tea", "rides"]
    support = (pages[0], pages[2], pages[3])
    assert likes.descriptive.provenance == support
    assert sorted(link.target for link in world.links(LinkKind.DERIVED_FROM, likes.id)) == sorted(support)


def test_stating_a_fact_twice_changes_nothing(world: World):
    memory = world.open()
    memory.facts.add("喜欢喝茶")
    before = len(memory.log.events())
    memory.facts.add("喜欢喝茶")
    assert facts(memory) == ["喜欢喝茶"]
    assert len(memory.log.events()) == before


def test_the_later_value_of_a_field_wins(world: World):
    memory = world.open()
    memory.profile.set("city", "Rome", subject=Subject.USER)
    world.clock.advance(days=1)
    memory.profile.set("city", "Paris", subject=Subject.USER)
    (city,) = memory.profile.get().user.profile
    assert memory.profile.get().user.fields == {"city": "Paris"}
    assert [version.payload.value for version in memory.history(city.id)] == ["Rome", "Paris"]


def test_an_earlier_event_told_later_does_not_win(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    memory.add("🍵\ncity=Paris")
    memory.add("🍵 end")
    world.extract()
    memory.add("🍵\ncity=Rome", at=START - timedelta(days=900))
    memory.add("🍵 end")
    world.extract()
    assert memory.profile.get().user.fields == {"city": "Paris"}


def test_both_values_of_one_extraction_are_in_the_history(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    say(world, memory, "city=Rome", "city=Paris")
    (city,) = memory.profile.get().user.profile
    assert [version.payload.value for version in memory.history(city.id)] == ["Rome", "Paris"]


def test_a_trait_grows_with_its_pages(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    seen = []
    for _ in range(5):
        say(world, memory, "trait: Food")
        (trait,) = memory.profile.get().user.traits
        seen.append((trait.payload.level.value, trait.payload.confidence))
    levels, confidence = zip(*seen, strict=True)
    assert levels == ("low", "low", "medium", "medium", "high")
    assert list(confidence) == sorted(set(confidence))
    assert [version.payload.level.value for version in memory.history(trait.id)] == ["low", "medium", "high"]


def test_another_agent_or_user_sees_nothing(world: World):
    memory = world.open(scope=CODER)
    memory.add("🍵 secret plan")
    memory.facts.add("likes tea")
    memory.facts.add("knows Rust", subject=Subject.AGENT)
    memory.profile.set("city", "Rome", subject=Subject.USER)
    strangers = [COOK, Scope(user="bob", agent="coder"), Scope(user="ann", agent="coder", tenant="other")]
    for scope in [*strangers, Scope(user="ann", agent="coder", namespace=("team",))]:
        found = memory.of(scope).search("🍵 tea", archive=True)
        assert (found.hits, found.recent, found.user_facts, found.agent_facts, found.profile) == ((), (), (), (), ())
        assert memory.of(scope).profile.get().user.is_empty
        assert memory.of(scope).profile.get().agent.is_empty
        assert memory.of(scope).context("tea").text == ""


def test_sharing_gives_the_users_agents_one_user_persona(world: World):
    memory = world.open(scope=CODER, persona_sharing="user")
    memory.facts.add("likes tea")
    memory.profile.set("city", "Rome", subject=Subject.USER)
    memory.facts.add("knows Rust", subject=Subject.AGENT)
    memory.profile.set("role", "coder", subject=Subject.AGENT)
    cook = memory.of(COOK).profile.get()
    assert texts(cook.user.facts) == ["likes tea"]
    assert cook.user.fields == {"city": "Rome"}
    assert cook.agent.is_empty
    assert [hit.text for hit in memory.of(COOK).search("tea").user_facts] == ["likes tea"]
    assert memory.of(COOK).search("Rust").agent_facts == ()
    assert memory.of(Scope(user="bob", agent="coder")).profile.get().user.is_empty


def test_shared_personas_are_extracted_from_every_agents_pages(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000, persona_sharing="user")
    for scope, line in ((CODER, "fact: likes tea"), (COOK, "fact: hates olives")):
        memory.of(scope).add(f"🍵\n{line}", "fact: said so")
        memory.of(scope).add("🍵 end")
        world.extract(scope=scope)
    for scope in (CODER, COOK):
        assert facts(memory.of(scope)) == ["likes tea", "hates olives"]
        assert texts(memory.of(scope).profile.get().agent.facts) == ["said so"]
    assert memory.of(CODER).search("🍵 olives").hits[0].cube.scope == CODER


@pytest.mark.parametrize("subject", list(Subject))
def test_facts_survive_a_restart(world: World, subject):
    memory = world.open()
    memory.facts.add("喜欢喝茶", subject=subject)
    memory.close()
    profile = world.open().profile.get()
    assert texts(getattr(profile, subject.value).facts) == ["喜欢喝茶"]
