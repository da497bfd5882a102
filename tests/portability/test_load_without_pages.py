"""A file is loaded without a page that has expired: neither its topic nor the rest of its chain tells of it."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

import memoryos
from memoryos import load_settings, stores
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
