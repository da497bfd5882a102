"""What a caller states is compared only with what it may read and change: nothing tells it, or harms, the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope, Subject, Tier
from memoryos.engine import Engine
from memoryos.errors import PermissionDenied
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.soundness import verify
from memoryos.models.hashing import Hashing
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

pytestmark = pytest.mark.memory

ANN = Scope(user="ann")
OWNER = Caller("ann")
NURSE = Caller("kim", frozenset({"nurse"}))
CLERK = Caller("clerk")  # may write and read nothing
CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action in [Action::"read", Action::"write"], resource)
when { resource.sensitivity.isEmpty() };
permit (principal in Role::"reader", action == Action::"read", resource);
permit (principal == User::"clerk", action == Action::"write", resource);
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""


@pytest.fixture
def store(vault: Vault, clock, tmp_path: Path):
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    with MemoryOS(
        Engine(vault, Hashing(), clock=clock, gate=PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock))
    ) as opened:
        yield opened


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN, OWNER)


@pytest.fixture
def nurse(store) -> Memory:
    return store.of(ANN, NURSE)


def unchanged(ann: Memory, cube_id: str) -> dict[str, object]:
    return ann.get(cube_id).to_dict()


SAID = ["takes Zyloprim", "lives in Zorbville", "Ann's name is Quixana"]


@pytest.mark.parametrize("said", SAID)
def test_a_fact_that_the_caller_may_not_read_is_not_merged_with(ann, nurse, clock, said):
    hidden = ann.facts.add(said, sensitivity=["diagnosis"], title="Chart")
    before = unchanged(ann, hidden)
    clock.advance(minutes=5)
    stated = nurse.facts.add(said, tags=["seen"], ttl=60)
    assert stated != hidden
    assert unchanged(ann, hidden) == before
    assert {hidden, stated} <= {fact.id for fact in ann.facts.list()}
    assert [fact.id for fact in nurse.facts.list()] == [stated]
    assert nurse.facts.add(said) == stated  # what it may read is known


def test_a_value_that_the_caller_may_not_read_is_not_replaced(ann, nurse, clock):
    hidden = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"])
    before = unchanged(ann, hidden)
    clock.advance(minutes=5)
    first = nurse.facts.add("lives in Boston")
    assert nurse.get(first).version.supersedes is None
    assert unchanged(ann, hidden) == before
    clock.advance(minutes=5)
    second = nurse.facts.add("lives in Chicago")
    assert nurse.get(second).version.supersedes == first  # among what it may read, the later one holds
    assert unchanged(ann, hidden) == before
    clock.advance(minutes=5)
    last = ann.facts.add("lives in Paris")
    assert [fact.id for fact in ann.facts.list()] == [last]
    assert {fact.id for fact in ann.facts.list(tier=Tier.ARCHIVE)} == {hidden, first, second}


def test_what_becomes_one_keeps_the_labels_of_both(ann, nurse, clock):
    """The owner's next word puts both into one succession, where the same words are one fact."""
    stated = nurse.facts.add("lives in Zorbville", tags=["seen"])
    clock.advance(minutes=5)
    ann.facts.add("lives in Paris")
    clock.advance(minutes=5)
    hidden = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"], tags=["home"])
    clock.advance(minutes=5)
    ann.delete(next(fact.id for fact in ann.facts.list(tier=Tier.ARCHIVE) if "Paris" in fact.text))
    left = ann.facts.list()
    assert len(left) == 1
    assert left[0].id in (stated, hidden)
    assert left[0].governance.sensitivity == ("diagnosis",)
    assert set(left[0].descriptive.tags) == {"seen", "home"}
    assert nurse.facts.list() == []


def test_a_succession_with_a_hidden_fact_stays_as_it_is(ann, nurse, clock):
    hidden = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"])
    clock.advance(minutes=5)
    public = ann.facts.add("lives in Boston")
    before = [unchanged(ann, one) for one in (hidden, public)]
    clock.advance(minutes=5)
    stated = nurse.facts.add("lives in Chicago")
    assert [unchanged(ann, one) for one in (hidden, public)] == before
    clock.advance(minutes=5)
    last = ann.facts.add("lives in Paris")
    told = {one: ann.get(one).version.superseded_by for one in (hidden, public, stated)}
    assert told == {hidden: public, public: stated, stated: last}


def test_who_may_read_but_not_change_a_fact_states_its_own_beside_it(store, ann, clock):
    known = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"])
    before = unchanged(ann, known)
    clock.advance(minutes=5)
    stated = store.of(ANN, Caller("kim", frozenset({"nurse", "reader"}))).facts.add("lives in Zorbville", tags=["x"])
    assert stated != known
    assert unchanged(ann, known) == before


def test_a_caller_who_reads_nothing_learns_nothing_from_the_id(store, ann):
    known = ann.facts.add("has bees")
    before = unchanged(ann, known)
    clerk = store.of(ANN, CLERK)
    ids = [clerk.facts.add(said) for said in ("has bees", "has hens", "has bees")]
    assert None not in ids
    assert len({known, *ids}) == 4
    assert unchanged(ann, known) == before


def test_a_key_that_only_writes_learns_nothing_from_the_id(vault, clock):
    with MemoryOS(Engine(vault, Hashing(), clock=clock)) as store:
        ann = store.of(ANN)
        known = ann.facts.add("has bees")
        before = unchanged(ann, known)
        key = store.keys.create("feeder", actions=["write"]).key
        feeder = store.of(ANN, store.keys.caller(key))
        stated = [feeder.facts.add("has bees", tags=["x"]), feeder.profile.set("name", "Bob")]
        assert known not in stated
        assert None not in stated
        assert unchanged(ann, known) == before
        both = store.of(ANN, store.keys.caller(store.keys.create("both").key))
        assert both.facts.add("has bees") == known


