"""The statements that every write and every search runs, each compiled once for a dialect and run by the driver itself.

A durable add takes a fraction of a millisecond; SQLAlchemy's own execution of its five statements would take
longer than the transaction.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Connection,
    Select,
    Table,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import registry, sqlite
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import Compiled
from sqlalchemy.sql.selectable import SelectBase

from memoryos.infrastructure.vault import tables, whole_lists
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.infrastructure.vault.tables import OWNER, rules_of
from memoryos.regex import regex

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

Row = Mapping[str, Any]

_IDS = "__[POSTCOMPILE_ids]"  # where SQLAlchemy would put as many parameters as there are ids

_ROWS_AT_ONCE = 2_000
_ROWS_IN_STATEMENT = 50  # of SQLite
IDS_PER_STATEMENT = 5_000  # SQLite allows 32,766 parameters in a statement

_KEY = "key_"  # before the names of parameters that say which row: the others say what it becomes

_NAMED = regex(r":(\w+)")

_STYLES = {"sqlite": "named", "postgresql": "pyformat"}  # of the parameters, as each driver takes them


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert whole rows; a column that the database numbers by itself is left out."""
    if rows:
        _run_insertion(connection, table, _insertion(connection.dialect.name, table), rows)


def put_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert whole rows, or replace those with the same keys."""
    if rows:
        _run_insertion(connection, table, _put(connection.dialect.name, table), rows)


def insert_new_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert those of some whole rows whose keys are new; existing rows stay as they are."""
    if rows:
        _run_insertion(connection, table, _insertion_of_new(connection.dialect.name, table), rows)


def insert_links(connection: Connection, tenant: str, links: Sequence[Link]) -> None:
    """Insert links; existing ones are ignored.

    They come in the order of their index: out of order, thousands of them take SQLite three times as long.
    """
    few = list[Link]()
    for source, kind, targets in _alike(links):
        if len(targets) < _ROWS_IN_STATEMENT or connection.dialect.name != "sqlite":
            few += [Link(source, kind, target) for target in targets]
        else:
            _cursor(connection).execute(_insertion_of_links(), (tenant, source, kind.value, json.dumps(targets)))
    insert_new_rows(connection, tables.links, [_link_row(tenant, link) for link in few])


def delete_links(connection: Connection, tenant: str, links: Sequence[Link]) -> None:
    """Delete links: those of one memory as one list, which takes SQLite a third of the time."""
    dialect, few = connection.dialect.name, list[Link]()
    for source, kind, targets in _alike(links):
        if len(targets) < _ROWS_IN_STATEMENT:
            few += [Link(source, kind, target) for target in targets]
        else:
            listed = json.dumps(targets) if dialect == "sqlite" else targets
            values = {"tenant": tenant, "source": source, "kind": kind.value, "target": listed}
            _cursor(connection).execute(_deletion_of_links(dialect), values)
    delete_rows(connection, tables.links, [_link_row(tenant, link) for link in few])


def _alike(links: Iterable[Link]) -> Iterator[tuple[str, LinkKind, list[str]]]:
    """The targets of the links of each memory and kind, all in the order of the index."""
    alike = defaultdict[tuple[str, LinkKind], list[str]](list)
    for link in links:
        alike[link.source, link.kind].append(link.target)
    for (source, kind), targets in sorted(alike.items()):
        yield source, kind, sorted(targets)


def delete_rows(connection: Connection, table: Table, keys: Sequence[Row]) -> None:
    """Delete the rows with these keys; missing ones are ignored."""
    if keys:
        _run(connection, _deletion(connection.dialect.name, table), keys)


