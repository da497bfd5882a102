"""Reembed: another embedder for a store in use, without extracting anything again."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import memoryos
from hierarchy.world import AXES, START, Symbols
from memoryos import Memory, Role, Scope, Turn, load_settings, stores
from memoryos.errors import EmbedderMismatch, InvalidInput
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind
from memoryos.models.embedder import Embedder
from memoryos.models.hashing import Hashing
from memoryos.operation.hierarchy.page_entries import page_entries, page_vectors
from memoryos.operation.maintenance import reembed as module

BOB = Scope(user="bob", tenant="acme")
SETTINGS = load_settings(short_term_capacity=2, mid_term_capacity=4, heat_threshold=2.0)
SAID = ["🍵 tea, tea, my green tea", "🚲 I own a bike", "我喜欢喝绿茶 🍵", "I like my telescope 🌙", "🍞 I bake bread"]


class Stopped(Exception):
    """The process ends here."""


class Turned:
    """The same axes in another order, and one more."""

    name = "turned-v1"
    dim = len(AXES) + 2

    def embed(self, texts):
        vectors = Symbols().embed(texts)
        return np.hstack([vectors[:, ::-1], np.zeros((len(vectors), 1), np.float32)])


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(stores, "open_vault", memoryos.opening.open_vault)  # that of the back end
    return tmp_path / "memory.db"


def opened(path: Path, embedder: Embedder | None = None) -> Memory:
    return memoryos.open(path, user="ann", settings=SETTINGS, embedder=embedder or Symbols(), clock=lambda: START)


def fill(memory: Memory, count: int = 30) -> None:
    turns = [Turn(role=Role.USER, text=f"{SAID[number % len(SAID)]} {number}") for number in range(count)]
    memory.add_many(turns)
    memory.of(BOB).add_many(turns[:7])
    memory.facts.add("I have a cat 🐈")
    memory.consolidate()
    memory.wait()


def assert_made_by(memory: Memory, embedder: Embedder, scope: Scope) -> None:
    """Every vector of the scope is the one that this embedder makes."""
    with memory._engine.vault.read(scope) as reader:
        pages = reader.cubes(Kind.PAGE)
        expected = {
            (entry.cube.id, part): np.asarray(passage.vector, "<f2").tobytes()
            for entry in page_entries(pages, embedder)
            for part, passage in enumerate(entry.passages, 1)
        }
        assert {(one.page, one.part): one.vector for one in reader.passages()} == expected
        facts = reader.cubes(Kind.FACT)
        vectors = reader.vectors(fact.id for fact in facts)
        for fact in facts:
            np.testing.assert_array_equal(vectors[fact.id], embedder.embed([fact.text])[0])
        for segment in reader.cubes(Kind.SEGMENT):
            members = [link.source for link in reader.sources([segment.id], LinkKind.MEMBER_OF)]
            mean = np.stack(list(page_vectors(reader, members).values())).mean(axis=0)
            np.testing.assert_allclose(reader.vectors([segment.id])[segment.id], mean, atol=1e-6)
        assert len(facts) >= 1
        assert len(pages) >= 7


def test_every_vector_is_the_new_embedder_s_and_nothing_else_changes(path):
    with opened(path) as memory:
        fill(memory)
        before = [(page.id, page.text, page.tier) for page in memory.pages.list()]
        segments = [view.page_ids for view in memory.segments.list(archive=True)]
        facts = [fact.id for fact in memory.profile.get().user.facts]
        memory.of(BOB).facts.add("Bob's 🎵")
        assert_made_by(memory, Symbols(), Scope(user="ann"))
    stores.reembed(path, Turned(), settings=SETTINGS)
    with opened(path, Turned()) as memory:
        assert [(page.id, page.text, page.tier) for page in memory.pages.list()] == before
        assert [view.page_ids for view in memory.segments.list(archive=True)] == segments
        assert [fact.id for fact in memory.profile.get().user.facts] == facts
        assert_made_by(memory, Turned(), Scope(user="ann"))
        assert_made_by(memory, Turned(), BOB)
        assert "bike" in memory.search("🚲", strategy="dense", archive=True).hits[0].text
        memory.add("🍵 and it goes on")
        memory.wait()
        assert memory.stats().embedder == "turned-v1"


def test_it_can_be_done_again_and_back(path):
    with opened(path) as memory:
        fill(memory)
        answers = [(hit.id, hit.score) for hit in memory.search("🚲 tea", archive=True).hits]
    for embedder in (Turned(), Turned(), Hashing(), Symbols()):
        stores.reembed(path, embedder, settings=SETTINGS)
    with opened(path) as memory:
        assert [
            (hit.id, pytest.approx(hit.score, abs=1e-4)) for hit in memory.search("🚲 tea", archive=True).hits
        ] == answers


def test_an_empty_store_only_changes_its_name(path):
    opened(path).close()
    stores.reembed(path, Turned(), settings=SETTINGS)
    with opened(path, Turned()) as memory:
        assert memory.search("tea").hits == ()


def test_a_store_that_does_not_exist_is_not_made(path):
    with pytest.raises(InvalidInput, match="does not exist"):
        stores.reembed(path, Turned())
    assert not path.exists()


def test_a_memory_with_the_old_embedder_works_until_the_switch_and_is_told_then(path):
    with opened(path) as memory:
        fill(memory, 200)
        seen = []

        def progress(done: int, total: int) -> None:
            hits = memory.search("🚲", strategy="dense", archive=True).hits
            seen.append((done, total, "bike" in hits[0].text))
            memory.add(f"🎲 number {len(seen)} while it changes")

        stores.reembed(path, Turned(), settings=SETTINGS, progress=progress)
        assert len(seen) >= 2
        assert all(found for _, _, found in seen)
        assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
        for call in (lambda: memory.search("🚲"), lambda: memory.add("too late"), memory.profile.get):
            with pytest.raises(EmbedderMismatch, match="turned-v1"):
                call()
    with opened(path, Turned()) as memory:
        assert_made_by(memory, Turned(), Scope(user="ann"))
        texts = [page.text for page in memory.pages.list()]
        assert [text for text in texts if "while it changes" in text] == [
            f"user: 🎲 number {number} while it changes" for number in range(1, len(seen) + 1)
        ]
        assert not any("too late" in text for text in texts)


def test_what_is_corrected_or_deleted_meanwhile_is_as_it_became(path):
    with opened(path) as memory:
        fill(memory, 30)
        first, second, *_ = [page.id for page in memory.pages.list()]
        (cat,) = [fact.id for fact in memory.profile.get().user.facts if "cat" in fact.text]
        told = []
        deleted = []

        def progress(done: int, total: int) -> None:
            told.append((done, total))
            if done == total and len(told) < 5:
                memory.update(first, "🎵 a song instead")
                memory.update(cat, "I have a dog 🐈🐈🚲")
                if not deleted:
                    memory.delete(second)
                    deleted.append(second)

        stores.reembed(path, Turned(), settings=SETTINGS, progress=progress)
        assert deleted
        assert told[-1][0] == told[-1][1]
    with opened(path, Turned()) as memory:
        assert_made_by(memory, Turned(), Scope(user="ann"))
        assert "song" in memory.get(first).text
        assert second not in [page.id for page in memory.pages.list()]


def test_writers_in_other_threads_lose_nothing(path):
    with opened(path) as memory:
        fill(memory, 100)
        kept: list[str] = []

        def write() -> None:
            try:
                while True:
                    kept.append(memory.add(f"🍞 loaf {len(kept)}"))
            except EmbedderMismatch:
                return

        writer = Thread(target=write)
        writer.start()
        stores.reembed(path, Turned(), settings=SETTINGS)
        writer.join()
    with opened(path, Turned()) as memory:
        assert {page.id for page in memory.pages.list()}.issuperset(kept)
        assert_made_by(memory, Turned(), Scope(user="ann"))


def test_one_that_was_cut_off_embeds_the_rest(path, monkeypatch):
    monkeypatch.setattr(module, "AT_A_TIME", 10)
    with opened(path) as memory:
        fill(memory, 50)

    def stop(done: int, total: int) -> None:
        if done >= total // 2:
            raise Stopped

    with pytest.raises(Stopped):
        stores.reembed(path, Turned(), settings=SETTINGS, progress=stop)
    with opened(path) as memory:
        assert_made_by(memory, Symbols(), Scope(user="ann"))
    told: list[int] = []
    stores.reembed(path, Turned(), settings=SETTINGS, progress=lambda done, total: told.append(done))
    assert told[0] >= 20
    with opened(path, Turned()) as memory:
        assert_made_by(memory, Turned(), Scope(user="ann"))


def test_a_change_that_was_cut_off_can_be_given_up_or_become_another(path, monkeypatch):
    monkeypatch.setattr(module, "AT_A_TIME", 10)
    with opened(path) as memory:
        fill(memory, 50)

    def stop(done: int, _total: int) -> None:
        if done >= 20:
            raise Stopped

    for then in (Symbols(), Hashing()):
        with pytest.raises(Stopped):
            stores.reembed(path, Turned(), settings=SETTINGS, progress=stop)
        stores.reembed(path, then, settings=SETTINGS)
        with opened(path, then) as memory:
            assert_made_by(memory, then, Scope(user="ann"))
        with memory._engine.vault._engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM next_vectors").scalar() == 0


def test_a_store_of_pages_without_passages_gets_vectors_of_the_whole(path):
    with opened(path) as memory:
        fill(memory, 10)
        with memory._engine.vault.write(Scope(user="ann")) as writer:
            pages = writer.cubes(Kind.PAGE)
            connection = writer._connection
            for page in pages:
                connection.execute(tables.passages.delete().where(tables.passages.c.cube_id == page.id))
                data = Symbols().embed([page.meaning])[0].astype("<f4").tobytes()
                connection.execute(tables.vectors.insert().values(("default", page.id, 0, data)))
    stores.reembed(path, Turned(), settings=SETTINGS)
    with opened(path, Turned()) as memory:
        with memory._engine.vault.read(Scope(user="ann")) as reader:
            vectors = reader.vectors(page.id for page in pages)
        for page in pages:
            np.testing.assert_array_equal(vectors[page.id], Turned().embed([page.meaning])[0])
        assert "bike" in memory.search("🚲", archive=True).hits[0].text
