"""The tables of a new store on PostgreSQL: those of `tables`, split by tenant, and the fence between tenants."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, MetaData, PrimaryKeyConstraint, Table, text

from memoryos.infrastructure.vault import fence, tables

PARTITIONS = 16  # of each table; a tenant is in exactly one

_CHECKED = {"cubes": ("document",), "vectors": ("data",), "passages": ("words", "vector")}  # what a checksum is of

_VISIBLE = (  # evaluated once per statement, not per row
    f"tenant = (SELECT current_setting('{fence.TENANT}', true))"
    f" OR (SELECT current_setting('{fence.EVERY_TENANT}', true)) = 'on'"
)


def create(connection: Connection) -> None:
    """Create every table, with its partitions and its policy."""
    metadata = _split_by_tenant()
    metadata.create_all(connection)
    for table in metadata.sorted_tables:
        if "tenant" in table.c:
            split(connection, table.name)
    for statement in guard(connection):
        connection.execute(text(statement))


def split(connection: Connection, table: str) -> None:
    """Give a new table, which is partitioned by hash of the tenant, its partitions and its policy."""
    for statement in (*_partitions(table), *policy(table)):
        connection.execute(text(statement))


def guard(connection: Connection) -> Iterator[str]:
    """The statements for a trigger that removes a checksum if an older program changes its row.

    The trigger function sets its search path, because it runs with that of the role that changes the row.
    """
    space = connection.execute(text("SELECT pg_catalog.quote_ident(pg_catalog.current_schema()::pg_catalog.text)"))
    home = space.scalar_one()
    yield (
        f"CREATE FUNCTION {home}.memoryos_drop_checksum() RETURNS trigger LANGUAGE plpgsql"
        " SET search_path = pg_catalog, pg_temp AS 'BEGIN NEW.checksum := NULL; RETURN NEW; END'"
    )
    for table, columns in _CHECKED.items():
        differs = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in columns)
        yield (
            f"CREATE TRIGGER {table}_checksum BEFORE UPDATE OF {', '.join(columns)} ON {home}.{table} FOR EACH ROW"
            f" WHEN (OLD.checksum IS NOT DISTINCT FROM NEW.checksum AND ({differs}))"
            f" EXECUTE FUNCTION {home}.memoryos_drop_checksum()"
        )


def _split_by_tenant() -> MetaData:
    metadata = MetaData()
    for table in tables.metadata.sorted_tables:
        copy = table.to_metadata(metadata)
        if "tenant" in copy.c:
            copy.dialect_options["postgresql"]["partition_by"] = "HASH (tenant)"
        for index in copy.indexes:
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    _key_by_tenant(metadata.tables["events"])
    return metadata


def _key_by_tenant(events: Table) -> None:
    """Number events beside their tenant; SQLite numbers only a key of one column."""
    events.c.sequence.primary_key = False
    events.append_constraint(PrimaryKeyConstraint("tenant", "sequence"))


def _partitions(table: str) -> Iterator[str]:
    for number in range(PARTITIONS):
        part = f"{table}_{number:02}"
        yield f"CREATE TABLE {part} PARTITION OF {table} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})"
        # Asked by its own name, a partition obeys its own policies, not its table's: it has none, and shows nothing.
        yield from _fence(part)


def policy(table: str) -> Iterator[str]:
    """The statements that put the fence around a table with a column `tenant`."""
    yield from _fence(table)
    yield f"CREATE POLICY own_tenant ON {table} USING ({_VISIBLE})"


def _fence(table: str) -> Iterator[str]:
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
    yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"  # also for the owner of the table, which is our role
