"""Proposals: what is protected is not changed, but a change proposed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memoryos import Kind, Memory, Scope, Subject, Tier
from memoryos.cube import Fact
from memoryos.errors import CubeProtected, NotFound
from memoryos.infrastructure.vault.records import Entry
from memoryos.infrastructure.vault.session import SqlWriter
from memoryos.infrastructure.vault.soundness import verify
from memoryos.kinds import AccessMode, Origin, SemanticType
from memoryos.operation.knowledge.lesson import Lesson

from .world import ANN, START, LineExtractor, World, texts

OLD = "Adults take at most 4 g of paracetamol a day"
NEW = "Adults take at most 3 g of paracetamol a day"


def infer(world: World, text: str, page: str) -> None:
    promoter = world.promoter(LineExtractor())
    vector = np.array([0] * 10 + [1], np.float32)
    fact = Fact(subject=Subject.USER, text=text)
    promoter.learn(ANN, [Lesson(fact, (page,), world.clock(), SemanticType.FACT, Origin.INFERENCE, vector=vector)])


def shown(memory: Memory) -> list[str]:
    """What any reader sees of the user's facts; all see the same."""
    found = sorted(hit.text for hit in memory.search("paracetamol").user_facts)
    assert sorted(texts(memory.profile.get().user.facts)) == found
    written = memory.context("paracetamol", kinds=["fact"]).text
    assert all(text in written for text in found)
    return found


def guideline(world: World) -> Memory:
    """A guideline that was published, and a year later its update."""
    memory = world.open()
    assert memory.proposals.publish([OLD, "Wash your hands"], source="guideline 2025") == []
    assert memory.profile.get().user.facts[0].governance.access.mode is AccessMode.READ_ONLY
    world.clock.advance(days=365)
    return memory


def test_an_update_of_a_trusted_source_is_proposed_and_changes_nothing(world: World) -> None:
    memory = guideline(world)
    (proposal,) = memory.proposals.publish([NEW, "Wash your hands", "Wear a mask"], source="guideline 2026")
    assert (proposal.cube.text, proposal.source, texts(proposal.replaces)) == (NEW, "guideline 2026", [OLD])
    assert memory.proposals.list() == [proposal]
    assert shown(memory) == sorted([OLD, "Wash your hands", "Wear a mask"])
    assert NEW not in memory.context("paracetamol").text
    assert NEW not in [hit.text for hit in memory.search("paracetamol", as_of=world.clock()).user_facts]
    assert memory.stats().facts.proposed == 1


def test_a_fuller_wording_of_what_was_published_leaves_its_words_as_they_are(world: World) -> None:
    memory = world.open()
    text = "Nurses wash their hands before each visit"
    memory.proposals.publish([text], source="guideline 2025")
    memory.facts.add(f"{text} of patients")
    (fact,) = memory.facts.list()
    assert (fact.text, fact.payload.wordings) == (text, (f"{text} of patients",))
    with pytest.raises(CubeProtected, match="read-only"):
        memory.update(fact.id, "Nurses wash nothing.")
    assert texts(memory.facts.list()) == [text]


def test_an_accepted_change_keeps_the_old_version(world: World) -> None:
    memory = guideline(world)
    (proposal,) = memory.proposals.publish([NEW], source="guideline 2026")
    accepted = memory.proposals.accept(proposal.id)
    assert shown(memory) == sorted([NEW, "Wash your hands"])
    assert memory.proposals.list() == []
    assert texts(memory.history(accepted.id)) == [OLD, NEW]
    assert OLD in [hit.text for hit in memory.search("paracetamol", as_of=START).user_facts]
    memory.close()
    again = world.open()
    assert shown(again) == sorted([NEW, "Wash your hands"])
    again.delete(accepted.id)
    assert shown(again) == sorted([OLD, "Wash your hands"])


def test_a_rejected_change_does_not_come_back(world: World) -> None:
    memory = guideline(world)
    (proposal,) = memory.proposals.publish([NEW], source="guideline 2026")
    memory.proposals.reject(proposal.id)
    assert memory.proposals.publish([NEW], source="guideline 2026") == []
    assert shown(memory) == sorted([OLD, "Wash your hands"])
    for answer in (memory.proposals.accept, memory.proposals.reject):
        with pytest.raises(NotFound):
            answer(proposal.id)


