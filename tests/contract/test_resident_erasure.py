"""What is erased leaves the memory of every process that has the store open: its indexes and its caches."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from threading import Barrier, Thread
from threading import enumerate as threads

import pytest

from memoryos import Kind, Memory, MemoryOS, Scope, load_settings, text_cache
from memoryos.language.words import content_stems
from memoryos.models.hashing import Hashing
from memoryos.operation.index.residency import Residency
from memoryos.operation.maintenance import erasure_watch
from memoryos.operation.maintenance.erasure_watch import ErasureWatch

TERCES = "xuuqrabiznaz"  # the secret backwards, so that nobody but the library has it
ANN = Scope(user="ann")

OTHER = """
import gc, sys, time
import memoryos
from memoryos import Scope, load_settings
from memoryos.language.words import content_stems
from memoryos.models.hashing import Hashing
from memoryos.operation.maintenance import erasure_watch

TERCES = "xuuqrabiznaz"
erasure_watch.LOOK_SECONDS = 0.05
store = memoryos.MemoryOS.open(sys.argv[1], settings=load_settings(), embedder=Hashing())
ann = store.of(Scope(user="ann"))

def having():
    gc.collect()
    return [type(one).__qualname__ for one in gc.get_objects() for text in gc.get_referents(one)
            if isinstance(text, str) and TERCES in text[::-1].lower()]

def used():
    ann.search("parrot"), ann.context("where does the parrot live?"), ann.profile.get(), ann.facts.list()
    store.wait()

used()
print(bool(having()), flush=True)
sys.stdin.readline()
until = time.monotonic() + 60
while len(store._engine.residency) and time.monotonic() < until:
    time.sleep(0.02)
store.wait()
print(having(), flush=True)
"""


@pytest.fixture
def stores(place, clock) -> Iterator[tuple[MemoryOS, MemoryOS]]:
    """One store that removes, and one that is idle after it was used."""
    settings = load_settings(short_term_capacity=1, heat_threshold=0)
    with (
        closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as remover,
        closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as idle,
    ):
        yield remover, idle


def tell(memory: Memory) -> str:
    secret = TERCES[::-1]
    page = memory.add(f"My parrot lives at {secret} street. I live in {secret.title()}.", "Nice.")
    memory.add("I like tea.", "Fine.")
    memory.consolidate()
    return page


def use(memory: Memory) -> None:
    """Ask, and ask again when the background work has removed what it replaced."""
    for _ in range(2):
        memory.search("parrot"), memory.context("where does the parrot live?"), memory.facts.list()
        memory.wait()


def cached() -> list[str]:
    """The caches that have the secret in a key or a result."""
    return [
        one.__qualname__
        for one in text_cache._CACHES.values()
        if TERCES in "".join(map(str, gc.get_referents(one)))[::-1].lower()
    ]


def resident(store: MemoryOS) -> bool:
    """Whether the index of the owner has the secret."""
    owners = store._engine.residency._residents
    return any(TERCES in word[::-1] for one in owners.values() for word in one.turns.postings.words) or any(
        TERCES in entry.cube.text[::-1].lower()
        for one in owners.values()
        for kind in one._held
        for entry in one.entries(kind)
    )


@pytest.mark.parametrize("way", ["forget", "erase", "delete"])
def test_what_is_erased_leaves_the_memory_of_idle_stores(stores, way):
    remover, idle = stores
    ann = remover.of(ANN)
    for store in stores:
        use(store.of(ANN))
        store._engine.watch.look()  # the first one, which knows what to compare the next with
    page = tell(ann)
    use(ann)
    use(idle.of(ANN))
    content_stems(ann.get(page).text)  # as background work does
    assert resident(idle) and cached()
    if way == "forget":
        assert ann.forget().is_complete
    elif way == "erase":
        assert ann.governance.erase(page).is_complete
    else:
        ann.delete(page)
    assert cached() == []
    assert resident(remover) is (way == "delete")
    assert resident(idle)
    for store in stores:
        store._engine.watch.look()
    assert (cached(), resident(idle), resident(remover)) == ([], False, False)


def test_a_process_that_is_idle_lets_go_by_itself(place):
    with closing(MemoryOS.open(place, settings=load_settings(), embedder=Hashing())) as store:
        ann = store.of(ANN)
        tell(ann)
        with subprocess.Popen([sys.executable, "-c", OTHER, place], stdin=-1, stdout=-1, text=True) as other:
            assert other.stdin and other.stdout
            assert other.stdout.readline() == "True\n"
            assert ann.forget().is_complete
            other.stdin.write("\n")
            other.stdin.flush()
            assert other.stdout.readline() == "[]\n"


def looking() -> set[Thread]:
    """The threads that look whether memories were removed."""
    return {one for one in threads() if one.name == "memoryos-erasures"}


def test_the_thread_begins_with_the_first_use_and_ends_with_the_store(place, clock, monkeypatch):
    before = looking()
    store = MemoryOS.open(place, settings=load_settings(), embedder=Hashing(), clock=clock)
    assert looking() == before
    store.of(ANN).search("parrot")
    assert len(looking() - before) == 1
    store.of(Scope(user="tom")).search("parrot")
    assert len(looking() - before) == 1
    store.close()
    assert looking() == before


def test_one_thread_looks_however_many_begin_and_none_after_the_end(stores):
    """Many searches may be the first, and some of them may come while the store is closed."""
    vault, residency = stores[0]._engine.vault, Residency(0, lambda: None)
    before = looking()
    for is_closed in [False, True] * 5:
        watch, gate = ErasureWatch(vault, residency), Barrier(9)
        workers = [Thread(target=begin, args=[watch, gate]) for _ in range(8)]
        for one in workers:
            one.start()
        gate.wait()
        if is_closed:
            watch.close()
        for one in workers:
            one.join()
        assert len(looking() - before) == (0 if is_closed else 1)
        watch.close()
        assert looking() == before


def begin(watch: ErasureWatch, gate: Barrier) -> None:
    gate.wait()
    watch.start()


def test_segments_that_the_program_forms_anew_leave_no_cache_cold(stores):
    remover, _ = stores
    ann = remover.of(ANN)
    tell(ann)
    use(ann)
    vault, kept, emptied = remover._engine.vault, text_cache.text_cache(2)(str.upper), []
    kept("a")
    vault.on_erased = lambda: emptied.append("states")
    with vault.write(ANN) as writer:
        segments = [segment.id for segment in writer.cubes(Kind.SEGMENT)]
        writer.delete(segments)
    assert segments and (kept.cache_info().currsize, emptied) == (1, [])
    ann.delete(ann.facts.add("has bees"))
    assert kept.cache_info().currsize == 0 and "states" in emptied


def test_nothing_is_done_while_nothing_goes(stores, monkeypatch):
    remover, idle = stores
    ann = remover.of(ANN)
    tell(ann)
    use(idle.of(ANN))
    watch = idle._engine.watch
    watch.look()
    watch.look()
    ann.add("I like coffee.", "Fine.")
    ann.wait()
    done = []
    monkeypatch.setattr(erasure_watch, "forget_texts", lambda: done.append("texts"))
    for _ in range(3):
        watch.look()
    assert done == []
    ann.delete(ann.facts.add("has bees"))
    for _ in range(5):
        watch.look()
    assert done == ["texts", "texts"]  # again, for a call that had read it before it went
