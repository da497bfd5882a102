"""The second fence between tenants: the database itself shows a transaction only the rows of its tenant."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import text

from contract import server
from memoryos.api_key import ApiKey
from memoryos.caller import Action
from memoryos.cube import Attachment, Page
from memoryos.delegation import Delegation
from memoryos.errors import StorageError
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.audit_entry import Deed
from memoryos.infrastructure.vault.postgres_tables import PARTITIONS
from memoryos.infrastructure.vault.records import Entry, JobKind, Link, LinkKind, Operation, Spending
from memoryos.infrastructure.vault.stored_blob import StoredBlob
from memoryos.role_grant import RoleGrant
from memoryos.scope import Scope

ALICE = Scope(user="alice", tenant="acme")
BOB = Scope(user="bob", tenant="globex")
PICTURE = BlobRef.of(b"a boat")
TENANTS = [table.name for table in tables.metadata.sorted_tables if "tenant" in table.c]
EVERYTHING = [name for name in TENANTS if name != "next_vectors"]


@pytest.fixture
def secrets(vault, store, clock):
    """Rows of two tenants in every table that a tenant's work fills."""
    vault.audits = list[Deed]().append
    for scope in (ALICE, BOB):
        info = ApiKey("id", scope.tenant, "bot", frozenset(), frozenset({Action.READ}), None, "tests", clock())
        vault.keys.put(info, "hash")
        given = ("id", scope.tenant, scope.user, "ann", frozenset(), "ben", frozenset({Action.READ}))
        vault.delegations.put(Delegation(*given, clock(), clock() + timedelta(days=1)))
        vault.roles.put(RoleGrant("id", scope.tenant, "ann", frozenset({"doctor"}), "", "tests", clock()))
        page, other = store("a secret", scope=scope), store("another", scope=scope)
        with vault.write(scope) as writer:
            writer.blobs.begin([StoredBlob("a name", PICTURE.sha256, PICTURE.size)], remove_at=clock.advance(hours=1))
            clock.advance(hours=-1)
            writer.update([Entry(_with_picture(page))], Operation.REVISE)
            writer.link([Link(page.id, LinkKind.CHAIN, other.id)])
            writer.enqueue(JobKind.EXTRACT, [page.id])
            writer.write_note("key", "value")
            writer.spend(Spending(clock().date(), "facts", "m", 1, 1, 1))


def _with_picture(page):
    turn = replace(page.payload.turns[0], attachments=(Attachment(caption="a boat", uri=PICTURE.uri),))
    return replace(page, payload=Page(turns=(turn,)), version=replace(page.version, number=2))


def rows(connection, table):
    return {tenant for (tenant,) in connection.execute(text(f"SELECT tenant FROM {table}"))}


@pytest.mark.parametrize("table", EVERYTHING)
def test_a_statement_without_a_condition_shows_one_tenant(vault, secrets, table):
    for scope in (ALICE, BOB):
        with vault.read(scope) as reader:
            assert rows(reader._connection, table) == {scope.tenant}
        with vault.write(scope) as writer:
            assert rows(writer._connection, table) == {scope.tenant}


def test_a_statement_without_a_condition_changes_one_tenant(vault, secrets):
    with vault.write(ALICE) as writer:
        assert writer._connection.execute(text("UPDATE cubes SET document = ''")).rowcount == 2
        assert writer._connection.execute(text("DELETE FROM cubes")).rowcount == 2
    with vault.read(BOB) as reader:
        assert len(list(reader.passages())) == 2


def test_a_row_of_another_tenant_cannot_be_written(vault, secrets):
    stolen = text("INSERT INTO notes VALUES ('globex', 'bob', 'default', 'private', 'k', 'v')")
    with pytest.raises(StorageError, match="row-level security"), vault.write(ALICE) as writer:
        writer._connection.execute(stolen)


def test_no_partition_shows_anything_by_its_own_name(vault, secrets):
    with vault.read(ALICE) as reader:
        for number in range(PARTITIONS):
            assert rows(reader._connection, f"cubes_{number:02}") == set()


def test_a_connection_that_names_no_tenant_sees_nothing(vault, secrets, url):
    with psycopg.connect(url.render_as_string()) as connection:
        for table in EVERYTHING:
            assert connection.execute(f"SELECT * FROM {table}").fetchall() == []


def test_the_fence_is_up_again_after_each_transaction(vault, secrets):
    vault.unsettled()
    with vault.read(ALICE):
        pass
    with vault._engine.connect() as connection:
        assert rows(connection, "cubes") == set()


def test_the_tenant_called_like_a_wildcard_sees_its_own(vault, secrets, store):
    for tenant in ("*", "%", "on"):
        wildcard = Scope(user="eve", tenant=tenant)
        store("mine", scope=wildcard)
        with vault.read(wildcard) as reader:
            assert rows(reader._connection, "cubes") == {tenant}


def test_what_the_whole_store_spent_is_told_and_no_more(vault, secrets, clock):
    with vault.write(ALICE) as writer:
        assert writer.spent_by_all(clock().date()) == (4, 0)
        assert rows(writer._connection, "usage") == {"acme"}


def test_workers_find_the_owners_of_every_tenant(vault, secrets):
    assert vault.unsettled() == [ALICE, BOB]
    assert vault.waiting() == [ALICE, BOB]


def test_every_table_and_partition_is_fenced_for_its_owner_too(url):
    query = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
    with server.administrator(url.database) as connection:
        fenced = {name for (name,) in connection.execute(f"{query} AND relrowsecurity AND relforcerowsecurity")}
    parts = {f"{name}_{number:02}" for name in TENANTS for number in range(PARTITIONS)}
    assert fenced == {*TENANTS, *parts}


def test_a_reader_cannot_write(vault, secrets):
    with pytest.raises(StorageError, match="read-only"), vault.read(ALICE) as reader:
        reader._connection.execute(text("DELETE FROM cubes"))
