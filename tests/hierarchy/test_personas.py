"""Personas: traits that weigh their evidence, schemas for a purpose, and what an agent keeps to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoryos
from memoryos import Memory, MemoryOS, Scope, Subject, load_settings
from memoryos.cube import MemCube, Trait
from memoryos.errors import InvalidInput
from memoryos.kinds import Level
from memoryos.models.chat import Answer, Usage
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.persona import BUILT_IN, PersonaSchema

from .world import World


def art(memory: Memory) -> MemCube:
    (found,) = [cube for cube in memory.profile.get().user.traits if cube.payload.dimension == "Art Interest"]
    return found


def say(world: World, memory: Memory, *lines: str) -> list[str]:
    pages = [memory.add(line) for line in lines]
    memory.add("🚲 end")
    world.extract(RuleExtractor())
    return pages


def test_a_trait_is_lowered_by_what_speaks_against_it_and_never_wiped(world: World) -> None:
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    pages = say(world, memory, "Pottery today.", "More pottery!", "Pottery again.")
    assert (art(memory).payload.level, art(memory).payload.changed_at) == (Level.MEDIUM, None)
    sure = art(memory).payload.confidence
    world.clock.advance(days=3)
    averse = say(world, memory, "I hate pottery.")
    trait = art(memory)
    assert (trait.payload.level, trait.payload.counter, trait.payload.changed_at) == (
        Level.LOW, tuple(averse), world.clock()
    )  # fmt: skip
    assert trait.descriptive.provenance == (*pages, *averse)
    assert trait.payload.confidence < sure
    assert "pottery" in trait.payload.reason
    say(world, memory, *("I hate pottery." for _ in range(9)))
    assert art(memory).payload.level is Level.LOW
    assert art(memory).payload.confidence == 0


def test_dislike_alone_makes_no_trait(world: World) -> None:
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    say(world, memory, "I hate pottery.")
    assert memory.profile.get().user.traits == ()


@pytest.mark.parametrize(
    ("name", "said", "dimension"),
    [
        ("children_tutor", "This is too hard, I don't understand fractions.", "Need of help"),
        ("children_tutor", "我不懂这道题，太难了。", "Need of help"),
        ("support_desk", "I want a refund, and cancel my subscription.", "Risk of leaving"),
        ("support_desk", "请尽快处理，我要退款！", "Urgency"),
    ],
)
def test_a_schema_for_a_purpose_has_a_name(tmp_path: Path, name: str, said: str, dimension: str) -> None:
    settings = load_settings(embedder="hashing", persona_schema=name, short_term_capacity=1)
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings) as memory:
        memory.add(said)
        memory.add("end")
        memory.consolidate()
        traits = [cube.payload for cube in memory.profile.get().user.traits]
        assert dimension in [trait.dimension for trait in traits if isinstance(trait, Trait)]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_dimension_of_a_built_in_schema_has_cues_in_both_languages(name: str) -> None:
    for dimension in PersonaSchema.named(name).dimensions:
        assert dimension.description.endswith(".")
        assert len(dimension.cues_en) >= 3
        assert len(dimension.cues_zh) >= 3


def test_a_schema_can_be_a_file_and_none_is_the_papers(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"groups": [{"name": "g", "dimensions": [{"name": "Patience", "description": "Waits."}]}]}')
    assert [one.name for one in PersonaSchema.named(str(own)).dimensions] == ["Patience"]
    assert PersonaSchema.named(None) == PersonaSchema.load()
    with pytest.raises(InvalidInput):
        PersonaSchema.named("no such schema")


class Echo:
    """A model that answers with its prompt."""

    def answer(self, messages):
        return Answer(str(messages), Usage(0, 0), "echo")

    def stream(self, messages):
        yield str(messages)


@pytest.mark.parametrize("sharing", ["pair", "user"])
def test_what_an_agent_learned_with_one_user_shows_to_no_other(tmp_path: Path, sharing: str) -> None:
    settings = load_settings(embedder="hashing", persona_sharing=sharing, short_term_capacity=1)
    ann, bob = Scope(user="ann", agent="coder"), Scope(user="bob", agent="coder")
    with MemoryOS.open(tmp_path / "memory.db", settings=settings, chat=Echo()) as memory:
        memory.of(ann).add("Which one?", "I recommend the Quetzal clinic.")
        memory.of(ann).add("end")
        memory.of(ann).consolidate()
        memory.of(ann).facts.add("promised Quetzal", subject=Subject.AGENT)
        memory.of(ann).profile.set("motto", "Quetzal", subject=Subject.AGENT)
        assert "Quetzal" in memory.of(ann).respond("Quetzal?").text
        memory.wait()
        assert memory.of(ann).profile.get().agent.facts
        seen = (
            memory.of(bob).search("clinic"),
            memory.of(bob).search("clinic", as_of="2030-01-01T00:00Z"),
            memory.of(bob).context("clinic"),
            memory.of(bob).profile.get(),
            memory.of(Scope(user="ann", agent="cook")).profile.get().agent,
            memory.of(bob).proposals.list(),
            memory.of(bob).stats().facts,
            memory.of(bob).respond("clinic?").text,
        )
        assert "Quetzal" not in str(seen)
