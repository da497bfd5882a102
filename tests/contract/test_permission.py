"""Policies: who may do what with which memory, in which context; what may not be read is found by no method."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import memoryos
from contract import server
from contract.back_ends import BACK_ENDS
from frozen_clock import FrozenClock
from hierarchy.work import calls_in
from memoryos import Caller, Kind, Memory, MemoryOS, Mount, Role, Scope, Strategy, Tier
from memoryos.config import load_settings
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, ModelNotConfigured, NotFound, PermissionDenied
from memoryos.infrastructure.vault.contract import Vault
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate
from public import function_of, method_of, methods_of

pytestmark = pytest.mark.memory

ANN = Scope(user="ann")
OWNER = Caller("ann")
DOCTOR = Caller("dr-lee", frozenset({"doctor"}), purpose="treatment", application="ward")
NURSE = Caller("nurse-kim", frozenset({"nurse"}), purpose="treatment")

CLINIC = """
@id("patients own their memory")
permit (principal, action, resource is Cube) when { resource.owner == principal };

@id("staff read")
permit (principal in Role::"nurse", action == Action::"read", resource) when { resource.sensitivity.isEmpty() };

@id("the treating doctor reads a diagnosis")
permit (principal in Role::"doctor", action == Action::"read", resource)
when { context has purpose && context.purpose == "treatment" };
"""

Open = Callable[..., MemoryOS]


class Echo:
    """A model that answers with the whole prompt."""

    def answer(self, messages: Any) -> Answer:
        return Answer(json.dumps(list(messages)), Usage(), "echo")

    def stream(self, messages: Any) -> Iterator[str]:
        yield json.dumps(list(messages))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "policies"
    made.mkdir()
    return made


@pytest.fixture
def opened(vault: Vault, clock, folder: Path) -> Iterator[Open]:
    """opened(policies): a store on which these policies decide."""
    with ExitStack() as stack:

        def call(policies: str = CLINIC) -> MemoryOS:
            (folder / "clinic.cedar").write_text(policies)
            gate = PolicyGate(PolicyFiles(folder), clock)
            store = MemoryOS(Engine(vault, Hashing(), chat=Echo(), clock=clock, gate=gate))
            stack.callback(store.close)
            return store

        yield call


def seen_by(store: MemoryOS, caller: Caller, question: str = "What about the bees?") -> set[str]:
    return {hit.cube.payload.turns[0].text for hit in store.of(ANN, caller).search(question).hits}


# The model


def test_what_no_policy_permits_is_denied(opened):
    store = opened()
    store.of(ANN, OWNER).add("I keep bees.")
    for caller in (Caller("bob"), Caller("ANN"), Caller("аnn"), Caller("ann "), Caller("doctor")):
        with pytest.raises(PermissionDenied, match="may not read this memory"):
            store.of(ANN, caller).search("bees")
        with pytest.raises(PermissionDenied, match="may not write"):
            store.of(ANN, caller).add("I am Ann.")


ODD = (
    "O'Brien",
    "mal\nlory",
    "mal\tlory",
    "mal\u00a0lory",
    "mal\u200blory",
    "mal\u202elory",
    "\u0301x",
    "\u0bbex",
    "\u088fx",
)


@pytest.mark.once
@pytest.mark.parametrize("name", [*ODD, 'quo"te', "back\\slash", "👨\u200d👩\u200d👧", "李雷"])
def test_no_character_of_a_name_opens_the_memory_of_others(opened, name):
    store = opened()
    store.of(ANN, OWNER).add("I keep bees.")
    other, own = store.of(ANN, Caller(name)), store.of(Scope(user=name), Caller(name))
    for refused in (
        lambda: other.governance.retain("all", ttl=1),
        other.snapshots.list,
        lambda: other.branches.create("mine"),
        lambda: other.search("bees"),
    ):
        with pytest.raises(PermissionDenied):
            refused()
    own.add("I keep wasps.")
    own.governance.retain("all", ttl=100)
    assert [page.text for page in own.pages.list()] == ["user: I keep wasps."]


def test_only_the_treating_doctor_reads_a_diagnosis(opened):
    store = opened()
    ann = store.of(ANN, OWNER)
    ann.add("The bees sting.")
    diagnosis = ann.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    assert seen_by(store, OWNER) == seen_by(store, DOCTOR) == {"The bees sting.", "The bees made it an allergy."}
    assert seen_by(store, NURSE) == {"The bees sting."}
    with pytest.raises(NotFound):
        store.of(ANN, NURSE).get(diagnosis)
    curious = Caller("dr-lee", frozenset({"doctor"}), purpose="research")
    with pytest.raises(PermissionDenied):
        store.of(ANN, curious).get(diagnosis)
    assert store.of(ANN, DOCTOR).get(diagnosis).id == diagnosis
    with pytest.raises(PermissionDenied, match="may not write"):
        store.of(ANN, DOCTOR).update(diagnosis, "All well.")


def test_only_authorised_managers_retrieve_a_policy_document(opened):
    store = opened("""
        permit (principal in Role::"manager", action == Action::"read", resource)
        when { resource.tags.contains("policy") } unless { context has network && context.network == "guest" };
        permit (principal in Role::"staff", action in [Action::"read", Action::"write"], resource)
        when { !resource.tags.contains("policy") };
        permit (principal == User::"author", action, resource is Cube);
    """)
    company = Scope(user="acme", namespace=("context", "rules"))
    store.of(company, Caller("author")).add("Travel is paid in business class.", tags=["policy"], title="Travel")
    store.of(company, Caller("author")).add("The canteen opens at noon.")

    def found(*roles: str, network: str | None = None) -> set[str]:
        caller = Caller("lee", frozenset(roles), network=network)
        return {hit.cube.payload.turns[0].text for hit in store.of(company, caller).search("travel canteen").hits}

    assert found("manager") == {"Travel is paid in business class."}
    assert found("staff") == {"The canteen opens at noon."}
    assert len(found("staff", "manager")) == 2
    assert found("staff", "manager", network="guest") == {"The canteen opens at noon."}
    with pytest.raises(PermissionDenied):
        store.of(company, Caller("eve")).search("travel")
    with pytest.raises(PermissionDenied, match="may not write a page with these labels"):
        store.of(company, Caller("lee", frozenset({"staff"}))).add("Travel is free.", tags=["policy"])


def test_the_roles_of_one_person_keep_separate_memories(opened):
    store = opened("""
        permit (principal in Role::"parent", action, resource is Cube)
        when { resource.owner == principal && resource.namespace == "private/family" };
        permit (principal in Role::"manager", action, resource is Cube)
        when { resource.owner == principal && resource.namespace == "private/work" };
    """)
    family, work = (Scope(user="kim", namespace=("private", name)) for name in ("family", "work"))
    parent, manager = (Caller("kim", frozenset({role})) for role in ("parent", "manager"))
    store.of(family, parent).add("The school play is on Friday.")
    store.of(work, manager).add("The budget meeting is on Friday.")
    assert len(store.of(family, parent).search("Friday").hits) == 1
    assert len(store.of(work, manager).search("Friday").hits) == 1
    for scope, caller in ((family, manager), (work, parent), (family, Caller("kim"))):
        with pytest.raises(PermissionDenied):
            store.of(scope, caller).search("Friday")


def test_a_writers_drafts_are_shared_read_only(opened):
    store = opened("""
        permit (principal, action, resource is Cube) when { resource.owner == principal };
        permit (principal in Role::"editor", action == Action::"read", resource)
        when { ["shared", "read_only"].contains(resource.access) };
        permit (principal in Role::"editor", action == Action::"write", resource) when { resource.access == "shared" };
    """)
    editor = store.of(ANN, Caller("ed", frozenset({"editor"})))
    mine = store.of(ANN, OWNER)
    private = mine.add("The draft in my drawer.")
    shared = mine.add("The draft for the team.", access="shared")
    fixed = mine.add("The draft that is done.", access="read_only")
    assert {page.id for page in editor.pages.list()} == {shared, fixed}
    assert editor.update(shared, "A better draft.").id == shared
    with pytest.raises(PermissionDenied, match="may not write the memory"):
        editor.update(fixed, "A better draft.")
    with pytest.raises(NotFound):
        editor.update(private, "A better draft.")
    with pytest.raises(PermissionDenied, match="may not delete"):
        editor.delete(shared)
    with pytest.raises(PermissionDenied, match="may not share"):
        editor.add("Mine.", access="shared")


def test_the_context_decides(opened, clock):
    store = opened("""
        permit (principal, action, resource is Cube) when { resource.owner == principal };
        permit (principal == User::"bob", action == Action::"read", resource) when {
          context has application && context.application == "ward" &&
          context has address && context.address.isInRange(ip("10.0.0.0/8")) &&
          context has session && context.session == "s1" &&
          context.time >= datetime("2026-06-01T08:00:00Z") && context.time < datetime("2026-06-01T18:00:00Z")
        };
    """)
    store.of(ANN, OWNER).add("I keep bees.")
    right = {"application": "ward", "network": "10.1.2.3", "session": "s1"}
    store.of(ANN, OWNER).search("bees")

    def may(**context: str | None) -> bool:
        try:
            return bool(store.of(ANN, Caller("bob", **{**right, **context})).search("bees").hits)
        except PermissionDenied:
            return False

    assert not may()  # it is midnight
    clock.advance(hours=7, minutes=59, seconds=59)
    assert not may()
    clock.advance(seconds=1)
    assert may()
    for wrong in ({"application": "home"}, {"network": "192.168.0.1"}, {"network": "ward"}, {"session": None}):
        assert not may(**wrong)
    clock.advance(hours=9, minutes=59, seconds=59)
    assert may()
    clock.advance(seconds=1)
    assert not may()


def test_each_action_is_permitted_by_itself(opened):
    store = opened("""
        permit (principal == User::"ann", action in [Action::"read", Action::"write"], resource);
        permit (principal == User::"clerk", action in [Action::"read", Action::"delete"], resource);
        permit (principal == User::"warden", action in [Action::"read", Action::"administer"], resource);
        permit (principal == User::"operator", action == Action::"administer", resource is Store);
    """)
    mine = store.of(ANN, OWNER)
    page = mine.add("I keep bees.")
    for forbidden in (lambda: mine.delete(page), mine.forget, lambda: mine.governance.thaw(page)):
        with pytest.raises(PermissionDenied, match="ann may not"):
            forbidden()
    mine.governance.freeze(page)
    with pytest.raises(PermissionDenied):
        store.of(ANN, Caller("clerk")).governance.thaw(page)
    assert store.of(ANN, Caller("warden")).governance.thaw(page).id == page
    store.of(ANN, Caller("clerk")).delete(page)
    assert store.admin.users() == []
    mine.add("And hens.")
    assert store.admin.users() == ["ann"]
    assert store.of(ANN, Caller("clerk")).forget().is_complete


PARTS = """
    permit (principal == User::"ann", action, resource is Cube);
    permit (principal in Role::"administrator", action, resource is Cube);
    permit (principal in Role::"nurse", action, resource is Cube) when { resource.sensitivity.isEmpty() };
