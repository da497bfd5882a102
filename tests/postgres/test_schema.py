"""The tables of a store on PostgreSQL: split by tenant, as `tables` says, and made once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

import forked
from contract import server
from memoryos.errors import EmbedderMismatch, InvalidInput, StoreCorrupt, StoreTooNew
from memoryos.infrastructure.vault import migrations, tables
from memoryos.infrastructure.vault.postgres_tables import PARTITIONS
from memoryos.scope import Scope

TESTS = Path(__file__).parents[1]
TENANTS = [table.name for table in tables.metadata.sorted_tables if "tenant" in table.c]


@pytest.fixture
def inspector(url):
    engine = create_engine(url.set(drivername="postgresql+psycopg"))
    yield inspect(engine)
    engine.dispose()


def test_every_table_of_the_program_is_there_with_its_columns(inspector):
    for table in tables.metadata.sorted_tables:
        assert [column["name"] for column in inspector.get_columns(table.name)] == [one.name for one in table.columns]


OF_ALL = {  # indexes for questions about all tenants
    "jobs_by_state",  # workers look for the owners who have work
    "keys_by_id",  # a request names a key, which tells the tenant
}


@pytest.mark.parametrize("name", TENANTS)
def test_the_tenant_leads_every_key_and_index(inspector, name):
    assert inspector.get_pk_constraint(name)["constrained_columns"][0] == "tenant"
    for index in inspector.get_indexes(name):
        assert index["column_names"][0] == "tenant" or index["name"] in OF_ALL
    for key in inspector.get_foreign_keys(name):
        assert key["constrained_columns"][0] == "tenant"


def test_a_tenant_lies_in_one_partition(vault, store, url):
    for number in range(40):
        store(scope=Scope(user="u", tenant=f"tenant {number}"))
    with server.administrator(url.database) as connection:
        parts = connection.execute(
            "SELECT tenant, count(DISTINCT tableoid), min(tableoid) FROM cubes GROUP BY tenant"
        ).fetchall()
    assert {count for _, count, _ in parts} == {1}
    assert len({part for *_, part in parts}) > PARTITIONS // 2


def test_a_question_of_a_tenant_reads_its_partition_only(vault, store):
    store(scope=Scope(user="u", tenant="acme"))
    with vault.read(Scope(user="u", tenant="acme")) as reader:
        plan = reader._connection.execute(text("EXPLAIN SELECT * FROM cubes WHERE tenant = 'acme' AND id = 'x'"))
        lines = "\n".join(line for (line,) in plan)
    assert lines.count("Scan") == 1


def test_a_new_database_becomes_a_store_that_is_at_head(open_vault):
    bare = server.new_database()
    open_vault(bare)
    engine = create_engine(bare.set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        assert migrations.is_current(connection)
    engine.dispose()


def test_processes_that_open_a_new_database_at_the_same_moment_share_it(open_vault, tmp_path):
    bare = server.new_database()
    (tmp_path / "postgres.txt").write_text(str(bare.database))
    command = [forked.executable(), "-m", "contract.append", "postgres", str(tmp_path)]
    children = [subprocess.Popen([*command, label, "2"], cwd=TESTS) for label in "abc"]
    assert [child.wait() for child in children] == [0, 0, 0]
    with open_vault(bare).read(Scope(user="alice")) as reader:
        assert len(list(reader.passages())) == 6


def test_a_database_of_another_program_is_refused_and_left_alone(open_vault):
    bare = server.new_database()
    with server.administrator(bare.database) as connection:
        connection.execute("CREATE TABLE recipes (name text); GRANT ALL ON recipes TO PUBLIC")
    with pytest.raises(StoreCorrupt, match="recipes"):
        open_vault(bare)
    with server.administrator(bare.database) as connection:
        names = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        assert names.fetchall() == [("recipes",)]


def test_a_store_of_a_newer_program_is_refused(open_vault):
    bare = server.new_database()
    open_vault(bare).close()
    with server.administrator(bare.database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreTooNew, match=r"9999.*install that version or a later one"):
        open_vault(bare)


def test_another_embedder_is_refused_and_both_are_named(open_vault):
    with pytest.raises(EmbedderMismatch, match=r"hashing-384-v1.*minilm"):
        open_vault(embedder="minilm")


def test_an_empty_database_is_no_store_to_change(open_vault):
    with pytest.raises(InvalidInput, match="holds no store"):
        open_vault(server.new_database(), embedder=None)
