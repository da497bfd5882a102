"""What is removed from a memory leaves its branches, and those of other agents who share its persona."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.caller import SYSTEM, acting
from memoryos.engine import Engine
from memoryos.errors import CubeProtected, NotFound, ObjectsUnreachable, OnHold, PermissionDenied
from memoryos.kinds import Kind, State
from memoryos.models.hashing import Hashing
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.correct import Corrector
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

WORDS = "我的木琴是绿色的"


def kept(memory: Memory) -> list[str]:
    """All that the scope of a memory has, in any state, and its persona."""
    scopes = {memory.scope.owner, memory._engine.home(memory.scope)}
    return sorted(text for scope in scopes for text in acting(SYSTEM, lambda scope=scope: texts_in(memory, scope)))


def texts_in(memory: Memory, scope: Scope) -> list[str]:
    with memory._engine.vault.read(scope) as reader:
        return [cube.text for kind in Kind for cube in reader.cubes(kind, states=list(State))]


def merged(memory: Memory) -> list[str]:
    """Two pages that say the same, the first of which took in the other."""
    pages = [memory.add(WORDS), memory.add(WORDS)]
    memory.wait()
    memory.duplicates.merge(pages)
    return pages


def test_who_erases_a_memory_erases_what_it_took_in_in_the_branches_too(open_memory):
    memory = open_memory()
    first, twin = merged(memory)
    memory.branches.create("try")
    hold = memory.governance.hold(reason="the case of Smith", memory=twin)
    before = kept(memory.branch("try"))
    with pytest.raises(OnHold):
        memory.governance.erase(first)
    assert kept(memory.branch("try")) == before  # all or nothing
    memory.governance.release(hold.id)
    assert memory.governance.erase(first).is_complete
    assert not memory.branch("try").search(WORDS).hits
    assert kept(memory) == kept(memory.branch("try")) == []


def test_a_branch_that_was_made_before_the_merge_loses_both(open_memory):
    memory = open_memory()
    pages = [memory.add(WORDS), memory.add(WORDS)]
    memory.wait()
    memory.branches.create("try")
    memory.duplicates.merge(pages)
    memory.governance.erase(pages[0])
    assert kept(memory.branch("try")) == []


def freeze_in_a_branch_made_meanwhile(memory: Memory, cube_id: str, monkeypatch) -> None:
    """Let a branch become whole after the first look at them, and freeze the copy in it."""
    original, done = Brancher.delete_all, []

    def interrupted(self, ids):
        original(self, ids)
        if not done:
            done.append(True)
            made = memory.branches.create("try")
            memory.branch("try").governance.freeze(made.id_of(cube_id))

    monkeypatch.setattr(Brancher, "delete_all", interrupted)


def test_an_erasure_is_signed_although_a_copy_made_meanwhile_is_frozen(open_memory, monkeypatch):
    memory, noted = open_memory(), []
    page = memory.add(WORDS)
    memory.wait()
    monkeypatch.setattr(type(memory._engine.vault.erasure), "note_forgotten", lambda self, one: noted.append(one) or ())
    freeze_in_a_branch_made_meanwhile(memory, page, monkeypatch)
    done = memory.governance.erase(page)
    assert (done.left, done.is_complete, {one["memory"] for one in noted}) == ({"page": 1}, False, {page})
    assert done.receipt.left == {"page": 1}
    with pytest.raises(NotFound):
        memory.get(page)


def test_a_deletion_tells_that_a_copy_made_meanwhile_is_frozen(open_memory, monkeypatch):
    memory = open_memory()
    page = memory.add(WORDS)
    memory.wait()
    freeze_in_a_branch_made_meanwhile(memory, page, monkeypatch)
    with pytest.raises(CubeProtected, match=r"is removed, but its copy .* in the branch 'try'"):
        memory.delete(page)
    with pytest.raises(NotFound):
        memory.get(page)


def test_a_copy_made_meanwhile_goes_when_the_object_store_answers(open_memory, monkeypatch):
    memory = open_memory()
    page = memory.add(WORDS)
    memory.wait()
    made = memory.branches.create("try")
    original, done = Corrector.delete, []

    def unreachable(self, cube_id):
        if cube_id == made.id_of(page) and len(done) < 1:
            done.append(True)
            raise ObjectsUnreachable("away")
        original(self, cube_id)

    monkeypatch.setattr(Corrector, "delete", unreachable)
    monkeypatch.setattr(Brancher, "delete_all", lambda self, ids: None)  # as if the branch was made afterwards
    assert memory.governance.erase(page).is_complete
    memory.branch("try").jobs.run()
    assert kept(memory.branch("try")) == []


def test_what_expires_while_a_branch_becomes_whole_is_not_in_it(open_memory, clock, monkeypatch):
    """Its end is that of a rule which is younger than what the branch shows, so the copy has none."""
    memory, original, looks = open_memory(), Brancher._whole, []
    memory.add(WORDS, tags=["trip"])
    memory.branches.create("try")
    memory.governance.retain("trip", ttl=60, tags=["trip"])
    memory.wait()
    clock.advance(seconds=60)

    def interrupted(self):
        looks.append(self)
        return original(self) if len(looks) > 1 else []  # at the first look it is not whole yet

    monkeypatch.setattr(Brancher, "_whole", interrupted)
    memory.jobs.run()
    assert looks and kept(memory) == kept(memory.branch("try")) == []


@pytest.fixture
def agents(place, clock) -> Iterator[tuple[MemoryOS, Memory, Memory]]:
    """A store in which agents share the persona of a user; the second one has a branch."""
    settings = load_settings(persona_sharing="user", short_term_capacity=1, heat_threshold=0)
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as store:
        yield store, store.memory("tom", agent="one"), store.memory("tom", agent="other")


def test_what_leaves_a_shared_persona_leaves_the_branches_of_all_agents(agents, clock):
    store, one, other = agents
    facts = {way: one.facts.add(f"Tom has the {way} disease") for way in ("first", "second", "third", "fourth")}
    passing = one.facts.add("Tom has a cold", ttl=60)
    one.facts.add("Tom lives in Rome")
    other.branches.create("try")
    one.delete(facts["first"])
    assert one.governance.erase(facts["second"]).is_complete
    one.governance.expire(facts["third"])
    persona = store.of(one._engine.home(one.scope))
    persona.delete(facts["fourth"])
    clock.advance(seconds=60)
    persona.jobs.run()
    assert kept(other.branch("try")) == kept(other) == ["Tom lives in Rome"]
    assert passing not in {fact.id for fact in one.facts.list()}


@pytest.mark.parametrize("way", ["page", "session", "owner"])
def test_what_leaves_a_shared_persona_with_its_pages_leaves_the_branches(agents, way):
    store, one, other = agents
    session = store.of(Scope(user="tom", agent="one", session="s"))
    page = session.add("I live in Samarkand.", "Nice.")
    one.consolidate()
    assert any("Samarkand" in fact.text for fact in other.facts.list())
    for memory in (one, other):
        memory.branches.create("try")
    if way == "page":
        one.delete(page)
    elif way == "session":
        session.forget()
    else:
        one.forget()
    for memory in (one, other):
        assert not any("Samarkand" in text for text in kept(memory)), memory.scope
    assert not any("Samarkand" in text for text in kept(other.branch("try")))
    if way != "owner":
        assert not any("Samarkand" in text for text in kept(one.branch("try")))


def test_a_persona_that_is_forgotten_leaves_the_branches_of_all_agents(agents):
    store, one, other = agents
    one.facts.add("Tom lives in Rome")
    other.add("The ferry leaves at nine.")
    other.branches.create("try")
    assert store.of(one._engine.home(one.scope)).forget().is_complete
    assert kept(other.branch("try")) == kept(other) == ["user: The ferry leaves at nine."]


def test_a_deletion_that_waited_for_the_object_store_reaches_the_branches_of_all_agents(agents, monkeypatch):
    _, one, other = agents
    fact = one.facts.add("Tom lives in Rome")
    other.branches.create("try")
    original, done = Corrector.delete, []

    def unreachable(self, cube_id):
        if not done:
            done.append(True)
            raise ObjectsUnreachable("away")
        original(self, cube_id)

    monkeypatch.setattr(Corrector, "delete", unreachable)
    with pytest.raises(ObjectsUnreachable):
        one.delete(fact)
    one.wait()  # the job is in the scope of the persona
    assert (kept(one), kept(other.branch("try"))) == ([], [])


RULES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"reader", action == Action::"read", resource is Cube);
"""