def insert_or(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that supports ON CONFLICT."""
    return _insertion_or(connection.dialect.name, table)


def update_cubes(connection: Connection, rows: Sequence[Row]) -> int:
    """Replace cubes, given by all their columns except the position; return the number of replaced cubes."""
    return _run(connection, _cube_update(connection.dialect.name), rows)


def update_job(connection: Connection, key: Row, values: Row) -> int:
    """Update the job with these key columns; return the number of updated rows, 0 or 1."""
    statement = _job_update(connection.dialect.name, tuple(key), tuple(values))
    return _run(connection, statement, [{**values, **{_KEY + name: key[name] for name in key}}])


def next_position(connection: Connection, owner: Row) -> tuple[int, bool]:
    """The position after the owner's last cube, and whether retention rules may apply: one question for both."""
    first, behind = rules_of(owner["tenant"])
    values = {**{_KEY + name: owner[name] for name in OWNER}, "first": first, "behind": behind}
    cursor = spare_cursor(connection)
    cursor.execute(_highest_position(connection.dialect.name), values)
    ((highest, is_ruled),) = cursor.fetchall()
    return (highest or 0) + 1, bool(is_ruled)


def ask(connection: Connection, query: SelectBase, values: Row, ids: Sequence[str] = ()) -> Iterator[Any]:
    """The rows of one of `queries`, for these ids if it takes some."""
    question = _question(connection.dialect.name, query)
    cursor = _cursor(connection)
    cursor.execute(*question.asked(values, ids))
    for row in cursor:  # noqa: UP028 - `yield from` would close the cursor of whoever stops early, if need be too late
        yield row


def stream(connection: Connection, query: Select[Any], values: Row) -> Iterator[Any]:
    """The rows of a query with a large result: only a few rows are in memory at once."""
    if connection.dialect.name == "sqlite":  # which reads on as rows are asked for
        return ask(connection, query, values)
    return iter(connection.execute(query, values, execution_options={"yield_per": _ROWS_AT_ONCE}))


def ask_one(connection: Connection, query: Select[Any], values: Row) -> Any:
    """The first value of the only row."""
    question = _question(connection.dialect.name, query)
    cursor = spare_cursor(connection)
    cursor.execute(*question.asked(values, ()))
    return cursor.fetchall()[0][0]


def spare_cursor(connection: Connection) -> Any:
    """A cursor for a statement whose rows, if any, are read at once."""
    driver = connection.connection
    spare = getattr(driver.dbapi_connection, "spare", driver.cursor)
    return spare()


def chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    """Split distinct ids into lists for one statement each."""
    distinct = list(dict.fromkeys(ids))
    for start in range(0, len(distinct), IDS_PER_STATEMENT):
        yield distinct[start : start + IDS_PER_STATEMENT]


@dataclass(frozen=True, slots=True)
class _CompiledQuery:
    text: str
    order: Sequence[str] | None  #: of the parameters; None: they have names, and the ids are one of them, a list
    constants: Row

    def asked(self, values: Row, ids: Sequence[str]) -> tuple[str, Any]:
        """The statement for these ids, and its parameters."""
        told = {**self.constants, **values, "ids": ids}
        if self.order is None:  # the text is always the same: the server keeps its plan
            return self.text, told
        # By their names, SQLite looks for each parameter among all of them: 5,000 ids take more than twice as long.
        each = (told[name] if name == "ids" else (told[name],) for name in self.order)
        return self.text.replace(_IDS, ", ".join("?" * len(ids))), [*chain.from_iterable(each)]


def _run_insertion(connection: Connection, table: Table, statement: str, rows: Sequence[Row]) -> None:
    if len(rows) == 1:
        spare_cursor(connection).execute(statement, rows[0])
    elif connection.dialect.name == "sqlite":
        _insert_many(connection, statement, rows)
    else:
        text, names = whole_lists.insertion(table, statement)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            _cursor(connection).execute(text, whole_lists.lists(names, rows[start : start + _ROWS_AT_ONCE]))


def _insert_many(connection: Connection, statement: str, rows: Sequence[Row]) -> None:
    """Insert many rows with few statements: with one for each, a large page takes a fifth longer under the lock."""
    text, values_of = _in_order(statement)
    cursor, end = spare_cursor(connection), len(rows) - len(rows) % _ROWS_IN_STATEMENT
    for start in range(0, end, _ROWS_IN_STATEMENT):
        some = rows[start : start + _ROWS_IN_STATEMENT]
        cursor.execute(_of_many(text), [*chain.from_iterable(map(values_of, some))])
    cursor.executemany(text, map(values_of, rows[end:]))


def _run(connection: Connection, statement: str, rows: Sequence[Row]) -> int:
    cursor = spare_cursor(connection)
    if len(rows) == 1:  # psycopg sends many in a pipeline, which takes longer than one row
        cursor.execute(statement, rows[0])
    elif connection.dialect.name == "sqlite":
        text, values_of = _in_order(statement)
        cursor.executemany(text, map(values_of, rows))
    else:
        cursor.executemany(statement, rows)
    return int(cursor.rowcount)


@cache
def _in_order(statement: str) -> tuple[str, Callable[[Row], tuple[Any, ...]]]:
    """The statement without the names of its parameters, and their values in a row: SQLite's driver is slow by name."""
    names = _NAMED.findall(statement)
    return _NAMED.sub("?", statement), itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)


@cache
def _of_many(insertion: str) -> str:
    """The statement with values for so many rows."""
    head, _, rest = insertion.partition(" VALUES ")
    values, conflict, end = rest.partition(" ON CONFLICT ")
    return f"{head} VALUES {', '.join([values] * _ROWS_IN_STATEMENT)}{conflict}{end}"


