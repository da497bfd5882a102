"""The disk of the server is full: a real one, with the database on it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from psycopg import sql

import memoryos
from contract import server
from durability.filling import assert_goes_on, assert_whole, fill_up, occupy, story
from durability.mounts import small_disk
from memoryos import load_settings
from memoryos.errors import StoreFull
from memoryos.models.hashing import Hashing

MEGABYTE = 1 << 20


@pytest.fixture
def disk():
    """A small file system that the server may write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    with server.administrator() as connection:
        (data,) = connection.execute("SHOW data_directory").fetchone()
    with small_disk(folder / "disk", kilobytes=200_000) as place:
        space = place / "space"
        space.mkdir()
        os.chown(space, Path(data).stat().st_uid, -1)
        yield place
    shutil.rmtree(folder)


@pytest.fixture
def url(disk):
    """A database on it."""
    name = f"full_{os.getpid()}"
    names = [sql.Identifier(part) for part in (name, server.ROLE, name)]
    with server.administrator() as connection:
        connection.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(names[0], str(disk / "space")))
        made = sql.SQL("CREATE DATABASE {} OWNER {} TABLESPACE {} TEMPLATE template0").format(*names)
        connection.execute(made)
        yield server.url_of(name)
        connection.execute(sql.SQL("DROP DATABASE {}").format(names[0]))
        connection.execute(sql.SQL("DROP TABLESPACE {}").format(names[0]))


def test_a_server_whose_disk_is_full(url, disk, clock):
    place, knobs = url.render_as_string(), load_settings(short_term_capacity=1)
    with memoryos.open(place, user="tom", settings=knobs, embedder=Hashing(), clock=clock) as memory:
        ballast, reserve = disk / "ballast", disk / "reserve"
        reserve.write_bytes(bytes(2 * MEGABYTE))
        occupy(ballast)
        reserve.unlink()
        pages, error = fill_up(memory)
        assert type(error) is StoreFull
        assert len(pages) >= 3
        with pytest.raises(StoreFull, match="free some space"):
            memory.add(story(0, words=8_000))
        assert memory.search("Story 1").hits
        assert_whole(memory, pages)
        ballast.unlink()
        assert_goes_on(memory, pages)
