"""A store in memory: like any other until it is closed, and then gone."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import memoryos
from memoryos import MemoryOS, load_settings, stores
from memoryos.errors import InvalidInput


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files lie."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_remembers_until_it_is_closed_and_leaves_nothing(folder: Path) -> None:
    settings = load_settings(embedder="hashing")
    with memoryos.open(":memory:", user="ann", settings=settings) as memory:
        page = memory.add("I live in Porto.", "Noted.")
        memory.wait()
        assert memory.search("Porto").hits[0].id == page
        assert list(folder.iterdir())
    assert list(folder.iterdir()) == []


def test_two_of_them_know_nothing_of_each_other(folder: Path) -> None:
    settings = load_settings(embedder="hashing")
    with MemoryOS.open(":memory:", settings=settings) as one, MemoryOS.open(":memory:", settings=settings) as other:
        one.memory("ann").add("I live in Porto.")
        assert other.memory("ann").pages.list() == []


def test_one_that_cannot_be_opened_leaves_nothing(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        MemoryOS.open(":memory:", settings=load_settings(embedder="hashing"), read_only=True)
    assert list(folder.iterdir()) == []


def test_other_doors_ask_for_a_file() -> None:
    with pytest.raises(InvalidInput, match="gone when it is closed"):
        stores.verify(":memory:")
