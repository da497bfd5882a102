"""A file is loaded without a page that has expired: neither its topic nor the rest of its chain tells of it."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

import memoryos
from memoryos import load_settings, stores
from memoryos.errors import CubeProtected
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.models.hashing import Hashing
from memoryos.operation.portability.load_export import Loader
from public import store_of

WORD, REPLY = "zanzibarquux", "Hiking in the mountains of Norway is nice."
SAID = (
    "I love hiking in the mountains of Norway.",
    "Hiking in the mountains of Norway was wet.",
    f"The mountains of Norway, I love hiking there with a {WORD}.",
    "I love hiking in the mountains of Norway again.",
    "I love hiking in the mountains of Norway.",
)


@pytest.fixture
def opened(tmp_path: Path, clock):
    settings = load_settings(short_term_capacity=1, heat_threshold=0, self_repair=False)

    def call(name: str) -> closing[memoryos.Memory]:
        path = tmp_path / name
        return closing(memoryos.open(path, user="tom", settings=settings, embedder=Hashing(), clock=clock))

    return call


@pytest.mark.file
def test_what_has_expired_is_in_no_summary_and_in_no_version(opened, clock, tmp_path: Path):
    with opened("memory.db") as memory:
        pages = []
        for text in SAID:
            pages.append(memory.add(text, REPLY, ttl=timedelta(hours=1) if WORD in text else None))
            memory.consolidate()
            memory.wait()
        topic = max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube
        assert any(WORD in one.text for one in memory.history(topic.id))
        assert WORD in memory.get(pages[3]).payload.chain_summary
        memory.export(tmp_path / "tom.jsonl")
    clock.advance(hours=2)
    with opened("other.db") as other:
        assert store_of(other).admin.load(tmp_path / "tom.jsonl").expired == 1
        found = other.get(topic.id)
        assert (found.payload.pages, [one.id for one in other.history(topic.id)]) == (
            topic.payload.pages - 1,
            [topic.id],
        )
        assert found.payload.keywords
        assert "Norway" in found.text
        summaries = [other.get(page).payload.chain_summary for page in pages if page != pages[2]]
        assert all("Norway" in one for one in summaries)
        assert WORD not in found.text + "".join(summaries)
        assert not any(WORD.encode() in file.read_bytes() for file in tmp_path.glob("other.db*"))
    assert stores.verify(tmp_path / "other.db").damages == ()
    assert WORD.encode() not in (tmp_path / "other.db").read_bytes()


def _exported_frozen(opened, to: Path) -> str:
    """Export a memory with a frozen topic, of which a page expires in an hour; return the id of the topic."""
    with opened("memory.db") as memory:
        _read(memory, ttl=timedelta(hours=1))
        topic = _largest(memory)
        memory.governance.freeze(topic)
        memory.export(to)
    return topic


@pytest.mark.file
def test_a_frozen_topic_is_loaded_without_a_page_that_has_expired(opened, clock, tmp_path: Path):
    topic = _exported_frozen(opened, tmp_path / "tom.jsonl")
    clock.advance(hours=2)
    with opened("other.db") as other:
        for known in (0, len(SAID) - 1):
            loaded = store_of(other).admin.load(tmp_path / "tom.jsonl")
            assert loaded.expired == 1
            assert loaded.memories.get("page", 0) == len(SAID) - 1 - known
        assert other.get(topic).is_frozen
        assert "Norway" in other.get(topic).text
        assert WORD not in _told(other, topic)
    assert stores.verify(tmp_path / "other.db").damages == ()


@pytest.mark.file
def test_nobody_changes_a_frozen_topic_while_it_is_loaded(opened, clock, tmp_path: Path, monkeypatch):
    """It was stored thawed until it was described, and stayed so if somebody was faster."""
    topic = _exported_frozen(opened, tmp_path / "tom.jsonl")
    clock.advance(hours=2)
    joined, refused = Loader._joined, []
    with opened("other.db") as other:

        def between(loader: Loader, *given: object) -> None:
            joined(loader, *given)
            with pytest.raises(CubeProtected) as caught:
                other.update(topic, "Thawed.")
            refused.append(caught.value.memory_id)

        monkeypatch.setattr(Loader, "_joined", between)
        store_of(other).admin.load(tmp_path / "tom.jsonl")
        assert set(refused) == {topic}
        assert other.get(topic).is_frozen
        assert "Norway" in other.get(topic).text
        assert WORD not in _told(other, topic)
    assert stores.verify(tmp_path / "other.db").damages == ()


@pytest.mark.file
@pytest.mark.parametrize("is_frozen", [False, True])
@pytest.mark.parametrize("more", [(), (SAID[0], SAID[1])])
def test_topics_that_were_formed_again_come_without_the_pages_that_have_one(opened, tmp_path: Path, more, is_frozen):
    with opened("memory.db") as memory, opened("other.db") as other:
        pages = _read(memory)
        memory.export(tmp_path / "first.jsonl")
        store_of(other).admin.load(tmp_path / "first.jsonl")
        before = {view.cube.id for view in other.segments.list()}
        memory.upkeep.rebuild()
        memory.wait()
        pages += _read(memory, more)
        assert before.isdisjoint(view.cube.id for view in memory.segments.list()), "else the test says nothing"
        again = _largest(memory)
        memory.update(again, f"With a {WORD}.", reason=WORD)
        if is_frozen:
            memory.governance.freeze(again)
        memory.export(tmp_path / "second.jsonl")
        store_of(other).admin.load(tmp_path / "second.jsonl")
        other.wait()  # what left its STM has a topic now, too
        new = {view.cube.id: view for view in other.segments.list() if view.cube.id not in before}
        assert all(view.page_ids and not {*pages[:4]}.intersection(view.page_ids) for view in new.values())
        assert (again in new) is bool(more)
        assert all(new[name].cube.is_frozen is is_frozen for name in new.keys() & {again})
        assert all(WORD not in _told(other, name) for name in new)
        other.delete(pages[2])
        assert all(WORD not in _told(other, view.cube.id) for view in other.segments.list())
    assert stores.verify(tmp_path / "other.db").damages == ()


def _read(memory, said=SAID, ttl: timedelta | None = None) -> list[str]:
    """Add pages about one topic, each read before the next one comes."""
    pages = []
    for text in said:
        pages.append(memory.add(text, REPLY, ttl=ttl if WORD in text else None))
        memory.consolidate()
        memory.wait()
    return pages


def _largest(memory) -> str:
    return max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube.id


def _told(memory, topic: str) -> str:
    """What a topic says and said."""
    return "".join(str(one.to_dict()) for one in memory.history(topic))


class Crash(Exception):
    pass


@pytest.mark.file
def test_a_memory_is_stored_with_the_links_to_its_pages(opened, clock, tmp_path: Path, monkeypatch):
    with opened("memory.db") as memory:
        memory.add("I live in Oslo.", "Nice.")
        memory.add("I work as a nurse.", "Good.")
        memory.consolidate()
        facts = {fact.id: fact.descriptive.provenance for fact in memory.facts.list()}
        assert len(facts) >= 2
        memory.export(tmp_path / "tom.jsonl")

    def crash(*_given: object) -> None:
        raise Crash

    with opened("other.db") as other:
        with monkeypatch.context() as patch:
            patch.setattr(Loader, "_joined", crash)
            with pytest.raises(Crash):
                store_of(other).admin.load(tmp_path / "tom.jsonl")
        with other._engine.vault.read(other.scope) as reader:
            for fact, pages in facts.items():
                assert {link.target for link in reader.targets([fact], LinkKind.DERIVED_FROM)} == set(pages)
        store_of(other).admin.load(tmp_path / "tom.jsonl")
    assert stores.verify(tmp_path / "other.db").damages == ()
