"""Home: the one schema in which a store's tables are looked for, whatever other schemas hold.

A role that may create tables in a schema which the server searches earlier could put tables of the same names there,
and read what we write. So each transaction searches our schema alone, and behind it that of pgvector.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, text

from memoryos.errors import InvalidInput, StorageError

_HOMES = text(
    "SELECT space.nspname, record.relowner = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)"
    " FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) WITH ORDINALITY AS path (name, place)"
    " JOIN pg_catalog.pg_namespace AS space ON space.nspname = path.name"
    " JOIN pg_catalog.pg_class AS record ON record.relnamespace = space.oid"
    " WHERE record.relname = 'alembic_version' ORDER BY path.place"
)
_FIRST = text("SELECT pg_catalog.current_schema()")
_PGVECTOR = text(
    "SELECT space.nspname FROM pg_catalog.pg_extension AS extension"
    " JOIN pg_catalog.pg_namespace AS space ON space.oid = extension.extnamespace WHERE extension.extname = 'vector'"
)


def search_path(engine: Engine, name: str) -> str:
    """Where the transactions of a store look for tables and types, as PostgreSQL's search_path; `name` is the store's.

    Of several schemas with tables of a store the one is ours that this role owns. Raises StorageError when nobody can
    tell, InvalidInput when the URL leads to no schema.
    """
    with engine.connect() as connection:
        homes = [(space, is_own) for space, is_own in connection.execute(_HOMES)]
        first = connection.execute(_FIRST).scalar()
        extension = connection.execute(_PGVECTOR).scalar()
    home = _chosen(name, homes) if homes else first
    if home is None:
        raise InvalidInput("path", f"{name} has no schema for the store", "Create one that search_path names")
    spaces = dict.fromkeys([home, *([extension] if extension else [])])
    # pg_catalog is searched first where it is not named; pg_temp, too, so it is named last.
    return ", ".join([*(_quoted(space) for space in spaces), "pg_temp"])


def _chosen(name: str, homes: Sequence[tuple[str, bool]]) -> str:
    own = [space for space, is_own in homes if is_own]
    if not own and len(homes) > 1:
        spaces = " and ".join(repr(space) for space, _ in homes)
        raise StorageError(
            f"{name} has tables of a store in the schemas {spaces}, and this role owns none of them; "
            "name one in the URL: ?options=-csearch_path%3Dschema"
        )
    return own[0] if own else homes[0][0]


def _quoted(space: str) -> str:
    doubled = space.replace('"', '""')
    return f'"{doubled}"'
