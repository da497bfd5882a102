from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memoryos
from contract import server
from contract.back_ends import BACK_ENDS
from contract.clouds import Azure, Cloud, Google
from contract.objects import CloudBucket, LocalFolder
from contract.s3 import S3
from memoryos.config import load_settings
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry
from memoryos.models.hashing import Hashing
from memoryos.scope import Scope

ALICE = Scope(user="alice")

Store = Callable[..., Entry]


@pytest.fixture
def vault(back_end: str, tmp_path: Path, clock) -> Iterator[Vault]:
    opened = BACK_ENDS[back_end](tmp_path, clock)
    yield opened
    opened.close()
    if back_end == "postgres":
        server.give_back(tmp_path)


@pytest.fixture
def store(vault: Vault, entry) -> Store:
    """store(text, ...): insert one page, in a transaction of its own; returns its entry."""

    def insert(text: str = "hello", **fields: object) -> Entry:
        made = entry(text, **fields)
        with vault.write(made.cube.scope) as writer:
            writer.insert([made])
        return made

    return insert


@pytest.fixture
def open_memory(place, clock):
    opened = []

    def call(user="tom", tenant="default", embedder=None, **settings):
        knobs, model = load_settings(short_term_capacity=3, **settings), embedder or Hashing()
        opened.append(memoryos.open(place, user=user, tenant=tenant, settings=knobs, embedder=model, clock=clock))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory) -> Iterator[S3]:
    yield from running(S3(tmp_path_factory.mktemp("s3")))


@pytest.fixture(scope="session")
def gs_server(tmp_path_factory) -> Iterator[Cloud]:
    yield from running(Cloud(tmp_path_factory.mktemp("gs"), Google))


@pytest.fixture(scope="session")
def az_server(tmp_path_factory) -> Iterator[Cloud]:
    yield from running(Cloud(tmp_path_factory.mktemp("az"), Azure))


def running(server):
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def objects(request, tmp_path, monkeypatch) -> LocalFolder | CloudBucket:
    """Where an object store is, of each kind."""
    if request.param == "folder":
        return LocalFolder(tmp_path)
    server = request.getfixturevalue(f"{request.param}_server")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return CloudBucket(server, tmp_path.name)
