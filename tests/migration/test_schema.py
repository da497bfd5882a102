from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, event, inspect

from memoryos.infrastructure.vault import migrations, tables
from memoryos.infrastructure.vault.sqlite import new_file

VERSIONS = sorted((Path(migrations.__file__).parent / "versions").glob("[0-9]*.py"))


@pytest.fixture
def engine(tmp_path):
    """A database in which a transaction covers DDL, as in the vault."""
    made = create_engine(f"sqlite:///{tmp_path / 'memory.db'}")
    event.listen(made, "connect", lambda driver, _: setattr(driver, "isolation_level", None))
    event.listen(made, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    yield made
    made.dispose()


def names(engine):
    with engine.connect() as connection:
        return inspect(connection).get_table_names()


def is_ours(_name, kind, *_):
    return kind != "table" or _name != "alembic_version"


def test_the_migrations_make_the_schema_that_the_program_uses(engine):
    with engine.begin() as connection:
        migrations.upgrade(connection)
        options = {"include_name": is_ours, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, tables.metadata) == []


def test_the_comparison_would_notice_a_difference(engine):
    with engine.begin() as connection:
        migrations.upgrade(connection)
        connection.exec_driver_sql("DROP INDEX links_one_segment")
        context = MigrationContext.configure(connection, opts={"include_name": is_ours})
        assert [change[0] for change in compare_metadata(context, tables.metadata)] == ["add_index"]


def test_conditions_and_foreign_keys_are_those_of_the_program(engine):
    """What compare_metadata passes over."""
    with engine.begin() as connection:
        migrations.upgrade(connection)
        migrated = definitions(connection)
    with create_engine("sqlite://").connect() as connection:
        tables.metadata.create_all(connection)
        direct = definitions(connection)
        connection.rollback()
        connection.engine.dispose()
    assert migrated == direct


def definitions(connection):
    inspector = inspect(connection)
    ours = [name for name in inspector.get_table_names() if is_ours(name, "table")]
    keys = {name: sorted(map(str, inspector.get_foreign_keys(name))) for name in ours}
    primary = {name: inspector.get_pk_constraint(name) for name in ours}
    partial = connection.exec_driver_sql("SELECT name, sql FROM sqlite_schema WHERE sql LIKE '%UNIQUE INDEX%'").all()
    return keys, primary, sorted((name, " ".join(sql.split())) for name, sql in partial)


def test_a_new_file_gets_what_the_migrations_make(engine, tmp_path):
    """All of it, to the letter, for the text of a table says more than its definition (run tools/build_new_file.py)."""
    with engine.begin() as connection:
        migrations.upgrade(connection)
        migrated = content(connection)
    with create_engine("sqlite://").begin() as connection:
        new_file.create(connection)
        assert content(connection) == migrated
        assert migrations.is_current(connection)


def content(connection):
    """Each statement and each row."""
    return sorted(connection.connection.driver_connection.iterdump())


def test_a_new_store_needs_no_alembic(tmp_path):
    code = "import sys, memoryos; memoryos.open('new.db', user='ann').close(); sys.exit('alembic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 0


def test_the_newest_migration_is_the_one_the_program_wants():
    assert [path.stem[:4] for path in VERSIONS][-1] == migrations.HEAD


def test_migrations_are_numbered_and_named():
    for number, path in enumerate(VERSIONS, start=1):
        assert re.fullmatch(rf"{number:04d}_[a-z][a-z0-9_]*", path.stem)
        text = path.read_text()
        assert f'revision = "{number:04d}"' in text
        previous = f'"{number - 1:04d}"' if number > 1 else "None"
        assert f"down_revision = {previous}" in text


def test_a_migration_that_is_rolled_back_leaves_nothing(engine):
    with engine.connect() as connection, connection.begin() as transaction:
        migrations.upgrade(connection)
        assert migrations.is_current(connection)
        transaction.rollback()
    assert names(engine) == []


@pytest.mark.parametrize(
    "step", ["CREATE VIRTUAL TABLE text_terms", "CREATE TABLE passages", "DROP TABLE texts", "ADD COLUMN tags"]
)
def test_a_migration_that_fails_leaves_neither_schema_nor_record(engine, step):
    def fail(connection, cursor, statement, *_):
        if step in statement:
            raise KeyboardInterrupt

    event.listen(engine, "before_cursor_execute", fail)
    with pytest.raises(KeyboardInterrupt), engine.begin() as connection:
        migrations.upgrade(connection)
    assert names(engine) == []
    event.remove(engine, "before_cursor_execute", fail)
    with engine.begin() as connection:
        migrations.upgrade(connection)
        assert migrations.is_current(connection)


def test_migrating_twice_changes_nothing(engine):
    for _ in range(2):
        with engine.begin() as connection:
            migrations.upgrade(connection)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").all() == [(migrations.HEAD,)]


def test_the_migrations_leave_the_file_sound(engine, tmp_path):
    with engine.begin() as connection:
        migrations.upgrade(connection)
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