"""
ACTS_ON_ALL: dict[str, Callable[[Memory, str], Any]] = {
    "governance.retain": lambda memory, _: memory.governance.retain("new", ttl=10**8),
    "governance.unretain": lambda memory, _: memory.governance.unretain("known"),
    "governance.hold": lambda memory, _: memory.governance.hold(reason="a case"),
    "governance.hold of a session": lambda memory, _: memory.governance.hold(reason="a case", session="visit"),
    "governance.release": lambda memory, hold: memory.governance.release(hold),
    "archiving.add": lambda memory, _: memory.archiving.add("new", unused=10**8),
    "archiving.remove": lambda memory, _: memory.archiving.remove("known"),
    "branches.discard": lambda memory, _: memory.branches.discard("known"),
    "snapshots.remove": lambda memory, _: memory.snapshots.remove("known"),
}


def acted_on(memory: Memory) -> list[list[str]]:
    """What there is to be removed, as the owner sees it."""
    rules = [one.name for one in (*memory.governance.retention(), *memory.archiving.list())]
    named = [one.name for one in (*memory.branches.list(), *memory.snapshots.list())]
    return [rules, named, [one.id for one in memory.governance.holds()]]


@pytest.mark.once
def test_names_of_snapshots_branches_and_rules_are_listed_for_who_reads_a_part_as_is_documented(opened):
    store = opened(PARTS)
    mine, nurse = store.of(ANN, OWNER), store.of(ANN, NURSE)
    mine.add("The bees sting.")
    mine.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    mine.governance.retain("rule", ttl=10**8)
    mine.archiving.add("idle", unused=10**8)
    mine.governance.hold(reason="a case")
    mine.branches.create("try")
    mine.snapshots.create("monday")
    assert acted_on(nurse) == [["rule", "idle"], ["try", "monday"], []]
    assert [page.text for page in nurse.branch("try").pages.list()] == ["user: The bees sting."]
    assert [page.text for page in nurse.pages.list(as_of="monday")] == ["user: The bees sting."]


@pytest.mark.once
@pytest.mark.parametrize("caller", [OWNER, Caller("chief", frozenset({"administrator"}))], ids=lambda one: one.identity)
@pytest.mark.parametrize("name", ACTS_ON_ALL)
def test_what_acts_on_all_takes_the_right_to_all(opened, name, caller):
    store = opened(PARTS)
    mine = store.of(ANN, OWNER)
    mine.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    mine.governance.retain("known", ttl=10**8)
    mine.archiving.add("known", unused=10**8)
    mine.branches.create("known")
    mine.snapshots.create("known")
    hold = "" if name == "branches.discard" else mine.governance.hold(reason="a case").id
    before = acted_on(mine)
    with pytest.raises(PermissionDenied, match=r"nurse-kim may not .* only parts of it"):
        ACTS_ON_ALL[name](store.of(ANN, NURSE), hold)
    assert acted_on(mine) == before
    ACTS_ON_ALL[name](store.of(ANN, caller), hold)
    assert acted_on(mine) != before


@pytest.mark.once
def test_who_may_administer_a_part_may_hold_and_release_it_and_branch_what_it_reads(opened):
    store = opened(PARTS)
    mine, nurse = store.of(ANN, OWNER), store.of(ANN, NURSE)
    secret = mine.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    page = mine.add("The bees sting.")
    hold = nurse.governance.hold(reason="a case", memory=page)
    assert nurse.governance.holds() == [hold]
    nurse.governance.release(hold.id)
    assert mine.governance.holds() == []
    hidden, visit = (mine.governance.hold(reason="a case", **on) for on in ({"memory": secret}, {"session": "visit"}))
    with pytest.raises(NotFound, match=f"there is no legal hold '{hidden.id}'"):
        nurse.governance.release(hidden.id)
    with pytest.raises(PermissionDenied, match="only parts of it"):
        nurse.governance.release(visit.id)
    assert mine.governance.holds() == [hidden, visit]
    for one in (hidden, visit):
        mine.governance.release(one.id)
    nurse.branches.create("part")
    assert [one.payload.turns[0].text for one in mine.branch("part").pages.list()] == ["The bees sting."]


def test_a_policy_that_forbids_overrides_all_that_permit(opened):
    store = opened(CLINIC + 'forbid (principal, action, resource is Cube) when { resource.tags.contains("sealed") };')
    with pytest.raises(PermissionDenied):
        store.of(ANN, OWNER).add("The bees are sealed.", tags=["sealed"])
    store.of(ANN, OWNER).add("The bees are free.")
    assert seen_by(store, OWNER) == {"The bees are free."}


def test_who_may_delete_parts_may_not_forget_all(opened):
    store = opened("""
        permit (principal, action in [Action::"read", Action::"write"], resource);
        permit (principal, action == Action::"delete", resource) when { resource.tags.contains("scrap") };
    """)
    mine = store.of(ANN, OWNER)
    kept, scrap = mine.add("I keep bees."), mine.add("I keep hens.", tags=["scrap"])
    with pytest.raises(PermissionDenied, match="only parts of it"):
        mine.forget()
    with pytest.raises(PermissionDenied):
        mine.delete(kept)
    mine.delete(scrap)
    assert [page.id for page in mine.pages.list()] == [kept]


# Changes


def test_a_changed_policy_counts_from_the_next_call(opened, folder):
    store = opened()
    store.of(ANN, OWNER).add("The bees sting.")
    store.of(ANN, OWNER).add("The bees made it an allergy.", sensitivity=["diagnosis"])
    nobody, everybody = CLINIC.replace("isEmpty()", 'contains("none")'), CLINIC.replace(".isEmpty()", " != [1].toSet")
    for number in range(30):  # faster than the clock of the file system
        wide = CLINIC.replace("when { resource.sensitivity.isEmpty() }", "")
        (folder / "clinic.cedar").write_text(wide if number % 2 else CLINIC)
        assert len(seen_by(store, NURSE)) == (2 if number % 2 else 1)
    (folder / "clinic.cedar").write_text(nobody)
    assert seen_by(store, NURSE) == set()
    (folder / "more.cedar").write_text('permit (principal in Role::"nurse", action, resource is Cube);')
    assert len(seen_by(store, NURSE)) == 2
    (folder / "more.cedar").unlink()
    assert seen_by(store, NURSE) == set()
    (folder / "clinic.cedar").write_text(everybody)
    with pytest.raises(InvalidInput, match=r"clinic\.cedar:5"):  # wrong policies admit nobody
        store.of(ANN, OWNER).search("bees")
    (folder / "clinic.cedar").unlink()
    with pytest.raises(InvalidInput, match=r"has no \.cedar file"):
        store.of(ANN, OWNER).search("bees")


def test_a_memory_that_becomes_sensitive_is_gone_from_the_next_search(opened):
    store = opened()
    mine = store.of(ANN, OWNER)
    fact = mine.facts.add("has bees", tags=["hobby"])
    assert [one.id for one in store.of(ANN, NURSE).facts.list()] == [fact]
    assert [hit.id for hit in store.of(ANN, NURSE).search("bees").user_facts] == [fact]
    assert mine.facts.add("has bees", sensitivity=["diagnosis"]) == fact
    assert store.of(ANN, NURSE).search("bees").user_facts == ()
    assert store.of(ANN, NURSE).facts.list() == []
    assert store.of(ANN, NURSE).facts.count() == 0


# Mounts


def test_policies_decide_about_mounted_memories(opened, tmp_path, clock):
    store = opened(
        CLINIC + 'permit (principal == User::"operator", action == Action::"administer", resource is Store);'
    )
    other = tmp_path / "elsewhere.db"
    with memoryos.open(other, user="ann", settings=load_settings(embedder="hashing"), clock=clock) as elsewhere:
        elsewhere.add("The bees sting there.", sensitivity=["diagnosis"])
        elsewhere.add("The bees hum there.")
    store.of(ANN, OWNER).add("The bees sting here.", sensitivity=["diagnosis"])
    store.of(ANN, OWNER).add("The bees hum here.")
    for name, place in (("here", None), ("there", other)):
        store.mounts.add(Mount(name, place, Scope(user="ann", namespace=("private",))))
    doctor, nurse = (store.of(Scope(user="ann", agent="ward"), caller) for caller in (DOCTOR, NURSE))

    def found(memory: Memory) -> set[str]:
        return {hit.cube.payload.turns[0].text for hit in memory.search("bees").hits}

    assert found(doctor) == {f"The bees {do} {where}." for do in ("sting", "hum") for where in ("here", "there")}
    assert found(nurse) == {"The bees hum here.", "The bees hum there."}


def test_a_mount_that_the_caller_may_not_read_is_missing(opened):
    store = opened("""
        permit (principal, action, resource is Cube) when { resource.owner == principal };
        permit (principal == User::"operator", action == Action::"administer", resource is Store);
    """)
    shared = Scope(user="acme", namespace=("context",))
    store.of(shared, Caller("acme")).add("The bees are ours.")
    store.of(ANN, OWNER).add("The bees are mine.")
    store.mounts.add(Mount("team", None, shared))
    found = store.of(ANN, OWNER).search("bees")
    assert [hit.cube.payload.turns[0].text for hit in found.hits] == ["The bees are mine."]
    assert found.missing == ("team",)
    with pytest.raises(PermissionDenied):
        store.of(ANN, OWNER).search("bees", mounts=["team"])


# What may not be read is found nowhere

MARKS = ("zylo", "zorb", "quix")
NURSES_WRITE = f"""{CLINIC}
permit (principal in Role::"nurse", action == Action::"write", resource);
permit (principal in Role::"nurse", action == Action::"delete", resource);
"""


@pytest.fixture
def ward(opened, clock) -> MemoryOS:
    return fill(opened(NURSES_WRITE), clock)


@pytest.fixture(scope="module")
def lasting_ward(back_end, tmp_path_factory) -> Iterator[MemoryOS]:
    """A ward that many tests look at: to make one takes longer than they do."""
    folder, clock = tmp_path_factory.mktemp("ward"), FrozenClock(datetime(2026, 6, 1, tzinfo=UTC))
    (folder / "clinic.cedar").write_text(NURSES_WRITE)
    engine = Engine(
        BACK_ENDS[back_end](folder, clock),
        Hashing(),
        chat=Echo(),
        clock=clock,
        gate=PolicyGate(PolicyFiles(folder), clock),
    )
    with MemoryOS(engine) as store:
        yield fill(store, clock)
        assert secrets(store)  # were there for each method to tell
    if back_end == "postgres":
        server.give_back(folder)


def fill(store: MemoryOS, clock: FrozenClock) -> MemoryOS:
    """Store a secret in every tier: the pages of one topic, and what was learned from them."""
    ann = store.of(ANN, OWNER)
    for number in range(12):
        clock.advance(minutes=40)
        ann.add(f"I planted tulips in bed {number}.", f"Tulips {number} need water.")
        ann.add(f"Zyloprim {number} is for my zorbitis.", f"Take Zyloprim {number} at noon.", sensitivity=["diagnosis"])
    ann.add("My name is Quixana and I live in Zorbville.", "Hello Quixana.", sensitivity=["diagnosis"])
    ann.facts.add("takes Zyloprim", sensitivity=["diagnosis"])
    ann.facts.add("grows tulips")
    ann.consolidate()
    ann.wait()
    said = json.dumps([one.to_dict() for one in ann.facts.list()])
    assert "Quixana" in said + json.dumps(ann.profile.get().to_dict())
    return store


def told(result: object) -> str:
    """Everything that a result says, in lower case."""
    if isinstance(result, Iterator):
        result = list(result)
    if isinstance(result, list | tuple):
        return " ".join(map(told, result))
    made = result.to_dict() if hasattr(result, "to_dict") else result
    return f"{json.dumps(made, default=str, ensure_ascii=False)} {result!r}".lower()


CALLS = {
    "export": lambda memory: (stream := StringIO(), memory.export(stream), stream.getvalue())[2],
    "search": lambda memory: [memory.search("zyloprim tulips", strategy=one, kinds=list(Kind)[:5]) for one in Strategy],
    "context": lambda memory: memory.context("What is Zyloprim for, and the tulips?"),
    "digest": lambda memory: [memory.digest(tokens=size) for size in (64, 200, 5000)],
    "respond": lambda memory: memory.respond("And the tulips?"),
    "respond_stream": lambda memory: list(memory.respond_stream("And the tulips?")),
    "tagged": lambda memory: memory.tagged("hobby"),
    "segments.list": lambda memory: [memory.segments.list(archive=archive) for archive in (False, True)],
    "facts.list": lambda memory: [memory.facts.list(tier=tier) for tier in (Tier.LPM, Tier.ARCHIVE)],
    "pages.list": lambda memory: [memory.pages.list(), memory.pages.list(limit=3), memory.pages.list(role=Role.USER)],
}


@pytest.mark.parametrize("name", [one for one in methods_of(Memory) if one not in ("close", "of", "forget")])
def test_no_method_tells_what_the_caller_may_not_read(lasting_ward, name):
    tells_nothing(lasting_ward.of(ANN, NURSE), name)


def test_nor_does_the_method_that_forgets_it(ward):
    """The nurse may delete each memory, also those that she may not read."""
    tells_nothing(ward.of(ANN, NURSE), "forget")
    assert ward.of(ANN, OWNER).pages.count() == 0


def tells_nothing(nurse: Memory, name: str) -> None:
    """Call a method, and look for what the nurse may not read in its result or error."""
    try:
        said = told(CALLS[name](nurse) if name in CALLS else called(nurse, name))
    except (PermissionDenied, NotFound, InvalidInput, ModelNotConfigured) as error:
        assert name not in CALLS
        said = str(error).lower()
    asked = ("zyloprim", "zyloprim tulips", "what is zyloprim for, and the tulips?")
    for one in asked:
        said = said.replace(one, "")
    assert not [mark for mark in MARKS if mark in said]


def called(memory: Memory, name: str) -> object:
    from attack.arguments import plain

    positional, named = plain(function_of(Memory, name))
    if name in ("add", "tagged"):
        positional = ["hello"]
    return method_of(memory, name)(*positional, **named)


def secrets(store: MemoryOS) -> dict[str, str]:
    """An id of each kind that the nurse may not read."""
    ann = store.of(ANN, OWNER)
    pages = [page for page in ann.pages.list() if page.governance.sensitivity]
    facts = [fact for fact in ann.facts.list() if any(mark in fact.text.lower() for mark in MARKS)]
    topics = [view.cube for view in ann.segments.list() if any(mark in view.cube.text.lower() for mark in MARKS)]
    assert pages and facts and topics
    return {"page": pages[0].id, "fact": facts[0].id, "segment": topics[0].id}


@pytest.mark.parametrize(
    "use",
    [
        lambda memory, one: memory.get(one),
        lambda memory, one: memory.history(one),
        lambda memory, one: memory.update(one, "No."),
        lambda memory, one: memory.delete(one),
        lambda memory, one: memory.governance.freeze(one),
        lambda memory, one: memory.governance.expire(one),
        lambda memory, one: memory.governance.transitions(one),
        lambda memory, one: memory.governance.provenance(one),
        lambda memory, one: memory.pages.attachments(one),
        lambda memory, one: memory.pages.list(segment=one),
        lambda memory, one: memory.pages.count(segment=one),
        lambda memory, one: memory.proposals.accept(one),
    ],
    ids=[
        "get",
        "history",
        "update",
        "delete",
        "freeze",
        "expire",
        "transitions",
        "provenance",
        "attachments",
        "pages",
        "page count",
        "accept",
    ],
)
def test_an_id_that_may_not_be_read_is_as_unknown_as_one_that_does_not_exist(lasting_ward, use):
    nurse = lasting_ward.of(ANN, NURSE)
    for hidden in secrets(lasting_ward).values():
        with pytest.raises(NotFound) as caught:
            use(nurse, hidden)
        with pytest.raises(NotFound) as unknown:
            use(nurse, "nothing")
        assert str(caught.value).replace(hidden, "") == str(unknown.value).replace("nothing", "")
    assert secrets(lasting_ward)


def test_counts_are_of_what_may_be_read(ward):
    nurse, ann = ward.of(ANN, NURSE), ward.of(ANN, OWNER)
    assert nurse.pages.count() == len(nurse.pages.list()) == 12
    assert ann.pages.count() == 25
    assert 0 < nurse.facts.count() == len(nurse.facts.list()) < ann.facts.count()
    stats = nurse.stats()
    assert stats.stm_pages + stats.mtm_pages == 12
    assert stats.profile_fields == 0
    assert nurse.segments.count() == len(nurse.segments.list())
    assert {event.cube_id for event in nurse.log.events()}.isdisjoint(secrets(ward).values())


@pytest.mark.parametrize("kind", ["page", "fact"])
def test_a_guessed_id_takes_as_much_work_as_a_forbidden_one(lasting_ward, kind):
    nurse, hidden = lasting_ward.of(ANN, NURSE), secrets(lasting_ward)[kind]

    def calls(cube_id: str) -> int:
        def get() -> None:
            with pytest.raises(NotFound):
                nurse.get(cube_id)

        return calls_in(get)

    for one in (hidden, "0" * len(hidden)):
        calls(one)
    low, high = sorted((calls(hidden), calls("0" * len(hidden))))
    assert high < 1.5 * low


AGENTS = """
    permit (principal == User::"nurse-kim", action, resource is Cube) when { resource.agent != "" };
    permit (principal == User::"nurse-kim", action == Action::"read", resource is Cube);
    permit (principal == User::"nurse-kim", action, resource is Cube) when { resource.sensitivity.isEmpty() };
"""


@pytest.mark.once
def test_a_branch_with_a_shared_persona_takes_the_right_to_that_too(vault, clock, folder):
    (folder / "clinic.cedar").write_text(PARTS + AGENTS)
    settings, gate = load_settings(persona_sharing="user"), PolicyGate(PolicyFiles(folder), clock)
    with closing(MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock, gate=gate))) as store:
        mine, kim = store.of(ANN, OWNER), store.of(ANN, Caller("nurse-kim"))
        mine.facts.add("Ann is allergic", sensitivity=["diagnosis"])
        mine.branches.create("try")
        with pytest.raises(PermissionDenied, match="nurse-kim may not delete"):
            kim.branches.discard("try")
        assert [one.name for one in mine.branches.list()] == ["try"]
        assert [one.text for one in mine.branch("try").facts.list()] == ["Ann is allergic"]
        mine.branches.discard("try")
