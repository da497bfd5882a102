"""Branches: what is tried in a copy of a memory never reaches the memory itself."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest
from uuid_utils.compat import uuid7

from built_cubes import put_built
from memoryos import Attachment, Caller, MemoryOS, Scope, load_settings
from memoryos.engine import Engine
from memoryos.errors import CubeProtected, InvalidInput, NotFound, OnHold, PermissionDenied, StoreFull
from memoryos.kinds import Kind, State
from memoryos.models.hashing import Hashing
from memoryos.operation.correction.branch import BranchPlace, branches, new_branch_id
from memoryos.operation.correction.branch_maker import BranchMaker
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

from .objects import LocalFolder


def texts(memory, question="zanzibar ferry", **options):
    found = memory.search(question, **options)
    return sorted({hit.text for hit in (*found.hits, *found.recent, *found.user_facts)})


def everything(memory):
    """All memories of the owner itself, as the store has them, and its log."""
    with memory._engine.vault.read(memory.scope) as reader:
        cubes = {cube.id: cube for kind in Kind for cube in reader.cubes(kind)}
        versions = {cube_id: reader.history(cube_id) for cube_id in cubes}
        return cubes, versions, reader.links_of(list(cubes)), reader.sequence()


def lived(memory):
    first = memory.add("The zanzibar ferry leaves at nine.", tags=["trip"])
    memory.update(first, "The zanzibar ferry leaves at ten.")
    for number in range(6):
        memory.of(Scope(user="tom", session="monday")).add(f"I have {number} boats.")
    memory.facts.add("Ann lives in Rome")
    memory.profile.set("motto", "slowly")
    memory.wait()
    return first


def test_a_branch_reads_like_the_memory_and_writes_apart(open_memory, clock):
    memory = open_memory()
    first = lived(memory)
    clock.advance(days=1)
    made = memory.branches.create("try")
    branch = memory.branch("try")
    assert texts(branch) == texts(memory)
    memory.wait()  # until the visits are written
    before = everything(memory)
    copy = made.id_of(first)
    assert [one.text for one in branch.history(copy)] == [one.text for one in memory.history(first)]
    assert branch.get(copy).tags == ("trip",)
    assert branch.profile.get().user.fields == {"motto": "slowly"}
    branch.update(copy, "The zanzibar ferry sank.")
    branch.add("The quokka is happy.")
    branch.facts.add("Ann lives in Oslo")
    branch.profile.set("motto", "faster")
    branch.delete(branch.pages.list(session="monday")[0].id)
    branch.wait()
    assert "user: The zanzibar ferry sank." in texts(branch)
    assert everything(memory) == before
    with pytest.raises(NotFound):
        memory.get(copy)
    with pytest.raises(NotFound):
        branch.get(first)


def test_the_difference_is_told(open_memory, clock):
    memory = open_memory()
    first = lived(memory)
    made = memory.branches.create("try")
    assert memory.branches.diff("try").to_dict() == {
        "name": "try",
        "added": [],
        "changed": [],
        "removed": [],
        "newer": [],
    }
    branch = memory.branch("try")
    clock.advance(days=1)
    branch.update(made.id_of(first), "The zanzibar ferry sank.")
    added = branch.add("The quokka is happy.")
    gone = memory.pages.list(session="monday")[0].id
    branch.delete(made.id_of(gone))
    branch.facts.add("Ann lives in Oslo")
    newer = memory.add("The piano is out of tune.")
    for one in (memory, branch):
        one.wait()
    diff = memory.branches.diff("try")
    assert {cube.text for cube in diff.added} == {"user: The quokka is happy.", "Ann lives in Oslo"}
    assert added in {cube.id for cube in diff.added}
    changed = {one.id: one for one in diff.changed}
    assert changed[first].changes[0].after == "The zanzibar ferry sank."
    rome = memory.facts.list()[0].id
    assert (changed[rome].before, changed[rome].after) == (State.GENERATED, State.MERGED)
    assert [cube.id for cube in diff.removed if cube.kind is Kind.PAGE] == [gone]
    assert [cube.id for cube in diff.newer if cube.kind is Kind.PAGE] == [newer]


def test_a_branch_ends_and_can_be_discarded(open_memory, clock):
    memory = open_memory()
    lived(memory)
    for name in ("short", "long"):
        memory.branches.create(name, ttl=86_400 if name == "short" else timedelta(days=3))
    branch = memory.branch("short")
    assert [one.name for one in memory.branches.list()] == ["long", "short"]
    clock.advance(days=1)
    assert [one.name for one in memory.branches.list()] == ["long"]
    memory.jobs.run()
    assert (branch.pages.list(), branch.facts.list()) == ([], [])
    other = memory.branch("long")
    memory.branches.discard("long")
    assert other.pages.list() == []
    for call in (memory.branch, memory.branches.discard, memory.branches.diff):
        with pytest.raises(NotFound):
            call("long")
    assert memory.pages.count() == 7


def test_deleting_erasing_and_forgetting_reach_the_branches(open_memory, clock):
    memory = open_memory()
    first = lived(memory)
    memory.branches.create("try")
    branch = memory.branch("try")
    memory.governance.erase(first)
    assert "user: The zanzibar ferry leaves at ten." not in texts(branch)
    assert branch.pages.count() == 6
    memory.of(Scope(user="tom", session="monday")).forget()
    assert branch.pages.count() == 0
    memory.forget()
    with memory._engine.vault.read(branch.scope) as reader:
        assert reader.remains() == {}
    assert memory.branches.list() == []


def test_what_is_on_hold_keeps_its_copies(open_memory):
    memory = open_memory()
    first = memory.add("The ferry to Zanzibar leaves at noon.")
    made = memory.branches.create("try")
    hold = memory.governance.hold(reason="the case of Smith", memory=first)
    for refused in (memory.delete, memory.governance.expire, memory.governance.erase):
        with pytest.raises(OnHold):
            refused(first)
        assert made.id_of(first) in {page.id for page in memory.branch("try").pages.list()}
    memory.governance.release(hold.id)
    memory.delete(first)
    assert not memory.branch("try").pages.list()


def test_what_is_frozen_can_be_changed_in_a_branch(open_memory, clock):
    memory = open_memory()
    first = lived(memory)
    memory.governance.freeze(first)
    made = memory.branches.create("try")
    branch = memory.branch("try")
    branch.update(made.id_of(first), "The zanzibar ferry sank.")
    branch.governance.freeze(made.id_of(first))
    with pytest.raises(CubeProtected):
        memory.branches.discard("try")
    with pytest.raises(CubeProtected):  # by the memory itself, and the copy stays
        memory.delete(first)
    assert made.id_of(first) in {page.id for page in branch.pages.list()}
    memory.governance.thaw(first)
    with pytest.raises(CubeProtected):  # by the copy, before anything is deleted
        memory.governance.erase(first)
    assert first in {page.id for page in memory.pages.list()}
    branch.governance.thaw(made.id_of(first))
    memory.governance.erase(first)
    assert made.id_of(first) not in {page.id for page in branch.pages.list()}
    memory.branches.discard("try")


def test_rules_end_what_is_in_a_branch(open_memory, clock):
    memory = open_memory()
    lived(memory)
    memory.governance.retain("trip", ttl=86_400, tags=["trip"])
    memory.wait()
    memory.branches.create("try")
    branch = memory.branch("try")
    clock.advance(days=1)
    for one in (memory, branch):
        one.jobs.run()
        assert texts(one, tags=["trip"]) == []


def test_what_expires_in_the_memory_goes_in_its_branches_too(open_memory, clock):
    """Also by a rule that is younger than the branch, and of a copy that says something else by now."""
    memory = open_memory()
    first = lived(memory)
    made = memory.branches.create("try", ttl=timedelta(days=30))
    branch = memory.branch("try")
    branch.update(made.id_of(first), "The zanzibar ferry sank.")
    memory.governance.retain("trip", ttl=86_400, tags=["trip"])
    memory.wait()
    branch.governance.freeze(made.id_of(first))
    clock.advance(days=1)
    memory.jobs.run()
    with memory._engine.vault.read(memory.scope) as reader:  # hidden, until the copy may go
        assert reader.expired() == [first]
    branch.governance.thaw(made.id_of(first))
    clock.advance(hours=1)
    memory.jobs.run()
    assert branch.pages.count() == memory.pages.count() == 6
    with memory._engine.vault.read(memory.scope) as reader, memory._engine.vault.read(branch.scope) as copies:
        assert (reader.expired(), copies.get([made.id_of(first)])) == ([], {})


@pytest.mark.file
def test_attachments_are_copied(open_memory, tmp_path):
    memory = open_memory(object_store=LocalFolder(tmp_path).url)
    page = memory.add("Look!", attachments=[Attachment(caption="a cat", uri="data:image/png;base64,aGVsbG8gY2F0")])
    made = memory.branches.create("try")
    file = memory.pages.attachments(page)[0].id
    memory.branch("try").add("More.")
    assert memory.branch("try").pages.attachment(made.id_of(page), file).data == b"hello cat"


def test_a_branch_has_neither_kv_states_nor_adapters(open_memory, clock):
    memory = open_memory()
    fact = memory.facts.add("Ann lives in Rome")
    put_built(memory._engine.vault, memory.get(fact), clock)
    made = memory.branches.create("try")
    assert made.is_whole
    cubes, _, links, _ = everything(memory.branch("try"))
    assert [cube.kind for cube in cubes.values()] == [Kind.FACT]
    assert links == []
    memory.branch("try").update(made.id_of(fact), "Ann lives in Pisa")
    assert len(everything(memory)[0]) == 3  # what the branch changes removes none of them
    memory.branches.discard("try")


@pytest.mark.once
def test_wrong_branches_are_refused(open_memory):
    memory = open_memory(most_snapshots=1)
    memory.branches.create("a")
    with pytest.raises(InvalidInput, match="taken"):
        memory.branches.create("a")
    with pytest.raises(InvalidInput, match="most_snapshots"):
        memory.branches.create("b")
    with pytest.raises(InvalidInput, match="branch of a branch"):
        memory.branch("a").branches.create("b")
    for wrong in ({"name": ""}, {"name": "x", "ttl": 0}):
        with pytest.raises(InvalidInput):
            memory.branches.create(**wrong)


@pytest.mark.once
def test_agents_who_share_a_persona_have_branches_of_their_own(tmp_path, clock):
    settings = load_settings(persona_sharing="user")
    with MemoryOS.open(tmp_path / "m.db", settings=settings, embedder=Hashing(), clock=clock) as store:
        one, other = store.memory("tom", agent="one"), store.memory("tom", agent="other")
        one.facts.add("Tom lives in Rome")
        for memory in (one, other):
            memory.branches.create("try")
        one.branch("try").facts.add("Tom lives in Oslo")
        assert [fact.text for fact in one.branch("try").facts.list()] == ["Tom lives in Oslo"]
        for memory in (one, other, other.branch("try")):
            assert [fact.text for fact in memory.facts.list()] == ["Tom lives in Rome"]
        one.branches.discard("try")
        assert [fact.text for fact in other.branch("try").facts.list()] == ["Tom lives in Rome"]
        passing = one.facts.add("Tom has a cold")
        place = one.branches.create("later", ttl=timedelta(days=30))
        assert one.facts.add("Tom has a cold", ttl=60) == passing  # ends earlier than its copy
        clock.advance(days=1)
        store.of(one._engine.home(one.scope)).jobs.run()
        assert [fact.text for fact in one.facts.list()] == ["Tom lives in Rome"]
        with pytest.raises(NotFound):
            one.branch("later").get(place.id_of(passing))
        store.admin.forget("tom")
        assert store.admin.scopes() == []


CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal && resource.namespace == "private" };
permit (principal in Role::"nurse", action == Action::"read", resource is Cube)
  when { resource.namespace == "private" && resource.sensitivity.isEmpty() };
permit (principal in Role::"clerk", action, resource is Cube)
  when { resource.namespace == "private" && resource.sensitivity.isEmpty() };
"""