@pytest.mark.parametrize("taken", [True, False])
def test_what_the_user_stated_is_not_changed_by_inference(world: World, taken: bool) -> None:
    memory = world.open()
    memory.facts.add("Ann lives in Rome")
    world.clock.advance(days=1)
    page = memory.add("page")
    for text in ("Ann has moved to Oslo", "Ann has moved to Oslo", "Ann lives in Oslo"):  # once is enough
        infer(world, text, page)
    (proposal,) = memory.proposals.list()
    assert (proposal.cube.text, proposal.cube.descriptive.provenance) == ("Ann has moved to Oslo", (page,))
    assert shown(memory) == ["Ann lives in Rome"]
    (memory.proposals.accept if taken else memory.proposals.reject)(proposal.id)
    infer(world, "Ann has moved to Oslo", page)
    assert shown(memory) == (["Ann has moved to Oslo"] if taken else ["Ann lives in Rome"])
    assert memory.proposals.list() == []


def test_the_user_changes_what_the_user_stated(world: World) -> None:
    memory = world.open()
    memory.facts.add("Ann lives in Rome")
    world.clock.advance(days=1)
    memory.facts.add("Ann lives in Oslo")
    assert (shown(memory), memory.proposals.list()) == (["Ann lives in Oslo"], [])


def test_a_proposal_goes_with_its_page(world: World) -> None:
    memory = world.open()
    memory.facts.add("Ann lives in Rome")
    world.clock.advance(days=1)
    page = memory.add("page")
    infer(world, "Ann has moved to Oslo", page)
    memory.delete(page)
    assert memory.proposals.list() == []
    assert texts(world.cubes(Kind.FACT, Tier.ARCHIVE)) == []


def test_a_change_whose_object_is_gone_can_be_accepted(world: World) -> None:
    memory = guideline(world)
    (proposal,) = memory.proposals.publish([NEW], source="guideline 2026")
    memory.delete(proposal.replaces[0].id)
    assert memory.proposals.list()[0].replaces == ()
    memory.proposals.accept(proposal.id)
    assert shown(memory) == sorted([NEW, "Wash your hands"])


def test_a_stranger_sees_and_answers_nothing(world: World) -> None:
    memory = guideline(world)
    (proposal,) = memory.proposals.publish([NEW], source="guideline 2026")
    bob = Scope(user="bob")
    assert memory.of(bob).proposals.list() == []
    for answer in (memory.of(bob).proposals.accept, memory.of(bob).proposals.reject):
        with pytest.raises(NotFound):
            answer(proposal.id)
    assert memory.proposals.list() == [proposal]


@pytest.mark.parametrize(
    "rules",
    [
        [f"Rule {number}: keep the {number + 20} tools of the shop clean and dry." for number in range(6)],
        [f"Section {number}.1 allows {number + 2} visitors at a time." for number in range(6)],
        [f"第{number}条：店里的工具要保持干净，每天检查{number}次。" for number in range(1, 6)],
    ],
)
def test_a_numbered_rule_does_not_contradict_the_one_before(world: World, rules: list[str]) -> None:
    memory = world.open()
    assert memory.proposals.publish(rules, source="handbook") == []
    assert len(memory.profile.get().user.facts) + len(memory.profile.get().agent.facts) == len(rules)
    assert memory.proposals.publish(rules, source="handbook") == []


def test_what_a_crash_cut_short_is_published_by_the_next_call(world: World, monkeypatch) -> None:
    towns = [f"Tom lives in Town{number}" for number in range(40)]
    memory = world.open()
    memory.proposals.publish(["Wash your hands"], source="town hall")
    insert, inserted = SqlWriter.insert, list[int]()

    def die_at_the_second_step(writer: SqlWriter, entries: Sequence[Entry]) -> None:
        inserted.append(len(entries))
        if len(inserted) > 1:
            raise KeyboardInterrupt
        insert(writer, entries)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SqlWriter, "insert", die_at_the_second_step)
        memory.proposals.publish(towns, source="town hall")
    assert 0 < len(memory.proposals.list()) < len(towns) - 1
    memory.proposals.publish(towns, source="town hall")
    assert texts(proposal.cube for proposal in memory.proposals.list()) == towns[1:]
    assert shown(memory) == sorted([towns[0], "Wash your hands"])
    assert verify(world.vault).is_sound
