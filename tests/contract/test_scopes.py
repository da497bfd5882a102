from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memoryos.errors import InvalidInput, StorageError
from memoryos.infrastructure.vault.records import Census, Entry, JobKind, Link, LinkKind, Operation
from memoryos.kinds import Kind, Tier
from memoryos.scope import Scope

ALICE = Scope(user="alice", agent="coder", tenant="acme", namespace=("team", "a"))
STRANGERS = {
    "tenant": replace(ALICE, tenant="ACME"),
    "user": replace(ALICE, user="alice "),
    "agent": replace(ALICE, agent="coder2"),
    "across agents": ALICE.across_agents,
    "namespace": replace(ALICE, namespace=("team",)),
    "deeper namespace": replace(ALICE, namespace=("team", "a", "b")),
    "joined namespace": replace(ALICE, namespace=("team/a",)),
    "wildcard": replace(ALICE, user="%"),
}
HOSTILE = [
    "../../x",
    "'; DROP TABLE cubes; --",
    '"quoted"',
    "`backtick`",
    "🦊 Füchsin 狐",
    "%",
    "_",
    "x" * 256,
    'AND "x" NEAR(',
    "a\nb\tc",
    "\u202emirrored",
    "null",
    ":name",
    "?",
    "{}",
]


@pytest.fixture(params=STRANGERS.values(), ids=STRANGERS)
def stranger(request):
    return request.param


@pytest.fixture
def secret(vault, store):
    """Alice's page, with everything that can hang on a page."""
    stored, other = store("a secret garden", scope=ALICE).cube, store("another", scope=ALICE).cube
    with vault.write(ALICE) as writer:
        revised = replace(stored, version=replace(stored.version, number=2))
        writer.update([Entry(revised)], Operation.REVISE)
        writer.link([Link(stored.id, LinkKind.CHAIN, other.id), Link(other.id, LinkKind.MENTIONS, stored.id)])
        writer.enqueue(JobKind.EXTRACT, [stored.id])
    return revised


def everything(reader, cube):
    """The answer of every call that reads."""
    return (
        reader.get([cube.id]),
        reader.cubes(Kind.PAGE),
        reader.cubes(Kind.PAGE, tiers=list(Tier)),
        {cube_id: vector.tolist() for cube_id, vector in reader.vectors([cube.id]).items()},
        reader.targets([cube.id], LinkKind.CHAIN),
        reader.sources([cube.id], LinkKind.MENTIONS),
        list(reader.passages()),
        list(reader.passages([cube.id])),
        reader.sequence(),
        reader.history(cube.id),
        reader.events(),
        reader.jobs(),
        reader.census().counts,
    )


def test_the_owner_sees_everything(vault, secret):
    with vault.read(ALICE) as reader:
        assert all(everything(reader, secret))


def test_a_stranger_sees_nothing_on_any_call(vault, secret, stranger):
    with vault.read(stranger) as reader:
        assert not any(everything(reader, secret))
        assert reader.census() == Census({})


def test_a_stranger_changes_nothing(vault, secret, stranger, clock):
    with vault.read(ALICE) as reader:
        before = everything(reader, secret)
    with vault.write(stranger) as writer:
        writer.delete([secret.id])
        assert writer.lease(lasting=timedelta(minutes=1)) == []
    with pytest.raises(StorageError), vault.write(stranger) as writer:
        writer.update([Entry(secret)], Operation.REVISE)
    with pytest.raises(StorageError), vault.write(stranger) as writer:
        moved = replace(secret, scope=stranger)
        writer.update([Entry(moved)], Operation.REVISE)
    with vault.read(ALICE) as reader:
        assert everything(reader, secret) == before


def test_a_cube_cannot_be_inserted_through_another_scope(vault, stranger, entry):
    with pytest.raises(StorageError), vault.write(stranger) as writer:
        writer.insert([entry(scope=ALICE)])
    assert vault.owners(ALICE.tenant) == []


def test_a_stranger_cannot_tie_or_queue_what_is_not_his(vault, secret, stranger):
    with vault.read(ALICE) as reader:
        before = everything(reader, secret)
    link = Link(secret.id, LinkKind.MEMBER_OF, secret.id)
    for meddle in (
        lambda writer: writer.link([link]),
        lambda writer: writer.unlink([link]),
        lambda writer: writer.enqueue(JobKind.EXTRACT, [secret.id]),
    ):
        with pytest.raises(StorageError, match="not in this scope"), vault.write(stranger) as writer:
            meddle(writer)
    with vault.read(ALICE) as reader:
        assert everything(reader, secret) == before


def test_two_tenants_may_use_the_same_id(vault, store):
    store("mine", id="same", scope=ALICE)
    theirs = store("their lighthouse", id="same", scope=STRANGERS["tenant"])
    with vault.write(ALICE) as writer:
        writer.delete(["same"])
    with vault.read(STRANGERS["tenant"]) as reader:
        assert reader.get(["same"]) == {"same": theirs.cube}
        assert reader.vectors(["same"])["same"].tolist() == theirs.vector.tolist()
        assert ["lighthouse" in passage.words for passage in reader.passages(["same"])] == [True]


def test_a_link_does_not_cross_tenants(vault, store):
    store(id="here", scope=ALICE)
    store(id="there", scope=STRANGERS["tenant"])
    with pytest.raises(StorageError), vault.write(ALICE) as writer:
        writer.link([Link("here", LinkKind.CHAIN, "there")])
    with vault.read(ALICE) as reader:
        assert reader.targets(["here"], LinkKind.CHAIN) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_an_id_is_opaque(vault, store, name):
    scope = Scope(user=name, agent=name, session=name, tenant=name, namespace=(name, name))
    stored = store("a secret garden", id=name, scope=scope).cube
    bystander = store("another garden", id="bystander", scope=replace(scope, user="bob")).cube
    with vault.write(scope) as writer:
        writer.enqueue(JobKind.EXTRACT, [name])
        assert writer.get([name]) == {name: stored}
        assert [event.cube_id for event in writer.events()] == [name]
        assert [passage.page for passage in writer.passages()] == [name]
        assert [passage.session for passage in writer.passages([name])] == [name]
        writer.delete([name])
        assert writer.jobs() == []
    assert vault.owners(name) == [bystander.scope.owner]


@pytest.mark.parametrize("field", ["user", "agent", "session", "tenant"])
def test_nul_is_refused_before_it_reaches_the_store(field):
    with pytest.raises(InvalidInput, match=f"scope.{field}"):
        Scope(**{"user": "alice", field: "a\x00b"})


def test_owners_are_listed_per_tenant_without_sessions(vault, store):
    shared = ALICE.across_agents
    for scope in (ALICE, replace(ALICE, session="monday"), shared, Scope(user="bob")):
        store(scope=scope)
    assert vault.owners("acme") == [shared, ALICE]
    assert vault.owners("default") == [Scope(user="bob")]
    assert vault.owners("nobody") == []


def test_an_owner_without_a_cube_is_not_listed(vault, store):
    stored = store(scope=ALICE).cube
    with vault.write(ALICE) as writer:
        writer.delete([stored.id])
    assert vault.owners("acme") == []
