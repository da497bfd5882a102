"""An adapter of somebody else's package, found by its entry point, mounted beside a store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memoryos import Mount, Scope
from memoryos.errors import InvalidInput, StorageError, StoreReadOnly
from mounts.conftest import ANN

QUESTION = "What should I know about sourdough?"


@pytest.fixture
def installed(tmp_path, monkeypatch) -> None:
    """A package with the adapter, as pip leaves it."""
    folder = tmp_path / "site" / "memoryos_notes-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: memoryos-notes\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[memoryos.adapters]\nnotes = mounts.notes:Notes\nbroken = mounts.notes:Gone\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder of notes."""
    made = tmp_path / "notes"
    made.mkdir()
    (made / "bread.txt").write_text("Sourdough needs a starter that is fed for a week.")
    (made / "tea.txt").write_text("Green tea is brewed at eighty degrees.")
    (made / "面包.txt").write_text("酸面包要先养一周的酵头。")
    return made


@pytest.mark.usefixtures("installed")
def test_notes_are_ranked_beside_the_own_memory(own, folder):
    own.add("My sourdough never rises.", "How old is your starter?", at="2026-05-31T10:00Z")
    own.mounts.add(Mount("kitchen", f"notes:{folder}"))
    found = own.search(QUESTION, pages=2)
    assert {(turn.turn.text, turn.mount) for turn in found.turns} >= {
        ("Sourdough needs a starter that is fed for a week.", "kitchen"),
        ("My sourdough never rises.", None),
    }
    assert [hit.mount for hit in found.hits].count("kitchen") == 1  # the tea is farther than both
    assert own.search("酸面包怎么做？").turns[0].turn.text == "酸面包要先养一周的酵头。"
    assert own.tagged("bread") == []  # they have no tags
    assert {turn.mount for turn in own.search(QUESTION, tags=["bread"]).turns} == set()
    assert {turn.mount for turn in own.search(QUESTION, until="2026-06-01T12:00Z").turns} == {None}
    assert own.search(QUESTION, kinds=["fact"]).turns == own.search(QUESTION, session="another").turns == ()
    once, again = own.search(QUESTION), own.search(QUESTION)
    assert [hit.id for hit in once.hits] == [hit.id for hit in again.hits]


@pytest.mark.usefixtures("installed")
def test_an_adapter_is_written_when_it_is_mounted_so(own, folder):
    own.mounts.add(Mount("read", f"notes:{folder}"))
    own.mounts.add(Mount("kitchen", f"notes:{folder}", writable=True))
    with pytest.raises(StoreReadOnly):
        own.add("Rye flour makes it sour.", mount="read")
    assert own.add("Rye flour makes it sour.", mount="kitchen") == "3.txt"
    assert "Rye flour makes it sour." in [turn.turn.text for turn in own.search("rye flour").turns]


@pytest.mark.usefixtures("installed")
def test_what_an_adapter_cannot_do_is_told(own, folder):
    with pytest.raises(InvalidInput, match=r"mounts\.notes:Gone cannot be loaded"):
        own.mounts.add(Mount("broken", "broken:somewhere"))
    own.mounts.add(Mount("kitchen", f"notes:{folder}-lost"))
    assert own.search(QUESTION).missing == ("kitchen",)
    with pytest.raises(StorageError, match="a moment ago"):
        own.search(QUESTION, mounts=["kitchen"])


@pytest.mark.usefixtures("installed")
def test_the_scope_of_an_adapter_says_whom_it_serves(own, folder):
    own.mounts.add(Mount("diary", f"notes:{folder}", Scope(user="bob")))
    assert {turn.mount for turn in own.of(ANN).search(QUESTION).turns} == {None}


@pytest.mark.file
def test_without_its_package_a_place_is_a_file(own, folder):
    with pytest.raises(InvalidInput, match="does not exist"):
        own.mounts.add(Mount("kitchen", f"notes:{folder}", ANN))
    with pytest.raises(InvalidInput, match="no adapter is installed for notes://"):
        own.mounts.add(Mount("kitchen", f"notes://{folder}", ANN))


@pytest.mark.usefixtures("installed")
def test_adapters_are_released_when_they_are_unmounted_or_the_memory_ends(own, folder):
    own.mounts.add(Mount("kitchen", f"notes:{folder}"))
    own.mounts.add(Mount("cellar", f"notes:{folder}"))
    own.mounts.remove("kitchen")
    assert not (folder / "open-kitchen").exists()
    assert (folder / "open-cellar").exists()
    own.close()
    assert not (folder / "open-cellar").exists()
