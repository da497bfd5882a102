"""Scale: many tenants in one store, and one tenant with very many pages; on a file or on PostgreSQL.

The tenants of a run are added to those of the run before, so that the same one is searched beside few and beside many.
Pages are written as `add_many` writes them: durable, embedded, found by the next search. What follows a write (chains,
segments, facts) is left to workers; `memoryos bench speed` measures that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from memoryos.arguments import store_place
from memoryos.bench import search_process
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.search_process import Visited
from memoryos.clock import system_clock
from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.place import open_vault
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.kinds import Origin
from memoryos.models.embedder import Embedder, load_embedder
from memoryos.operation.intake import ingest
from memoryos.scope import Scope

AT_A_TIME = 1_000  # pages in one transaction
SEARCHES = 200
LARGE = "large"  # the tenant of very many pages


@dataclass(frozen=True, slots=True)
class Populated:
    """The measurements at one number of tenants."""

    tenants: int
    pages: int  #: of each
    stored_pages_per_s: float  #: of those that this step added, their embedding included
    bytes_per_page: float  #: on disk, without a candidate index
    visited: Visited


def measure(
    place: str,
    tenants: Sequence[int],
    pages: int,
    large: int,
    settings: Settings,
    progress: Progress = unwatched,
    *,
    searches: int = SEARCHES,
) -> Iterator[Populated]:
    """Grow the store to each number of tenants, then add one with `large` pages (0: none); search after each step.

    So many `searches` are timed in one tenant, and as many in tenants drawn at random. Raises InvalidInput when the
    store is not empty.
    """
    embedder = load_embedder(settings.embedder, settings)
    embedder.embed(["warm up"])
    patience = settings.busy_timeout_seconds
    vault = open_vault(
        store_place(place),
        embedder=embedder.name,
        clock=system_clock,
        busy_timeout_seconds=patience,
        key=EncryptionKey.of(settings),
    )
    with closing(vault):
        names = [tenant_name(number) for number in range(max(tenants, default=0))]
        if any(vault.owners(name) for name in [*names, LARGE]):
            raise InvalidInput("--db", "holds memories", "Name a new file, or an empty database")
        there = 0
        for wanted in sorted(tenants):
            seconds = sum(_load(vault, embedder, name, pages, progress) for name in names[there:wanted])
            rate, there = (wanted - there) * pages / seconds, wanted
            progress(f"{wanted:,} tenants: searching", 0, 1)
            found = search_process.visit(place, settings.embedder, names[:wanted], searches=searches)
            yield Populated(wanted, pages, rate, vault.nbytes() / (wanted * pages), found)
        if large:
            before = vault.nbytes()
            rate = large / _load(vault, embedder, LARGE, large, progress)
            size = (vault.nbytes() - before) / large
            progress(f"{large:,} pages: searching", 0, 1)
            found = search_process.visit(place, settings.embedder, [LARGE], searches=searches, is_large=True)
            yield Populated(1, large, rate, size, found)


def tenant_name(number: int) -> str:
    """The name of a tenant."""
    return f"tenant{number:06}"


def _load(vault: SqlVault, embedder: Embedder, tenant: str, pages: int, progress: Progress) -> float:
    """Store a dialogue of that many pages; return the seconds without generating it."""
    owner, dialogue, seconds = Scope(tenant=tenant, user=search_process.USER), Dialogue(sum(tenant.encode())), 0.0
    for done in range(0, pages, AT_A_TIME):
        session = dialogue.session(min(AT_A_TIME, pages - done))
        start = time.perf_counter()
        now = system_clock()
        cubes = [ingest.page_cube(page, owner, now=now, origin=Origin.USER_INPUT) for page in ingest.paginate(session)]
        entries = ingest.embedded(cubes, embedder)
        with vault.write(owner) as writer:
            writer.insert(entries)
        seconds += time.perf_counter() - start
        progress(f"{tenant}: loading", min(done + AT_A_TIME, pages), pages)
    return seconds