def _cursor(connection: Connection) -> Any:
    return connection.connection.cursor()


@cache
def _question(dialect: str, query: SelectBase) -> _CompiledQuery:
    compiled = _compiled(dialect, query)
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    if dialect == "postgresql":
        return _CompiledQuery(str(compiled).replace(f"IN ({_IDS})", "= ANY(%(ids)s)"), None, constants)
    named = str(compiled).replace(_IDS, ":ids")
    text = _NAMED.sub(lambda found: _IDS if found[1] == "ids" else "?", named)
    return _CompiledQuery(text, _NAMED.findall(named), constants)


@cache
def _insertion(dialect: str, table: Table) -> str:
    numbered = {tables.events.c.sequence}
    return str(_compiled(dialect, insert(table), [column.name for column in table.columns if column not in numbered]))


@cache
def _put(dialect: str, table: Table) -> str:
    insertion, key = _insertion_or(dialect, table), list(table.primary_key)
    values = {column.name: insertion.excluded[column.name] for column in table.columns if column not in key}
    replacing = insertion.on_conflict_do_update(index_elements=key, set_=values)
    return str(_compiled(dialect, replacing, table.c.keys()))


@cache
def _insertion_of_new(dialect: str, table: Table) -> str:
    insertion = _insertion_or(dialect, table).on_conflict_do_nothing(index_elements=list(table.primary_key))
    return str(_compiled(dialect, insertion, table.c.keys()))


@cache
def _insertion_of_links() -> str:
    """For SQLite: all links of one memory and kind, of which the targets are one parameter, a list in JSON."""
    head, _, conflict = _in_order(_insertion_of_new("sqlite", tables.links))[0].partition(" VALUES (?, ?, ?, ?)")
    return f"{head} SELECT ?, ?, ?, value FROM json_each(?) WHERE true{conflict}"  # noqa: S608 - a statement of our own


@cache
def _deletion(dialect: str, table: Table) -> str:
    key = [column == bindparam(column.name) for column in table.primary_key]
    return str(_compiled(dialect, delete(table).where(*key)))


@cache
def _deletion_of_links(dialect: str) -> str:
    """Of links of one memory and kind, of which the targets are one parameter: a list, for SQLite in JSON."""
    head, _, _ = _deletion(dialect, tables.links).rpartition(" = ")
    listed = "IN (SELECT value FROM json_each(:target))" if dialect == "sqlite" else "= ANY(%(target)s)"
    return f"{head} {listed}"


def _link_row(tenant: str, link: Link) -> Row:
    return {"tenant": tenant, "source": link.source, "kind": link.kind.value, "target": link.target}


def _insertion_or(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # with all its drivers, which a file need not load

    return postgresql.insert(table)


@cache
def _cube_update(dialect: str) -> str:
    cubes = tables.cubes
    key = [cubes.c[name] == bindparam(name) for name in ("tenant", "id")]
    # `coalesce` keeps PostgreSQL from looking through all that the owner has, for each row.
    owner = [func.coalesce(cubes.c[name], literal_column("''")) == bindparam(name) for name in OWNER[1:]]
    # A key that is set, even to what it is, is looked for in every table that refers to it.
    changing = [column.name for column in cubes.columns if column.name not in (*OWNER, "id", "position")]
    return str(_compiled(dialect, update(cubes).where(*key, *owner), changing))


@cache
def _job_update(dialect: str, key: tuple[str, ...], changing: tuple[str, ...]) -> str:
    jobs = tables.jobs
    wanted = [jobs.c[name] == bindparam(_KEY + name) for name in key]
    return str(_compiled(dialect, update(jobs).where(*wanted), list(changing)))


@cache
def _highest_position(dialect: str) -> str:
    cubes = tables.cubes
    mine = [cubes.c[name] == bindparam(_KEY + name) for name in OWNER]
    is_sound = cubes.c.position < literal_column(str(tables.BEHIND_POSITIONS))
    rules = exists().where(*(tables.notes.c[name] == bindparam(_KEY + name) for name in OWNER))
    key, (first, behind) = tables.notes.c.key, tables.RULE_KEYS
    is_ruled = rules.where(key >= literal_column(f"'{first}'"), key < literal_column(f"'{behind}'"))
    told = tables.meta.c.key
    of_tenant = exists().where(told >= bindparam("first"), told < bindparam("behind"))
    return str(_compiled(dialect, select(func.max(cubes.c.position), or_(is_ruled, of_tenant)).where(*mine, is_sound)))


def _compiled(dialect: str, statement: ClauseElement, names: Sequence[str] | None = None) -> Compiled:
    known = registry.load(dialect)(paramstyle=_STYLES[dialect])
    return statement.compile(dialect=known, column_keys=names)
