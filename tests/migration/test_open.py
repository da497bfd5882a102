"""Which files can be opened as a store, and what is said of those that cannot."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import forked
import memoryos
from memoryos import load_settings, stores
from memoryos.errors import CubeDamaged, EmbedderMismatch, InvalidInput, StorageError, StoreCorrupt, StoreTooNew
from memoryos.infrastructure.vault import migrations
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.kinds import Kind
from memoryos.models.embedder import load_embedder
from memoryos.scope import Scope

ALICE = Scope(user="alice")
TESTS = Path(__file__).parents[1]


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def open_vault(path, clock):
    def opened(where=path, embedder="hashing-384-v1"):
        return SqliteVault(where, embedder=embedder, clock=clock, busy_timeout_seconds=0.1)

    return opened


@pytest.fixture
def stored(path, open_vault, entry):
    """A store with one page; the page."""
    vault = open_vault()
    made = entry("bees " * 500)
    with vault.write(ALICE) as writer:
        writer.insert([made])
    vault.close()
    return made.cube


def execute(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def read(vault):
    with vault.read(ALICE) as reader:
        return reader.get(["cube-1"])


def test_a_new_store_belongs_to_its_owner_alone(path, open_vault, entry):
    before = os.umask(0)
    try:
        vault = open_vault()
        with vault.write(ALICE) as writer:
            writer.insert([entry()])
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    vault.close()
    assert modes == {"memory.db": "0o600", "memory.db-wal": "0o600", "memory.db-shm": "0o600"}


def test_an_empty_file_becomes_a_store(path, open_vault):
    path.touch()
    vault = open_vault()
    assert read(vault) == {}
    vault.close()


@pytest.mark.parametrize("name", ["with space.db", "per%cent?.db", "#&=+.db", "记忆.db", "quote'\".db"])
def test_any_file_name_will_do(tmp_path, open_vault, name):
    open_vault(tmp_path / name).close()
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_store_can_be_copied_when_it_is_closed(path, tmp_path, open_vault, stored):
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    vault = open_vault(copy)
    assert read(vault) == {stored.id: stored}
    vault.close()


def test_a_store_of_a_newer_program_is_refused_and_left_alone(path, open_vault, stored):
    execute(path, "UPDATE alembic_version SET version_num = '9999'")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=r"9999.*install that version or a later one"):
        open_vault()
    assert path.read_bytes() == before


def test_a_program_that_keeps_no_versions_of_topics_is_refused_in_one_sentence(path, open_vault, stored, monkeypatch):
    monkeypatch.setattr(migrations, "HEAD", "0020")  # the last of those that leave them when a page goes
    with pytest.raises(StoreTooNew, match=r"schema 0021, this program knows 0020.*install that version"):
        open_vault()


def test_the_database_of_another_program_is_refused_and_left_alone(path, open_vault):
    execute(path, "CREATE TABLE recipes (name)", "INSERT INTO recipes VALUES ('soup')")
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="recipes"):
        open_vault()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"These are my notes.\n" * 500, b"\x00" * 8192, b"SQLite format 3\x00" + b"x" * 9000]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(path, open_vault, content):
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"memory\.db"):
        open_vault()
    assert path.read_bytes() == content


@pytest.mark.parametrize("kept", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_truncated_store_is_refused_when_it_is_opened_or_read(path, open_vault, stored, kept):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(StorageError):
        use(open_vault())


@pytest.mark.parametrize("start", [0, 100, 4096])
def test_a_garbled_store_is_refused_when_it_is_opened_or_read(path, open_vault, stored, start):
    content = bytearray(path.read_bytes())
    content[start : start + 4096] = b"\xa5" * 4096
    path.write_bytes(content)
    with pytest.raises(StorageError):
        use(open_vault())


def use(vault):
    """Read and write all over the file; close it whatever happens."""
    try:
        with vault.write(ALICE) as writer:
            writer.delete([cube.id for cube in read(vault).values()])
    finally:
        vault.close()


@pytest.mark.parametrize("document", ["", "{}", "not json", '{"id": "cube-1", "surprise": 1}'])
def test_a_cube_that_cannot_be_read_is_named_as_damage(path, open_vault, stored, document):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE cubes SET document = ?", (document,))
        connection.commit()
    vault = open_vault()
    assert read(vault) == {}
    with pytest.raises(CubeDamaged, match=f"{stored.id}.*backup"), vault.read(stored.scope) as reader:
        reader.one(stored.id)
    vault.close()


def test_another_embedder_is_refused_and_both_are_named(open_vault, stored):
    with pytest.raises(EmbedderMismatch, match=r"hashing-384-v1.*minilm"):
        open_vault(embedder="minilm")
    vault = open_vault()
    assert read(vault) == {stored.id: stored}
    vault.close()


def test_a_folder_is_no_store(tmp_path, open_vault):
    with pytest.raises(InvalidInput, match="is a folder"):
        open_vault(tmp_path)


def test_a_missing_folder_is_named_and_not_created(tmp_path, open_vault):
    missing = tmp_path / "missing"
    with pytest.raises(InvalidInput, match=str(missing)):
        open_vault(missing / "memory.db")
    assert not missing.exists()


def test_a_file_is_no_folder(path, open_vault, stored):
    with pytest.raises(InvalidInput, match="is not a folder"):
        open_vault(path / "memory.db")


def test_a_store_that_was_closed_is_not_used_again(open_vault, stored):
    vault = open_vault()
    vault.close()
    with pytest.raises(StorageError, match="closed"):
        read(vault)


def test_processes_that_create_a_store_at_the_same_moment_share_it(path, open_vault):
    command = [forked.executable(), "-m", "contract.append", "sqlite", str(path.parent)]
    children = [subprocess.Popen([*command, label, "2"], cwd=TESTS) for label in "ab"]
    assert [child.wait() for child in children] == [0, 0]
    vault = open_vault()
    with vault.read(ALICE) as reader:
        assert reader.census().of(Kind.PAGE) == 4
    vault.close()


def test_a_second_memory_of_this_process_does_not_drop_the_locks_of_the_first(tmp_path):
    """POSIX drops all locks of a process on a file when any descriptor of it is closed; SQLite knows, so must we."""
    path = tmp_path / "memory.db"
    program = (
        "import sys, memoryos; knobs = memoryos.load_settings(embedder='hashing'); "
        "m = memoryos.open(sys.argv[1], user='b', settings=knobs); m.add('hi'); m.close()"
    )
    settings = load_settings(embedder="hashing")
    with memoryos.open(path, user="ann", settings=settings) as first:
        first.add("I keep bees.")
        with memoryos.open(path, user="ann", settings=settings) as second:
            second.add("And hens.")
            for _ in range(2):  # a process that took itself for the last one would fold and remove the log
                subprocess.run([forked.executable(), "-c", program, str(path)], check=True)
                first.add("Still here.")
                assert Path(f"{path}-wal").exists()
        assert len(first.pages.list()) == 4


@pytest.mark.file
def test_a_store_of_the_english_embedder_goes_on_with_it(path):
    with memoryos.open(path, user="alice", settings=load_settings(embedder="static-minilm")) as memory:
        memory.add("I adopted a kitten called Momo.", "How sweet!")
        memory.add("The train to Leeds was late.", "Sorry to hear that.")
        memory.wait()
        before = [(hit.id, hit.score) for hit in memory.search("What is my cat's name?").hits]
    with memoryos.open(path, user="alice", settings=load_settings(embedder="static")) as memory:
        assert [(hit.id, hit.score) for hit in memory.search("What is my cat's name?").hits] == before
        memory.add("我姐姐住在杭州。", "真好！")
        assert memory.search("姐姐住在哪里？").hits
    stores.reembed(path, load_embedder("static"))
    with memoryos.open(path, user="alice", settings=load_settings(embedder="static")) as memory:
        assert len(memory.search("我姐姐住在哪座城市？").hits) == 3
    with pytest.raises(EmbedderMismatch, match="static-multilingual-256-4"):
        memoryos.open(path, user="alice", settings=load_settings(embedder="hashing"))