def test_a_hidden_frozen_fact_does_not_refuse(ann, nurse):
    hidden = ann.facts.add("takes Zyloprim", sensitivity=["diagnosis"])
    ann.governance.freeze(hidden)
    before = unchanged(ann, hidden)
    stated = nurse.facts.add("takes Zyloprim", tags=["x"])
    assert stated not in (None, hidden)
    assert unchanged(ann, hidden) == before


def test_a_hidden_proposal_does_not_swallow_a_fact(ann, nurse, clock):
    known = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"])
    clock.advance(minutes=5)
    ann.proposals.publish(["lives in Boston"], source="registry")
    (proposal,) = ann.proposals.list()
    assert [one.id for one in proposal.replaces] == [known]
    clock.advance(minutes=5)
    assert nurse.facts.add("lives in Rome") is not None


def test_published_facts_are_not_compared_with_hidden_ones(ann, nurse, clock):
    hidden = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"])
    before = unchanged(ann, hidden)
    clock.advance(minutes=5)
    with pytest.raises(PermissionDenied):  # to publish is to share
        nurse.proposals.publish(["lives in Boston"], source="registry")
    assert unchanged(ann, hidden) == before


def test_an_accepted_proposal_replaces_only_what_the_caller_may_read(ann, nurse, clock):
    hidden = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"])
    clock.advance(minutes=5)
    ann.proposals.publish(["lives in Boston"], source="registry")
    (proposal,) = ann.proposals.list()
    before = unchanged(ann, hidden)
    assert nurse.proposals.list()[0].replaces == ()
    clock.advance(minutes=5)
    assert nurse.proposals.accept(proposal.id).tier is Tier.LPM
    assert unchanged(ann, hidden) == before
    assert {fact.id for fact in ann.facts.list()} == {hidden, proposal.id}
    clock.advance(minutes=5)
    last = ann.facts.add("lives in Paris")  # what was published is read-only, so this is a proposal
    ann.proposals.accept(last)
    assert {fact.id for fact in ann.facts.list(tier=Tier.ARCHIVE)} == {hidden, proposal.id}


def test_to_accept_a_proposal_takes_the_right_to_change_what_it_replaces(store, ann, clock):
    known = ann.facts.add("lives in Zorbville", sensitivity=["diagnosis"])
    clock.advance(minutes=5)
    ann.proposals.publish(["lives in Boston"], source="registry")
    (proposal,) = ann.proposals.list()
    both = store.of(ANN, Caller("kim", frozenset({"nurse", "reader"})))
    before = unchanged(ann, known)
    with pytest.raises(PermissionDenied, match="may not write the memory"):
        both.proposals.accept(proposal.id)
    assert unchanged(ann, known) == before
    assert [one.id for one in ann.proposals.list()] == [proposal.id]


@pytest.mark.parametrize("subject", list(Subject))
def test_a_profile_value_that_the_caller_may_not_read_is_not_replaced(store, ann, nurse, clock, subject):
    ann.add("My name is Quixana." if subject is Subject.USER else "Hi.", "I am Quixbot.", sensitivity=["diagnosis"])
    ann.consolidate()
    ann.wait()
    mine = {field.id: field.to_dict() for field in persona(ann, subject).profile}
    clock.advance(minutes=5)
    stated = nurse.profile.set("name", "Bob", subject=subject)
    assert stated not in mine
    clock.advance(minutes=5)
    assert nurse.profile.set("name", "Rob", subject=subject) == stated
    after = {field.id: field.to_dict() for field in persona(ann, subject).profile}
    assert {name: after[name] for name in mine} == mine
    assert [field.payload.value for field in persona(nurse, subject).profile] == ["Rob"]


def test_the_owners_next_value_makes_one_field_of_both(ann, nurse, clock):
    ann.add("My name is Quixana.", sensitivity=["diagnosis"])
    ann.consolidate()
    ann.wait()
    (hidden,) = persona(ann, Subject.USER).profile
    clock.advance(minutes=5)
    stated = nurse.profile.set("name", "Bob")
    assert len(persona(ann, Subject.USER).profile) == 2
    clock.advance(minutes=5)
    assert ann.profile.set("name", "Ann") == hidden.id
    (field,) = persona(ann, Subject.USER).profile
    assert (field.id, field.payload.value) == (hidden.id, "Ann")
    assert [one.payload.value for one in ann.history(hidden.id)] == ["Quixana", "Bob", "Ann"]
    assert stated is not None
    assert persona(nurse, Subject.USER).profile == ()  # it rests on the diagnosis


def persona(memory: Memory, subject: Subject):
    found = memory.profile.get()
    return found.user if subject is Subject.USER else found.agent


def test_the_store_stays_sound(vault, ann, nurse, clock):
    for said in SAID:
        ann.facts.add(said, sensitivity=["diagnosis"])
        clock.advance(minutes=5)
        nurse.facts.add(said)
        clock.advance(minutes=5)
        nurse.facts.add("lives in Boston")
        nurse.profile.set("name", "Bob")
    clock.advance(minutes=5)
    ann.facts.add("lives in Paris")
    ann.profile.set("name", "Ann")
    assert verify(vault).damages == ()
