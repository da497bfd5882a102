"""API keys: shown once, hashed in the store, scoped, expiring, rotatable, and revoked at once everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

import memoryos
from memoryos import Action, Caller, MemoryOS, Scope
from memoryos.config import load_settings
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.key_part import KeyPart
from memoryos.models.hashing import Hashing

SETTINGS = load_settings(embedder="hashing")


@pytest.fixture
def store(place, clock) -> Iterator[MemoryOS]:
    with closing(MemoryOS.open(place, settings=SETTINGS, embedder=Hashing(), clock=clock)) as store:
        store.memory("ann").add("I keep bees.")
        yield store


def test_a_key_makes_its_holder_a_caller(store):
    made = store.keys.create("dr-lee", roles=["doctor"], actions=["read"], purposes=["treatment"])
    assert made.key.startswith(f"mos_{made.info.id}_")
    caller = store.keys.caller(made.key, purpose="treatment")
    assert (caller.identity, caller.roles, caller.purpose) == ("dr-lee", {"doctor"}, "treatment")
    doctor = store.memory("ann", caller=caller)
    assert len(doctor.search("bees").hits) == 1
    with pytest.raises(PermissionDenied, match="dr-lee may not write"):
        doctor.add("I am the doctor.")


def test_the_caller_of_a_key_states_a_purpose_of_the_key_and_its_application(store):
    several = store.keys.create("lee", purposes=["treatment", "研究"], application="病房").key
    told = [store.keys.caller(several, purpose=one) for one in (None, "treatment", "研究")]
    assert [(one.purpose, one.application) for one in told] == [
        (None, "病房"),
        ("treatment", "病房"),
        ("研究", "病房"),
    ]
    assert store.memory("ann", caller=told[2]).search("bees").hits
    one, none = (store.keys.create("kim", purposes=some).key for some in (["care"], []))
    assert (store.keys.caller(one).purpose, store.keys.caller(none).purpose) == ("care", None)
    assert store.keys.caller(several, application="病房") == told[0]
    for key, wrong, fix in (
        (several, {"purpose": "billing"}, "purpose: the key does not have 'billing'. State treatment, 研究, or"),
        (one, {"purpose": "cure"}, "purpose: the key does not have 'cure'. State care, or"),
        (none, {"purpose": "care"}, "purpose: the key does not have 'care'. State none, or"),
        (several, {"application": "lab"}, "application: the key does not have 'lab'. State 病房, or"),
        (none, {"application": "lab"}, "application: the key does not have 'lab'. State none, or"),
    ):
        with pytest.raises(PermissionDenied, match=re.escape(fix)):
            store.keys.caller(key, **wrong)
    forged = replace(store.keys.caller(one), purpose=None)
    with pytest.raises(PermissionDenied, match="with its key"):
        store.memory("ann", caller=forged).search("bees")


def test_a_rotated_key_keeps_what_its_caller_may_state(store):
    made = store.keys.create("lee", purposes=["treatment", "research"], application="ward", session="第七次")
    new = store.keys.rotate(made.info.id).info
    assert [one.purposes for one in store.keys.list()] == [{"treatment", "research"}] * 2
    assert (new.purposes, new.application, new.session) == (made.info.purposes, "ward", "第七次")


def test_a_key_may_be_of_one_session(store):
    bound, free = (store.keys.create("lee", session=one).key for one in ("round 7", None))
    told = [store.keys.caller(bound), store.keys.caller(bound, session="round 7"), store.keys.caller(free, session="x")]
    assert [one.session for one in told] == ["round 7", "round 7", "x"]
    assert all(store.memory("ann", caller=one).search("bees").hits for one in told)
    with pytest.raises(PermissionDenied, match=re.escape("session: the key does not have 'x'. State round 7, or")):
        store.keys.caller(bound, session="x")
    for forged in (replace(told[0], session=None), replace(told[0], session="x")):
        with pytest.raises(PermissionDenied, match="with its key"):
            store.memory("ann", caller=forged).search("bees")
    with pytest.raises(InvalidInput, match="session"):
        store.keys.create("lee", session="")


def test_a_store_without_a_key_is_opened_for_any_purpose(place):
    for opened in (
        lambda **more: memoryos.open(place, user="ann", settings=SETTINGS, embedder=Hashing(), **more),
        lambda **more: MemoryOS.open(place, settings=SETTINGS, embedder=Hashing(), **more),
    ):
        with closing(opened(purpose="care", application="ward", caller_session="s")) as one:
            caller = one.caller if isinstance(one, memoryos.Memory) else one.memory("ann").caller
            assert caller == Caller("ann", purpose="care", application="ward", session="s")
    for wrong in ({"purpose": "care"}, {"application": "ward"}, {"caller_session": "s"}):
        with pytest.raises(InvalidInput, match="is passed together"):
            memoryos.open(place, user="ann", caller=Caller("lee"), settings=SETTINGS, **wrong)


def test_a_server_learns_of_a_key_what_it_needs(store, clock):
    assert not store.keys.exist()
    made = store.keys.create("web", tenant="acme", ttl=3600)
    for one in (store, store.by(Caller("anybody"))):
        assert one.keys.exist()
        assert one.keys.info(made.key) == made.info
        assert one.keys.is_valid(made.info.id)
        with pytest.raises(PermissionDenied, match="the key is not valid"):
            one.keys.info(made.key[:-1] + "!")
    assert not store.keys.is_valid("nobody")
    clock.advance(hours=2)
    assert (store.keys.exist(), store.keys.is_valid(made.info.id)) == (True, False)
    with pytest.raises(PermissionDenied, match="the key is not valid"):
        store.keys.info(made.key)


def test_an_action_that_a_key_lacks_is_told_with_the_command_of_a_key_that_has_it(store):
    page = store.memory("ann").add("I keep bees.")
    key = store.keys.create("web2", users=["ann"]).key
    told = "web2 may not delete this with its key: the key lacks this action, and `memoryos keys create NAME"
    with pytest.raises(PermissionDenied) as denied:
        store.memory("ann", caller=store.keys.caller(key)).delete(page)
    fix = "--action delete --action read --action write` makes one that has it"
    assert str(denied.value) == f"{told} {fix}"
    with pytest.raises(PermissionDenied, match=r"with its key$"):
        store.memory("bob", caller=store.keys.caller(key)).search("bees")


@pytest.mark.once
@pytest.mark.parametrize("wrong", [5, None, object(), True, [5], [None], []])
def test_wrong_actions_are_named(store, wrong):
    with pytest.raises(InvalidInput, match="actions"):
        store.keys.create("web", actions=wrong)
    assert not store.keys.exist()


def test_a_store_acts_for_a_caller(store):
    made = store.keys.create("web", actions=["read"])
    other = store.by(store.keys.caller(made.key))
    assert other.memory("ann").search("bees").hits
    with pytest.raises(PermissionDenied):
        other.users.list()


def test_the_store_and_what_is_shown_have_no_secret(store, place):
    made = store.keys.create("bot")
    secret = made.key.split("_", 2)[2]
    with store._engine.vault.snapshot() as connection:
        stored = str(connection.execute(tables.keys.select()).all())
    for told in (stored, repr(made), repr(made.info), json.dumps([one.to_dict() for one in store.keys.list()])):
        assert secret not in told
    assert made.info.id in stored


@pytest.mark.parametrize(
    "alter",
    [
        lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"),
        lambda key: "mos_" + "0" * 16 + key[20:],
        lambda key: key + " ",
        lambda key: key.upper(),
        lambda key: "",
        lambda key: "'; DROP TABLE keys; --",
        lambda key: None,
        lambda key: key.replace("mos", "ｍos"),
    ],
)
def test_only_the_key_itself_is_taken(store, alter):
    made = store.keys.create("bot")
    with pytest.raises(PermissionDenied, match=r"^the key is not valid$"):
        store.keys.caller(alter(made.key))
    assert store.keys.caller(made.key).identity == "bot"


def test_a_revoked_key_opens_nothing_in_any_process(store, place, clock):
    made = store.keys.create("bot")
    with closing(MemoryOS.open(place, settings=SETTINGS, embedder=Hashing(), clock=clock)) as other:
        here = store.memory("ann", caller=store.keys.caller(made.key))
        there = other.memory("ann", caller=other.keys.caller(made.key))
        assert here.search("bees").hits
        assert there.search("bees").hits
        store.keys.revoke(made.info.id)
        for memory in (here, there):
            for method, argument in ((memory.search, "bees"), (memory.add, "No."), (memory.get, "x")):
                with pytest.raises(PermissionDenied, match="with its key"):
                    method(argument)
        for one in (store, other):
            with pytest.raises(PermissionDenied, match="not valid"):
                one.keys.caller(made.key)
        store.keys.revoke(made.info.id)
        with pytest.raises(NotFound):
            store.keys.rotate(made.info.id)


def test_a_key_expires(store, clock):
    made = store.keys.create("bot", ttl=60)
    memory = store.memory("ann", caller=store.keys.caller(made.key))
    clock.advance(seconds=59)
    assert memory.search("bees").hits
    clock.advance(seconds=1)
    with pytest.raises(PermissionDenied):
        memory.search("bees")
    assert store.keys.list()[0].expires_at == made.info.expires_at


def test_a_rotated_key_goes_on_as_long_as_it_is_told(store, clock):
    first = store.keys.create("bot", roles=["reader"], actions=["read"], users=["ann"])
    second = store.keys.rotate(first.info.id, overlap=60)
    assert replace(second.info, id="", created_at=None) == replace(first.info, id="", created_at=None)
    assert store.keys.caller(first.key).identity == store.keys.caller(second.key).identity == "bot"
    clock.advance(seconds=60)
    with pytest.raises(PermissionDenied):
        store.keys.caller(first.key)
    third = store.keys.rotate(second.info.id)
    with pytest.raises(PermissionDenied):
        store.keys.caller(second.key)
    assert store.keys.caller(third.key).roles == {"reader"}
    with pytest.raises(NotFound):
        store.keys.rotate(first.info.id)
    with pytest.raises(NotFound):
        store.keys.revoke("nothing")


def test_a_key_opens_its_tenant_and_its_users_alone(store):
    store.memory("bob").add("I keep hens.")
    store.memory("ann", tenant="other").add("I keep cats.")
    key = store.keys.create("bot", users=["ann"]).key
    caller = store.keys.caller(key)
    assert store.memory("ann", caller=caller).search("bees").hits
    for scope in (Scope(user="bob"), Scope(user="ann", tenant="other"), Scope(user="Ann"), Scope(user="аnn")):
        with pytest.raises(PermissionDenied):
            store.of(scope, caller).search("hens")
    assert [one.identity for one in store.keys.list()] == ["bot"]
    assert store.keys.list(tenant="other") == []


def test_the_caller_of_a_key_cannot_be_changed(store):
    caller = store.keys.caller(store.keys.create("bot", roles=["reader"]).key)
    for forged in (
        replace(caller, identity="ann"),
        replace(caller, roles=frozenset({"reader", "doctor"})),
        replace(caller, key="0" * 16),
        replace(caller, purpose="treatment"),
        replace(caller, application="ward"),
    ):
        with pytest.raises(PermissionDenied):
            store.memory("ann", caller=forged).search("bees")
    assert store.memory("ann", caller=replace(caller, roles=frozenset())).search("bees").hits


def test_keys_are_administered_by_who_may(store, clock):
    limited = store.keys.caller(store.keys.create("bot").key)
    admin = store.keys.caller(store.keys.create("chief", actions=list(Action)).key)
    for use in (lambda keys: keys.list(), lambda keys: keys.create("eve"), lambda keys: keys.revoke("x")):
        with pytest.raises(PermissionDenied):
            use(MemoryOS(store._engine, limited).keys)
    made = MemoryOS(store._engine, admin).keys.create("new")
    assert made.info.created_by == "chief"
    other = store.keys.caller(store.keys.create("lord", tenant="acme", actions=list(Action)).key)
    for use in (lambda keys: keys.list(), lambda keys: keys.create("eve"), lambda keys: keys.list(tenant="acme")):
        with pytest.raises(PermissionDenied):
            use(MemoryOS(store._engine, other).keys)
    with pytest.raises(PermissionDenied):
        MemoryOS(store._engine, other).admin.scopes(tenant="default")
    of_ann = store.keys.caller(store.keys.create("warden", actions=list(Action), users=["ann"]).key)
    with pytest.raises(PermissionDenied):
        MemoryOS(store._engine, of_ann).keys.list()


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("caller.identity", {"identity": " "}),
        ("roles", {"identity": "a", "roles": "doctor"}),
        ("actions", {"identity": "a", "actions": ["fly"]}),
        ("actions", {"identity": "a", "actions": []}),
        ("users", {"identity": "a", "users": []}),
        ("ttl", {"identity": "a", "ttl": -1}),
        ("tenant", {"identity": "a", "tenant": ""}),
    ],
)
def test_a_wrong_key_is_refused(store, field, values):
    with pytest.raises(InvalidInput) as caught:
        store.keys.create(**values)
    assert caught.value.field == field
    assert store.keys.list() == []


def test_a_memory_is_opened_with_a_key(store, place, clock):
    made = store.keys.create("bot", actions=["read"])
    options = {"user": "ann", "settings": SETTINGS, "embedder": Hashing(), "clock": clock}
    with memoryos.open(place, key=made.key, **options) as memory:
        assert memory.caller.identity == "bot"
        assert memory.search("bees").hits
        with pytest.raises(PermissionDenied):
            memory.add("No.")
    with pytest.raises(PermissionDenied):
        memoryos.open(place, key=made.key[:-2], **options)
    with pytest.raises(InvalidInput, match="key: is passed together"):
        memoryos.open(place, key=made.key, caller=Caller("ann"), **options)


def test_who_calls_with_a_key_passes_no_right_on(store):
    made = store.keys.create("ann", actions=list(Action), users=["ann"])
    with pytest.raises(PermissionDenied, match="with a key"):
        store.memory("ann", caller=store.keys.caller(made.key)).governance.delegate("mallory", ttl=60)
    assert store.memory("ann").governance.delegations() == []


def test_a_key_is_found_by_its_id_however_many_there_are(store, monkeypatch):
    """With an index, and with one question for each check of it."""
    index = next(index for index in tables.keys.indexes if index.name == "keys_by_id")
    assert [column.name for column in index.columns] == ["id"]
    made, asked = store.keys.create("dr-lee"), []
    find = KeyPart.find
    monkeypatch.setattr(KeyPart, "find", lambda part, key_id: asked.append(key_id) or find(part, key_id))
    assert store.keys.info(made.key) == made.info
    assert store.keys.caller(made.key) == made.info.caller
    assert asked == [made.info.id] * 2
