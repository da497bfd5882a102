"""A store that is opened to be read is read, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import forked
import memoryos
from contract import server
from memoryos import Scope, load_settings
from memoryos.clock import system_clock
from memoryos.errors import StorageError, StoreReadOnly
from memoryos.infrastructure.vault.place import open_vault
from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
from memoryos.infrastructure.vault.records import Operation
from memoryos.models.hashing import Hashing

ANN = Scope(user="ann")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return tmp_path / "memory.db" if request.param == "sqlite" else server.store_of(tmp_path)


def opened(place, **options):
    return open_vault(place, embedder=Hashing.name, clock=system_clock, busy_timeout_seconds=5, **options)


def test_it_is_read_and_not_written(place, entry):
    first = entry("Bees.", scope=ANN)
    writing = opened(place)
    with writing.write(ANN) as writer:
        writer.insert([first])
    reading = opened(place, is_only_read=True)
    with reading.read(ANN) as reader:
        assert list(reader.get([first.cube.id])) == [first.cube.id]
    with pytest.raises(StoreReadOnly), reading.write(ANN) as writer:
        writer.update([first], Operation.REFRESH)
    with pytest.raises(StoreReadOnly), reading.write(ANN) as writer:
        writer.write_note("a", "b")
    second = entry("Honey.", scope=ANN)
    with writing.write(ANN) as writer:
        writer.insert([second])
    with reading.read(ANN) as reader:  # and it sees what others write
        assert set(reader.get([second.cube.id])) == {second.cube.id}
    reading.close()
    writing.close()


def test_it_is_not_brought_up_to_date(place):
    vault = opened(place)
    with vault.change() as connection:
        present = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0005'")
    with pytest.raises(StoreReadOnly, match="has an older schema"):
        opened(place, is_only_read=True)
    with vault.change() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{present}'")
    vault.close()


def test_it_is_not_made(tmp_path):
    with pytest.raises(ValueError, match=r"lost\.db does not exist"):
        opened(tmp_path / "lost.db", is_only_read=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreReadOnly):
        PostgresVault(
            "empty",
            server.new_database(),
            embedder=Hashing.name,
            clock=system_clock,
            busy_timeout_seconds=5,
            is_only_read=True,
        )


def test_a_scope_with_a_candidate_index_is_searched_though_that_cannot_be_followed(tmp_path):
    url = server.store_of(tmp_path).render_as_string(hide_password=False)
    settings = load_settings(embedder="hashing")
    with memoryos.open(url, user="ann", settings=settings) as memory:
        memory.add("The bees swarmed in May.")
        assert memory.upkeep.index()
        with memoryos.open(url, user="ann", settings=settings, read_only=True) as reader:
            assert "swarmed" in reader.search("bees").hits[0].text
            memory.add("The honey is ripe.")
            assert "honey" in reader.search("Is the honey ripe?").hits[0].text


AS_NOBODY = """
import os, sys
import memoryos
from memoryos import load_settings
settings = load_settings(embedder="hashing")
with memoryos.open(sys.argv[2], user="ann", settings=settings) as memory:
    memory.add("All that is imported late is imported now.")
    memory.search("bees")
os.setuid(65534)
with memoryos.open(sys.argv[1], user="ann", settings=settings, read_only=True) as memory:
    print(memory.search("bees").hits[0].text)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_who_may_not_write_the_file_leaves_nothing_beside_it(tmp_path):
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        path = Path(folder) / "memory.db"
        settings = load_settings(embedder="hashing")
        with memoryos.open(path, user="ann", settings=settings) as memory:
            memory.add("The bees swarmed in May.")
        path.chmod(0o644)
        command = [forked.executable(), "-c", AS_NOBODY, str(path), str(tmp_path / "first.db")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert "swarmed" in done.stdout, done.stderr
        assert [file.name for file in Path(folder).iterdir()] == ["memory.db"]
        with memoryos.open(path, user="ann", settings=settings) as memory:
            memory.add("The honey is ripe.")


def test_a_reader_leaves_nothing_beside_a_closed_file(tmp_path):
    path, settings = tmp_path / "memory.db", load_settings(embedder="hashing")
    with memoryos.open(path, user="ann", settings=settings) as memory:
        memory.add("The bees swarmed in May.")
    before = path.read_bytes()
    with memoryos.open(path, user="ann", settings=settings, read_only=True) as reader:
        assert reader.search("bees").hits
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_a_file_that_may_not_be_read_is_not_said_to_be_read_only():
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path, settings = Path(folder) / "memory.db", load_settings(embedder="hashing")
        memoryos.open(path, user="ann", settings=settings).close()
        os.seteuid(65534)
        try:
            with pytest.raises(StorageError, match=r"memory\.db: the file cannot be read: check its perm") as raised:
                memoryos.open(path, user="ann", settings=settings)
        finally:
            os.seteuid(0)
        assert not isinstance(raised.value, StoreReadOnly)
