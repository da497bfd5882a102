"""Speed and size of one user's store, at several sizes, each beside its floor on the same machine.

For each size: pages go in session by session, and what follows (moving them, extracting facts) is waited for; then
some go in one at a time; the store is closed and weighed; a fresh process opens and searches it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.bench.adds import Adds, in_turn, summed_up
from memoryos.bench.busy import adds_beside_worker
from memoryos.bench.floor import QUERIES, Floor, Texts, least_add, measure_floor
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.probe import SEARCHES, SEED, USER, Probed, probe
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.timing import milliseconds
from memoryos.config import Settings
from memoryos.memory import Memory
from memoryos.memory_os import open as open_memory
from memoryos.models.embedder import Embedder, load_embedder

ADDS = 100
WARM_UP = 3  # adds before the clock runs
WARM_UP_PAGES = 32  # in a store of their own, before the first size
SESSION_PAGES = 500  # in one add_many
FLOOR_TEXTS = 512  # in the batch that the embedder gets alone
TURNS_PER_PAGE = 2

# Words drawn by chance are taken for many a language, and each loads what the embedder knows of it.
_FOREIGN = (
    "Ich habe gestern meinen Schlüsselbund nicht gefunden.",
    "Ayer no encontré las llaves de mi casa.",
    "Je n'ai pas retrouvé les clés de ma maison hier.",
    "Ieri non ho trovato le chiavi della mia casa.",
    "Ontem não encontrei as chaves da minha casa.",
    "Gisteren heb ik mijn sleutelbos niet gevonden.",
)

_DIALOGUE_SEED = 1
_UNHEARD_SEED = 3  # and more for each size: an embedder remembers the words it has met


@dataclass(frozen=True, slots=True)
class Size:
    """The measurements in a store of that size."""

    pages: int  #: loaded in bulk, before the single adds
    archived_pages: int  #: of these; they were evicted, and a search looks there, too
    adds: Adds
    busy: Adds  #: while a worker of another process reads another user's pages
    bulk_pages_per_s: float  #: until all were stored durably
    settled_pages_per_s: float  #: until the work behind the writes was done too
    disk_bytes_per_page: float
    probed: Probed
    floor: Floor


@dataclass(frozen=True, slots=True)
class _Written:
    archived_pages: int
    adds: Adds
    bulk_pages_per_s: float
    settled_pages_per_s: float


def measure_sizes(sizes: Sequence[int], settings: Settings, progress: Progress = unwatched) -> Iterator[Size]:
    """Measure one size after the other, each in a temporary store."""
    embedder = load_embedder(settings.embedder, settings)
    _warm_up(settings, embedder)
    for pages in sizes:
        with TemporaryDirectory(prefix="memoryos-bench-") as folder:
            yield _measure(pages, settings, embedder, Path(folder), progress)


def _warm_up(settings: Settings, embedder: Embedder) -> None:
    """Store and settle some pages, so that loading the model and the rules is not measured."""
    with (
        TemporaryDirectory(prefix="memoryos-warm-up-") as folder,
        open_memory(Path(folder) / "warm-up.db", user=USER, settings=settings, embedder=embedder) as memory,
    ):
        memory.add_many(Dialogue(_DIALOGUE_SEED).session(WARM_UP_PAGES))
        memory.consolidate()
    embedder.embed(_FOREIGN)


def _measure(pages: int, settings: Settings, embedder: Embedder, folder: Path, progress: Progress) -> Size:
    store = folder / "speed.db"
    with open_memory(store, user=USER, settings=settings, embedder=embedder) as memory:
        written = _write(memory, pages, embedder, folder / "least.db", progress)
    weight = _weight(store)
    beside = _busy(pages, store, settings, embedder, progress)
    floor = _floor(pages, embedder, folder, progress)  # now: a shared machine is slower at one time than at another
    progress(f"{pages:,} pages: searching", 0, 1)
    probed = probe(store, settings.embedder)
    progress(f"{pages:,} pages: searching", 1, 1)
    return Size(
        pages=pages,
        archived_pages=written.archived_pages,
        adds=written.adds,
        busy=beside,
        bulk_pages_per_s=written.bulk_pages_per_s,
        settled_pages_per_s=written.settled_pages_per_s,
        disk_bytes_per_page=weight / (pages + WARM_UP + ADDS),
        probed=probed,
        floor=floor,
    )


def _weight(store: Path) -> int:
    """Bytes of the store's file, its log, and the index that lies beside it."""
    files = [*store.parent.glob(f"{store.name}*"), *store.parent.glob(f"{store.name}.index/*")]
    return sum(file.stat().st_size for file in files if file.is_file())


def _write(memory: Memory, pages: int, embedder: Embedder, least_store: Path, progress: Progress) -> _Written:
    dialogue = Dialogue(_DIALOGUE_SEED)
    stored_s = _bulk(memory, dialogue, pages, progress)
    settled_s = stored_s + milliseconds(memory.wait) / 1000
    archived = memory.stats().archived_pages
    times = []
    with least_add(embedder, least_store) as least:
        for taken in in_turn(memory, least, dialogue.exchanges(2 * (WARM_UP + ADDS))):
            times.append(taken)
            progress(f"{pages:,} pages: adding one by one", len(times), WARM_UP + ADDS)
    memory.wait()
    return _Written(archived, summed_up(times[WARM_UP:]), pages / stored_s, pages / settled_s)


def _busy(pages: int, store: Path, settings: Settings, embedder: Embedder, progress: Progress) -> Adds:
    """Measure adds beside a busy worker, in a copy of the store, so that later searches see one user's memory alone."""
    progress(f"{pages:,} pages: adding beside a worker", 0, 1)
    copied = store.with_name("busy.db")
    shutil.copy(store, copied)
    with open_memory(copied, user=USER, settings=settings, embedder=embedder) as memory:
        found = adds_beside_worker(memory, pages, copied, embedder, settings)
    progress(f"{pages:,} pages: adding beside a worker", 1, 1)
    return found


def _bulk(memory: Memory, dialogue: Dialogue, pages: int, progress: Progress) -> float:
    """Load the pages; return the seconds without generating them."""
    seconds = 0.0
    for done in range(0, pages, SESSION_PAGES):
        session = dialogue.session(min(SESSION_PAGES, pages - done))
        seconds += milliseconds(partial(memory.add_many, session)) / 1000
        progress(f"{pages:,} pages: loading", min(done + SESSION_PAGES, pages), pages)
    return seconds


def _floor(pages: int, embedder: Embedder, folder: Path, progress: Progress) -> Floor:
    progress(f"{pages:,} pages: the floor", 0, 1)
    texts = Texts(
        [turn.text for turn in Dialogue(_DIALOGUE_SEED).session(FLOOR_TEXTS // TURNS_PER_PAGE)],
        Dialogue(SEED).questions(SEARCHES),
        Dialogue(_UNHEARD_SEED + pages).exchanges(QUERIES),
    )
    floor = measure_floor(embedder, texts, pages * TURNS_PER_PAGE, folder)
    progress(f"{pages:,} pages: the floor", 1, 1)
    return floor
