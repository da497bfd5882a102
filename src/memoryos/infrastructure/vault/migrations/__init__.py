"""Schema versions: Alembic migrations, run in the caller's transaction together with their record.

Alembic is imported only when there is something to migrate: opening a current store stays fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from memoryos.errors import StoreCorrupt, StoreTooNew
from memoryos.process_lock import ProcessLock
from memoryos.regex import regex

if TYPE_CHECKING:
    from alembic.config import Config

_REVISION = regex("[0-9]{4}")

HEAD = "0021"  # the newest revision in versions/; a test holds it against the files

_ONE_AT_A_TIME = ProcessLock()  # Alembic's context is global: two threads would migrate each other's store

_FOLDER = Path(__file__).parent

_RECORD = {  # whether there is one; SQLAlchemy's inspection takes longer than all else that an open asks
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'",
    "postgresql": "SELECT to_regclass('alembic_version')::text",
}

_NEW_RECORD = (
    "CREATE TABLE alembic_version (\n\tversion_num VARCHAR(32) NOT NULL, \n\t"
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)\n)"
)

_TABLES = {  # the first by its name, in our schema alone
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY 1",
    "postgresql": "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1",
}


def is_current(connection: Connection) -> bool:
    """Whether the schema is the one this program writes.

    Raises StoreTooNew for a later schema and StoreCorrupt for a database that is not a vault.
    """
    found = revision(connection)
    if found is not None and not (_REVISION.fullmatch(found) and int(found)):
        raise StoreCorrupt(f"the store has an unknown schema. {StoreCorrupt.__doc__}")
    if found is not None and found > HEAD:
        raise StoreTooNew(f"the store has schema {found}, this program knows {HEAD}. {StoreTooNew.__doc__}")
    return found == HEAD


def upgrade(connection: Connection) -> None:
    """Bring the schema to HEAD; the migrations and their record are part of the caller's transaction."""
    if is_current(connection):  # another process was faster
        return
    from alembic import command

    with _ONE_AT_A_TIME:
        command.upgrade(_config(connection), HEAD)


def is_empty(connection: Connection) -> bool:
    """Whether the database is empty. Raises like `is_current`."""
    return revision(connection) is None


def stamp(connection: Connection) -> None:
    """Record schema HEAD for a store that was created with it, as Alembic does but without loading it."""
    for statement in (_NEW_RECORD, f"INSERT INTO alembic_version (version_num) VALUES ('{HEAD}')"):  # noqa: S608
        connection.exec_driver_sql(statement)


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    return config


def revision(connection: Connection) -> str | None:
    """The revision of the schema; None in an empty database. Raises StoreCorrupt in one that is no store."""
    if connection.exec_driver_sql(_RECORD[connection.dialect.name]).scalar():
        found: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        if found is None:
            raise StoreCorrupt(f"the table alembic_version, which tells the schema, is empty. {StoreCorrupt.__doc__}")
        return found
    if name := connection.exec_driver_sql(_TABLES[connection.dialect.name]).scalar():
        raise StoreCorrupt(f"this database is not a MemoryOS store (it has a table {name!r}); name another one")
    return None