def test_policies_of_the_memory_decide_about_its_branches(vault, clock, tmp_path):
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    gate = PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock)
    with closing(MemoryOS(Engine(vault, Hashing(), clock=clock, gate=gate))) as store:
        ann = store.memory("ann")
        open_page, closed = (
            ann.add("The ferry leaves at nine."),
            ann.add("The ferry is ill.", sensitivity=["diagnosis"]),
        )
        made = ann.branches.create("try")
        nurse, clerk = (store.memory("ann", caller=Caller(name, frozenset({name}))) for name in ("nurse", "clerk"))
        assert {page.id for page in ann.branch("try").pages.list()} == {made.id_of(open_page), made.id_of(closed)}
        assert [page.id for page in nurse.branch("try").pages.list()] == [made.id_of(open_page)]
        assert [cube.text for cube in nurse.branches.diff("try").newer] == []
        with pytest.raises(PermissionDenied):
            nurse.branches.create("mine")
        with pytest.raises(PermissionDenied):
            store.memory("ann", caller=Caller("bob")).branch("try")
        part = clerk.branches.create("part")
        assert [page.id for page in clerk.branch("part").pages.list()] == [part.id_of(open_page)]


def test_a_branch_that_was_cut_short_is_none_and_can_be_made_again(open_memory, clock, monkeypatch):
    monkeypatch.setattr("memoryos.operation.correction.branch_maker.READ_AT_ONCE", 2)
    memory = open_memory()
    lived(memory)
    copy, done = BranchMaker._copy_some, []

    def cut(self, *some):
        if done:
            raise StoreFull("the disk is full")
        done.append(some)
        copy(self, *some)

    with monkeypatch.context() as patched:
        patched.setattr(BranchMaker, "_copy_some", cut)
        for name in ("again", "never"):
            with pytest.raises(StoreFull):
                memory.branches.create(name, ttl=86_400)
            done.clear()
    assert memory.branches.list() == []
    with pytest.raises(NotFound):
        memory.branch("again")
    memory.branches.create("again", ttl=timedelta(days=2))
    assert texts(memory.branch("again")) == texts(memory)
    clock.advance(days=1)
    memory.jobs.run()
    with memory._engine.vault.read(memory.scope) as reader:
        assert [branch.name for branch in branches(reader)] == ["again"]
    scopes = [scope for scope in memory._engine.vault.owners_of("default", "tom") if scope.is_branch]
    assert scopes == [memory.branch("again").scope]


