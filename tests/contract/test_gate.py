"""One gate: it is asked in the caller's name before anything of a memory is read or written, whatever is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from contextvars import Context
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest

from attack.arguments import plain
from attack.governed import statements_in
from memoryos import Action, AsyncMemory, Caller, Memory, MemoryOS, Mount, Scope, load_settings
from memoryos.caller import OPERATOR, SYSTEM, current
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, PermissionDenied
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from public import function_of, method_of, methods_of

ANN = Scope(user="ann")
BOB = Scope(user="bob", namespace=("context",))
DOCTOR = Caller("dr-lee", frozenset({"doctor"}), purpose="treatment", application="ward")
LIFE = {"wait", "close"}  # they read and write nothing of anybody
MADE = {"of", "by", "memory", "keys.caller"}  # what they return is asked when it is used
OF_KEYS = {"keys.info", "keys.exist", "keys.is_valid"}  # whoever serves others asks them before it has a caller


@dataclass
class Ledger:
    """Admits everybody but those on its list, and notes who came."""

    refused: set[Caller] = field(default_factory=set)
    seen: list[tuple[Caller, Action, Scope | None]] = field(default_factory=list)

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        self.seen.append((caller, action, scope))
        if caller in self.refused:
            raise PermissionDenied(f"{caller.identity} may not {action}")


class Script:
    """A model that always says the same."""

    def answer(self, messages: Any) -> Answer:
        return Answer("Yes.", Usage(), "script")

    def stream(self, messages: Any) -> Iterator[str]:
        yield "Yes."


@pytest.fixture
def gate() -> Ledger:
    return Ledger()


@pytest.fixture
def store(vault: Vault, gate: Ledger, clock) -> Iterator[MemoryOS]:
    with closing(MemoryOS(Engine(vault, Hashing(), chat=Script(), clock=clock, gate=gate))) as store:
        memory = store.of(ANN)
        memory.add("I keep bees.", "How many hives?")
        memory.facts.add("has bees")
        memory.wait()
        gate.seen.clear()
        yield store


def call(thing: object, kind: type, name: str) -> object:
    positional, named = plain(function_of(kind, name))
    if name in ("add", "tagged"):
        positional = ["hello"]
    if name.startswith("requests."):
        positional = ["forget everything"]
    if name == "update":
        positional = ["x", "hello"]
    if name == "governance.relabel":
        named = {"access": "private"}
    if name.endswith("export") and name != "adapters.export":
        positional = [StringIO()]
    if name == "admin.load":
        positional = ["nowhere.jsonl"]
    result = method_of(thing, name)(*positional, **named)
    return list(result) if isinstance(result, Iterator) else result


@pytest.fixture(scope="module")
def shut_store() -> Iterator[MemoryOS]:
    """A store that refuses the doctor and the operator, for all tests: whoever is let in by mistake fails its own."""
    gate = Ledger()
    with closing(MemoryOS.open(":memory:", embedder=Hashing(), chat=Script(), gate=gate)) as store:
        store.of(ANN).add("I keep bees.", "How many hives?")
        store.of(ANN).facts.add("has bees")
        store.wait()
        gate.refused = {DOCTOR, OPERATOR}
        yield store


@pytest.mark.once  # the gate is asked before the store is, which the next tests show on both
@pytest.mark.parametrize("name", [name for name in methods_of(Memory) if name not in LIFE | MADE])
def test_a_gate_that_refuses_is_passed_by_no_method_of_a_memory(shut_store, name):
    before = shut_store.of(ANN).pages.list()
    assert before
    with pytest.raises(PermissionDenied, match="dr-lee may not"):
        call(shut_store.of(ANN, DOCTOR), Memory, name)
    shut_store.wait()
    assert shut_store.of(ANN).pages.list() == before


@pytest.mark.once
@pytest.mark.parametrize("name", [name for name in methods_of(MemoryOS) if name not in LIFE | MADE | OF_KEYS])
def test_a_gate_that_refuses_is_passed_by_no_method_of_a_store(shut_store, name):
    with pytest.raises(PermissionDenied, match="operator may not administer"):
        call(shut_store, MemoryOS, name)


def test_the_caller_is_the_user_unless_somebody_else_is_named(store, gate):
    store.memory("ann").search("bees")
    assert {caller for caller, _, _ in gate.seen} <= {Caller("ann"), SYSTEM}
    gate.seen.clear()
    doctor = store.memory("ann", caller=DOCTOR)
    doctor.search("bees")
    doctor.of(Scope(user="bob")).search("bees")
    assert {(caller, scope) for caller, _, scope in gate.seen if caller != SYSTEM} == {
        (DOCTOR, ANN),
        (DOCTOR, Scope(user="bob")),
    }


def test_who_may_not_administer_may_freeze_and_not_thaw(vault, clock):
    class Gate:
        def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
            if caller == DOCTOR and action is Action.ADMINISTER:
                raise PermissionDenied(f"{caller.identity} may not {action}")

    with closing(MemoryOS(Engine(vault, Hashing(), clock=clock, gate=Gate()))) as store:
        page = store.of(ANN).add("I keep bees.")
        store.of(ANN, DOCTOR).governance.freeze(page)
        with pytest.raises(PermissionDenied, match="dr-lee"):
            store.of(ANN, DOCTOR).governance.thaw(page)
        assert store.of(ANN).governance.thaw(page).state.value == "generated"


def test_the_gate_is_told_what_is_to_be_done(store, gate):
    memory = store.of(ANN)
    memory.search("bees")
    assert {action for caller, action, _ in gate.seen if caller != SYSTEM} == {Action.READ}
    memory.add("And hens.")
    assert Action.WRITE in {action for caller, action, _ in gate.seen if caller != SYSTEM}


def test_what_follows_a_call_acts_for_the_system(store, gate):
    store.of(ANN, DOCTOR).add("I keep hens, too.")
    gate.refused = {DOCTOR}  # from now on; what was taken in is worked on
    store.wait()
    assert {caller for caller, _, _ in gate.seen} == {DOCTOR, SYSTEM}


def test_who_may_only_read_may_read_what_waits_to_be_moved(store, gate):
    class Reading(Ledger):
        def admit(self, caller, action, scope):
            if caller == DOCTOR and action is not Action.READ:
                raise PermissionDenied("dr-lee reads")

    store._engine.vault.gate = Reading()
    for number in range(20):
        store.of(ANN).add(f"I have {number} hives.")
    doctor = store.of(ANN, DOCTOR)
    assert len(doctor.pages.list()) == 21
    assert doctor.search("hives").hits
    with pytest.raises(PermissionDenied):
        doctor.add("No.")


def test_an_answer_and_its_turn_are_the_callers(store, gate):
    doctor = store.of(ANN, DOCTOR)
    doctor.respond("Bees?")
    assert list(doctor.respond_stream("Hives?")) == ["Yes."]
    store.wait()
    assert (DOCTOR, Action.WRITE, ANN) in gate.seen
    assert len(doctor.pages.list()) == 3


def test_a_mount_of_the_own_store_is_asked_in_the_callers_name(store, gate):
    store.mounts.add(Mount("friends", scope=BOB))
    gate.seen.clear()
    store.of(ANN, DOCTOR).search("bees")
    assert (DOCTOR, Action.READ, BOB) in gate.seen


def test_who_acts_is_known_within_a_call_alone(store):
    nobody = Context()
    with pytest.raises(LookupError):
        nobody.run(current)
    nobody.run(store.of(ANN).search, "bees")
    with pytest.raises(LookupError):
        nobody.run(current)


def test_awaited_calls_have_callers(store, gate):
    asyncio.run(AsyncMemory(store.of(ANN, DOCTOR)).search("bees"))
    assert DOCTOR in {caller for caller, _, _ in gate.seen}


class EmptyRules(dict):
    """A gate that is false, for it holds no rule: nobody is admitted."""

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        raise PermissionDenied("no rule admits this")


def test_a_gate_that_is_empty_is_asked(vault, clock):
    with MemoryOS(Engine(vault, Hashing(), clock=clock, gate=EmptyRules())) as store, pytest.raises(PermissionDenied):
        store.of(ANN).add("I keep bees.")


@pytest.mark.each
def test_without_policies_nothing_is_asked_and_no_statement_is_added(place, entry, monkeypatch):
    """What a person without policies does reaches the store as if there were no gate at all."""
    asked: list[Any] = []
    with MemoryOS.open(place, settings=load_settings(jobs="worker"), embedder=Hashing()) as store:
        vault, page = store._engine.vault, store.of(ANN).add("I keep bees.", "How many hives?")
        store.of(ANN).facts.add("has bees")
        for part, name in ((vault.keys, "find"), (vault.roles, "rights"), (vault.delegations, "of")):
            monkeypatch.setattr(type(part), name, lambda *told: asked.append(told))
        compare(vault, [lambda: stored(vault, entry("Hello."))])
    with MemoryOS.open(place, embedder=Hashing(), read_only=True) as store:  # which notes no visits
        compare(store._engine.vault, reads(store.of(ANN), page))
    assert (asked, vault.views) == ([], None)


def stored(vault: Vault, one: Entry) -> str:
    with vault.write(one.cube.scope) as writer:
        writer.insert([one])
    return one.cube.id


def reads(memory: Memory, page: str) -> list[Callable[[], object]]:
    by_id = [lambda: memory.get(page), lambda: memory.history(page)]
    found = [lambda: memory.search("bees").hits, lambda: memory.context("bees").text]
    return [*by_id, *found, memory.pages.list, memory.facts.count]


def compare(vault: Vault, acts: list[Callable[[], object]]) -> None:
    """Each sends as many statements through the gate as without it."""
    assert all(act() for act in acts)  # what is read once is remembered
    gated = [statements_in(act) for act in acts]
    gate, vault.gate = vault.gate, None
    assert gate is not None
    assert gated == [statements_in(act) for act in acts]
    assert sum(gated) > len(acts)


@pytest.mark.file
@pytest.mark.parametrize("gate", [5, False, "admit", lambda caller, action, scope: None])
def test_a_gate_that_is_none_is_refused_before_a_store_is_made(tmp_path, gate):
    with pytest.raises(InvalidInput) as caught:
        MemoryOS.open(tmp_path / "a.db", gate=gate)
    assert caught.value.field == "gate"
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("caller.identity", {"identity": " "}),
        ("caller.identity", {"identity": 5}),
        ("caller.roles", {"identity": "ann", "roles": {""}}),
        ("caller.purpose", {"identity": "ann", "purpose": "x" * 300}),
    ],
)
def test_a_caller_that_is_none_is_refused(field, values):
    with pytest.raises(InvalidInput) as caught:
        Caller(**values)
    assert caught.value.field == field


@dataclass
class OfDoctors:
    """A gate of a caller: it lets doctors read, and the program and who opened the store do everything."""

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        if caller in (OPERATOR, SYSTEM) or "doctor" in caller.roles:
            return
        raise PermissionDenied(f"{caller.identity} is no doctor")


def test_a_gate_of_the_caller_sees_the_roles_that_were_granted(vault: Vault, clock):
    with closing(MemoryOS(Engine(vault, Hashing(), clock=clock, gate=OfDoctors()))) as store:
        store.of(ANN, OPERATOR).add("I keep bees.")
        lee, other = (store.of(Scope(user="ann", tenant=one), Caller("lee")) for one in ("default", "other"))
        with pytest.raises(PermissionDenied):
            lee.search("bees")
        made = store.roles.grant("lee", ["doctor"])
        assert lee.search("bees").hits
        with pytest.raises(PermissionDenied):
            other.search("bees")
        store.roles.revoke(made.id)
        with pytest.raises(PermissionDenied):
            lee.search("bees")
