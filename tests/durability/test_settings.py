"""What makes a commit durable is set on every connection to the file."""

from __future__ import annotations

import pytest

from memoryos.infrastructure.vault.patience import in_one_call, patience
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.scope import Scope

FULL = 2


@pytest.mark.parametrize("session", ["read", "write"])
def test_each_commit_is_flushed_to_the_disk(tmp_path, clock, session):
    vault = SqliteVault(tmp_path / "memory.db", embedder="hashing", clock=clock, busy_timeout_seconds=1)
    with getattr(vault, session)(Scope(user="alice")) as opened:
        ask = lambda name: opened._connection.exec_driver_sql(f"PRAGMA {name}").scalar()  # noqa: E731
        found = {name: ask(name) for name in ("journal_mode", "synchronous", "fullfsync", "foreign_keys")}
    vault.close()
    assert found == {"journal_mode": "wal", "synchronous": FULL, "fullfsync": 1, "foreign_keys": 1}


def test_each_session_waits_as_long_as_its_call_still_may(tmp_path, clock):
    vault = SqliteVault(tmp_path / "memory.db", embedder="hashing", clock=clock, busy_timeout_seconds=1)

    def waits_ms() -> int:
        with vault.read(Scope(user="alice")) as reader:  # all sessions share a connection
            return reader._connection.exec_driver_sql("PRAGMA busy_timeout").scalar()

    def late() -> int:
        patience(1).spend(0.4)
        return waits_ms()

    found = [waits_ms(), in_one_call(late), waits_ms(), waits_ms()]
    vault.close()
    assert found == [1000, 600, 1000, 1000]