def test_of_facts_that_one_page_told_the_last_one_holds_in_a_branch_too(open_memory):
    """The ids of copies had no order, and facts of one moment are in that of their ids."""
    memory = open_memory()
    memory.add(" ".join(f"I live in Town{number}." for number in range(30)))
    later = memory.add("I live in Madrid.")
    for word in ("Bye.", "See you.", "Well."):
        memory.add(word)
    memory.consolidate()
    memory.branches.create("try")
    branch = memory.branch("try")
    memory.delete(later)
    memory.wait()
    for one in (memory, branch):
        assert [fact.text for fact in one.facts.list()] == ["User lives in Town29."]


def test_the_ids_of_copies_have_the_order_of_the_originals():
    originals = sorted(str(uuid7()) for _ in range(2_000))
    place = BranchPlace(new_branch_id(), "try")
    copies = [place.id_of(one) for one in originals]
    assert copies == sorted(copies)
    assert not {*copies}.intersection(originals)
    assert len({*copies, *map(BranchPlace(new_branch_id(), "try").id_of, originals)}) == 4_000
    assert place.id_of("no UUID") != "no UUID"


def test_a_branch_of_an_earlier_version_still_finds_its_copies():
    place = BranchPlace("0193a0f2-6a1c-7000-8000-000000000000", "try")
    assert place.id_of("0193a0f2-6a1c-7000-8000-000000000001") == "ae3d47c5-97e7-5778-9753-a31c77d9288a"
