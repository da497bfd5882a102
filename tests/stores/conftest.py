"""Stores with something of everything in them, on either back end."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy.engine import URL, make_url

import memoryos
from contract import server
from memoryos import Attachment, Memory, Role, Scope, Turn, load_settings
from memoryos.clock import system_clock
from memoryos.infrastructure.vault import rows, tables
from memoryos.infrastructure.vault.audit_entry import Deed
from memoryos.infrastructure.vault.place import Place, database_url, is_url, open_vault
from memoryos.infrastructure.vault.records import Spending
from memoryos.infrastructure.vault.sql_vault import COPY, SqlVault
from memoryos.models.embedder import load_embedder
from memoryos.operation.maintenance import reembed
from public import store_of

ANN = Scope(user="ann")
CARL = Scope(user="carl")
BOB = Scope(user="鲍勃", agent=None, tenant="acme/50%", namespace=("team", "a/b"))

# So small that pages reach every tier.
SETTINGS = load_settings(embedder="hashing", short_term_capacity=2, mid_term_capacity=3, heat_threshold=0)

SAID = (
    "I like spicy noodle soup with garlic number {}.",
    "我住在成都，我喜欢喝绿茶，第{}次。",
    "I own a telescope that shows the rings of Saturn, model {}.",
    "I work as a nurse in Lisbon. 🐝 {}",
)

NewPlace = Callable[[str], str]


@pytest.fixture
def new_place(tmp_path) -> Iterator[NewPlace]:
    """new_place(back_end): a place on it where there is nothing."""
    numbers = count(1)
    yield (
        lambda back_end: (
            _url(server.new_database()) if back_end == "postgres" else str(tmp_path / f"store-{next(numbers)}.db")
        )
    )


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """filled(back_end): a store with something in every table, made once: to be read and copied, not to be used."""

    @cache
    def make(back_end: str) -> str:
        place = _url(server.new_database()) if back_end == "postgres" else str(tmp_path_factory.mktemp("full") / "a.db")
        with opened(place) as memory:
            fill(memory)
        begin_to_reembed(place)
        return place

    return make


@pytest.fixture
def full(new_place, filled) -> Callable[[str], str]:
    """full(back_end): a store with something in every table."""

    def make(back_end: str) -> str:
        if back_end == "postgres":
            return _url(server.copy_of(str(make_url(filled(back_end)).database)))
        return shutil.copy(filled(back_end), new_place(back_end))

    return make


@pytest.fixture
def small_steps(monkeypatch):
    """A few rows at a time, so that a copy can be cut off anywhere."""
    monkeypatch.setattr(rows, "AT_A_TIME", 25)


@pytest.fixture
def store(full) -> str:
    return full("sqlite")


def _url(database: URL) -> str:
    return database.render_as_string(hide_password=False)


def opened(place: str, **options) -> Memory:
    return memoryos.open(place, user="ann", settings=SETTINGS, **options)


def fill(memory: Memory, pages: int = 24) -> None:
    """Pages in every tier, facts, traits, versions, jobs, notes, usage, a key, audit log, and something deleted."""
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    turns = [Turn(role=Role.USER, text=SAID[number // 2 % 4].format(number), at=at) for number in range(pages)]
    memory.add_many(turns, tags=["home", "家"])
    memory.add("See this", attachments=[Attachment(caption="一张照片", uri="file:///p.png", media_type="image/png")])
    memory.of(BOB).add_many(turns[:9])
    memory.of(CARL).add_many(turns[:4])
    memory.proposals.publish(["The limit is 4 pages"], source="v1")
    memory.proposals.publish(["The limit is 3 pages"], source="v2")
    memory.facts.add("I keep bees.")
    memory.consolidate()
    memory.wait()
    memory.update(
        next(fact.id for fact in memory.profile.get().user.facts if "bees" in fact.text), "I keep 🐝🐝 behind the mill."
    )
    first, second, *_ = memory.pages.list()
    memory.update(first.id, "I moved to Lisbon, model 7.")
    memory.delete(second.id)
    store_of(memory).keys.create("reporter", roles=["reader"])
    store_of(memory).roles.grant("ben", ["reader"])
    memory.governance.delegate("ben", ttl=1e8)
    memory._engine.vault.audits = list[Deed]().append
    with memory._engine.vault.write(ANN) as writer:
        writer.spend(Spending(at.date(), "facts", "m", 1, 20, 300, 4))
        writer.write_note("a note", "备注")
    memory._engine.vault.audits = None
    memory.wait()


def begin_to_reembed(place: str) -> None:
    """Leave some vectors of another embedder behind."""
    embedder = load_embedder("static")
    with closing(vault_of(place)) as vault:
        reembed._begin(vault, embedder)
        with vault.reembedding(embedder.name) as change:
            change.stage(reembed._made(change.pending(after=("", ""), limit=5), embedder))


def place_of(place: str) -> Place:
    return database_url(place) if is_url(place) else Path(place)


def vault_of(place: str) -> SqlVault:
    return open_vault(place_of(place), embedder=None, clock=system_clock, busy_timeout_seconds=30)


def content(place: str) -> dict[str, list[tuple]]:
    """Every row of every table, and what the store says of itself, but for what a copy adds: which it is, where others
    are, and the key under which it is noted what is forgotten."""
    with closing(vault_of(place)) as vault, vault.snapshot() as connection:
        found = {table.name: [tuple(row) for row in rows.stream(connection, table)] for table in all_tables()}
    added = (COPY, "receipt key", "copied to:")
    own = [row for row in found["meta"] if not row[0].startswith(added)]
    return {**found, "meta": own}


def all_tables():
    return [*rows.CONTENT, tables.meta]


def change_by_hand(place: str, *statements: str) -> None:
    """Run SQL that no memory would, on a SQLite store."""
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