def test_who_may_not_remove_a_memory_removes_no_copy_of_other_agents(vault, clock, tmp_path):
    (tmp_path / "rules.cedar").write_text(RULES)
    gate, settings = PolicyGate(PolicyFiles(tmp_path / "rules.cedar"), clock), load_settings(persona_sharing="user")
    with closing(MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock, gate=gate))) as store:
        one, other = store.memory("tom", agent="one"), store.memory("tom", agent="other")
        fact = one.facts.add("Tom lives in Rome")
        other.branches.create("try")
        reader = store.memory("tom", agent="one", caller=Caller("bob", frozenset({"reader"})))
        for refused in (reader.delete, reader.governance.erase, reader.governance.expire):
            with pytest.raises(PermissionDenied):
                refused(fact)
        assert kept(other.branch("try")) == ["Tom lives in Rome"]
        one.delete(fact)
        assert kept(other.branch("try")) == []


@pytest.mark.each
def test_a_fact_of_a_shared_persona_is_as_restricted_in_a_branch_as_the_page_that_it_rests_on(place, tmp_path):
    """The page is of one agent; the branches of both have a copy of the fact."""
    (tmp_path / "ward.cedar").write_text("""
        permit (principal, action, resource is Cube) when { resource.owner == principal };
        permit (principal == User::"kim", action == Action::"read", resource is Cube)
        when { resource.sensitivity.isEmpty() };
    """)
    settings = load_settings(persona_sharing="user", short_term_capacity=1, policies=str(tmp_path / "ward.cedar"))
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing())) as store:
        agents = [Scope("ann", name) for name in ("coder", "friend")]
        coder, friend = (store.of(agent, Caller("ann")) for agent in agents)
        coder.add("I live in Rome.", "ok", sensitivity=["address"])
        friend.add("I like tea.", "ok")
        coder.consolidate()
        for memory in (coder, friend):
            memory.branches.create("try")
            assert "Rome" in repr(memory.branch("try").facts.list())
        for agent in agents:
            assert "Rome" not in repr(store.of(agent, Caller("kim")).branch("try").facts.list())
