"""In no file of an encrypted store, or beside it, is anything that a person stored, while it is all there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attack.raw import files_with
from memoryos import Memory, Role, Tier, stores
from memoryos.models.hashing import Hashing
from memoryos.operation.index import resident as resident_module
from public import store_of

pytestmark = pytest.mark.file

USER, WORD, HAN = "quokkauser", "zanzibarquux", "量子茶壶"
SAID = f"I have a parrot called {WORD.title()}. {HAN}. "
PICTURE = WORD.encode() + bytes(range(256)) * 4
KEEPING = {"short_term_capacity": 1, "mid_term_capacity": 1, "heat_threshold": 0, "resident_mb": 64}


@pytest.fixture(autouse=True)
def every_scope_is_large(monkeypatch):
    monkeypatch.setattr(resident_module, "_LARGE", 1)
    monkeypatch.setattr(resident_module, "_MOVED_ON", 1)


def fill(memory: Memory) -> str:
    """Pages, a picture, a fact, a version, an index beside the store, and cold documents; returns the id of a page."""
    picture = {"type": "image", "source": {"media_type": "image/png", "data": PICTURE}, "caption": HAN}
    memory.add([{"role": "user", "content": ["Look at this.", picture]}])
    for number in range(6):
        page = memory.add(f"{SAID}Room {number}. " * 20, "Polly likes the rings of Saturn." if number % 2 else None)
    memory.update(page, f"{SAID}Corrected.", role=Role.USER)
    memory.consolidate()
    memory.wait()
    assert any(WORD in fact.text.lower() for fact in memory.profile.get().user.facts)
    assert store_of(memory).admin.cool(after_days=0).pages or not memory.pages.list(tier=Tier.ARCHIVE)
    assert memory.search(WORD).hits
    return page


def vector_bytes() -> list[bytes]:
    """The vector of a passage as a store has it: float32 of cubes, float16 of passages."""
    (vector,) = Hashing().embed(["Polly likes the rings of Saturn."])
    return [np.asarray(vector, kind).tobytes() for kind in (np.float32, np.float16)]


def readable(folder: Path) -> set[str]:
    """Which of the things that were stored can be read in the files of the folder."""
    words = {word for word in (USER, WORD, WORD.title(), HAN, "Polly", "polly", "parrot") if files_with(folder, word)}
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    vectors = {f"vector {number}" for number, one in enumerate(vector_bytes()) if any(one in data for data in files)}
    picture = {"picture"} if any(PICTURE in data for data in files) else set()
    return words | vectors | picture


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_nothing_that_was_stored_is_readable(open_memory, settings, in_clear, path, tmp_path, is_encrypted):
    objects = tmp_path / "cold"
    objects.mkdir()
    chosen = (settings if is_encrypted else in_clear).model_copy(update={**KEEPING, "object_store": objects.as_uri()})
    memory = open_memory(user=USER, settings=chosen)
    page = fill(memory)
    found = [readable(tmp_path)]
    store_of(memory).close()
    memory = open_memory(user=USER, settings=chosen)
    memory.search(WORD)
    store_of(memory).close()
    stores.backup(path, tmp_path / "backup.db", settings=chosen)
    stores.copy(path, tmp_path / "copy.db", settings=chosen)
    stores.scrub(path, settings=chosen)
    assert stores.verify(path, settings=chosen).is_sound
    found.append(readable(tmp_path))
    names = {file.name for file in tmp_path.iterdir()}
    assert {"memory.db.index", "backup.db", "copy.db"} <= names
    assert len(list(objects.iterdir())) >= 1
    if is_encrypted:
        assert found == [set(), set()]
        assert {"memory.db.sealed", "backup.db.sealed", "copy.db.sealed"} <= names
    else:
        assert found[1] >= {USER, WORD, HAN, "vector 1", "picture"}, "the search of this test finds it"
    again = open_memory(user=USER, settings=chosen)
    assert HAN in again.search(WORD.title()).hits[0].text
    assert next(one for one in again.pages.list() if one.id == page).payload.turns[0].text.endswith("Corrected.")


def test_after_an_erasure_the_rest_is_still_readable_by_nobody(open_memory, path, tmp_path):
    memory = open_memory(user=USER)
    memory.add(SAID)
    store_of(memory).memory("bob").add("The bees like lavender.")
    stores.backup(path, tmp_path / "backup.db", settings=memory.settings)
    forgotten = store_of(memory).admin.forget(USER)
    assert forgotten.is_complete
    assert [Path(copy.place).name for copy in forgotten.receipt.copies] == ["backup.db"]
    assert [files_with(tmp_path, word) for word in (WORD.title(), "bees", USER)] == [[], [], []]
    assert store_of(memory).memory("bob").search("bees").hits


def test_a_log_that_a_crash_left_is_encrypted_too(open_memory, path):
    memory = open_memory(user=USER)
    memory.add(SAID)
    log = path.with_name("memory.db-wal").read_bytes()
    assert len(log) > 4096
    assert WORD.title().encode() not in log
