"""A backup that is copied, backed up or scrubbed stays one file: no operation leaves a log beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import memoryos
from memoryos import Attachment, load_settings, stores
from memoryos.errors import InvalidInput
from memoryos.models.hashing import Hashing

HONEY = "data:text/plain;base64,aG9uZXk="
WAL = b"\x02\x02"  # bytes 18 and 19 of a file in WAL mode


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A backup."""
    with memoryos.open(tmp_path / "memory.db", user="ann", embedder=Hashing()) as memory:
        memory.add("I keep bees.", attachments=[Attachment(caption="bees", uri=HONEY)])
    stores.backup(tmp_path / "memory.db", tmp_path / "kept.backup")
    return tmp_path / "kept.backup"


@pytest.mark.file
@pytest.mark.parametrize("audit", [True, False])
@pytest.mark.parametrize("work", [stores.copy, stores.backup])
def test_what_reads_a_backup_leaves_it_as_it_was(kept: Path, tmp_path: Path, work, audit: bool):
    said, names = kept.read_bytes(), sorted(file.name for file in tmp_path.iterdir())
    work(kept, tmp_path / "other.db", settings=load_settings(audit=audit))
    assert kept.read_bytes() == said
    new = {file.name for file in tmp_path.iterdir()} - set(names)
    assert {name for name in new if not name.startswith("other.db")} == set()
    with memoryos.open(tmp_path / "other.db", user="ann", embedder=Hashing()) as other:
        (page,) = other.pages.list()
        (found,) = other.pages.attachments(page.id)
        assert other.pages.attachment(page.id, found.id).data == b"honey"
    assert stores.verify(kept).damages == ()


@pytest.mark.file
def test_a_backup_that_is_scrubbed_is_one_file_still(kept: Path, tmp_path: Path):
    stores.scrub(kept)
    assert kept.read_bytes()[18:20] != WAL
    assert not list(tmp_path.glob("kept.backup-*"))
    assert stores.verify(kept).damages == ()
    stores.restore(kept, tmp_path / "again.db", embedder=Hashing())


@pytest.mark.file
def test_a_backup_whose_scrub_is_interrupted_is_one_file_still(kept: Path, tmp_path: Path):
    def interrupt(*_counts: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stores.scrub(kept, progress=interrupt)
    assert kept.read_bytes()[18:20] != WAL
    assert not list(tmp_path.glob("kept.backup-*"))


@pytest.mark.file
def test_a_backup_of_an_older_schema_is_not_scrubbed(kept: Path):
    with closing(sqlite3.connect(kept)) as file, file:
        assert file.execute("UPDATE meta SET value = json_set(value, '$.schema', '0019') WHERE key = 'backup'").rowcount
    said = kept.read_bytes()
    with pytest.raises(InvalidInput, match="an older program made"):
        stores.scrub(kept)
    assert kept.read_bytes() == said
