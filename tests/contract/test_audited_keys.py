"""The audit log has the uses of invalid keys, without the keys, and few entries however many there are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from memoryos import Caller, MemoryOS, load_settings
from memoryos.caller import NAME_LIMIT
from memoryos.errors import PermissionDenied, StorageError
from memoryos.infrastructure.vault.audit_entry import AuditEntry
from memoryos.models.hashing import Hashing
from memoryos.operation.calls.audit_trail import AuditTrail
from memoryos.operation.calls.invalid_keys import INVALID, MOST_SOURCES

pytestmark = pytest.mark.memory


@pytest.fixture
def opened(place, clock) -> Iterator:
    with ExitStack() as stack:

        def call() -> MemoryOS:
            settings = load_settings(embedder="hashing", audit=True)
            return stack.enter_context(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock))

        yield call


@pytest.fixture
def store(opened) -> MemoryOS:
    return opened()


def uses(store: MemoryOS) -> list[tuple[str | None, str | None]]:
    """The address and the number of each entry about invalid keys."""
    found = [one for one in store.audit.list() if one.context.get("key") == INVALID]
    assert all(_is_refusal(one) for one in found)
    return [(one.context.get("network"), one.context.get("times")) for one in found]


def _is_refusal(one: AuditEntry) -> bool:
    told = one.scope, one.operation, one.decision.value, one.reason, one.cubes
    return told == (None, "keys.caller", "refused", "PermissionDenied", ())


def use(store: MemoryOS, key: str, network: str | None = None) -> None:
    with pytest.raises(PermissionDenied, match="the key is not valid"):
        store.keys.caller(key, network=network)


def test_each_invalid_key_is_noted_without_the_key(store, clock):
    revoked, ended = store.keys.create("lee"), store.keys.create("kim", ttl=60)
    store.keys.revoke(revoked.info.id)
    clock.advance(seconds=61)
    altered = store.keys.create("ben").key[:-1] + "~"
    for number, key in enumerate((revoked.key, ended.key, altered, "", "nonsense")):
        use(store, key, f"10.0.0.{number}")
        clock.advance(minutes=1)
    assert uses(store) == [(f"10.0.0.{number}", None) for number in range(5)]
    told = json.dumps([one.to_dict() for one in store.audit.list() if one.caller == "unknown"])
    for key in (revoked, ended):
        assert key.key not in told and key.info.id not in told
    assert store.audit.verify().is_sound


def test_info_and_a_store_that_is_opened_with_it_are_noted(store, place, clock):
    with pytest.raises(PermissionDenied):
        store.keys.info("nonsense")
    assert uses(store) == [(None, None)]
    clock.advance(minutes=1)
    with pytest.raises(PermissionDenied):
        MemoryOS.open(
            place, settings=load_settings(embedder="hashing", audit=True), embedder=Hashing(), clock=clock, key="no"
        )
    assert uses(store) == [(None, None)] * 2


def test_further_uses_of_a_minute_are_counted(store, clock):
    for _ in range(50):
        use(store, "nonsense", "10.0.0.1")
    use(store, "nonsense", "10.0.0.2")
    assert uses(store) == [("10.0.0.1", None), ("10.0.0.2", None)]
    clock.advance(minutes=1)
    assert uses(store) == [("10.0.0.1", None), ("10.0.0.2", None), ("10.0.0.1", "49")]
    use(store, "nonsense", "10.0.0.2")
    use(store, "nonsense", "10.0.0.2")
    clock.advance(minutes=2)
    use(store, "nonsense")
    assert uses(store)[3:] == [("10.0.0.2", None), ("10.0.0.2", "1"), (None, None)]


def test_who_comes_from_many_addresses_fills_nothing(store, clock):
    for number in range(200):
        use(store, "nonsense", f"10.0.0.{number}")
    clock.advance(minutes=1)
    found = uses(store)
    assert len(found) == MOST_SOURCES + 2
    assert found[MOST_SOURCES:] == [("other addresses", None), ("other addresses", str(200 - MOST_SOURCES - 1))]


def test_the_windows_of_an_attack_get_longer_up_to_an_hour(store, clock):
    """What it writes in a day, and then, after a pause, how soon its uses are told again."""
    for _ in range(24 * 60):
        use(store, "nonsense", "10.0.0.1")
        use(store, "nonsense", "10.0.0.1")
        clock.advance(minutes=1)
    found = uses(store)
    assert 2 * 24 <= len(found) <= 2 * (24 + 6)  # the first six windows take the first hour
    assert sum(int(times or 1) for _, times in found) > 2 * 23 * 60
    clock.advance(hours=2)
    assert uses(store)
    use(store, "nonsense", "10.0.0.2")
    use(store, "nonsense", "10.0.0.2")
    clock.advance(minutes=1)
    assert uses(store)[-2:] == [("10.0.0.2", None), ("10.0.0.2", "1")]


def test_what_was_counted_is_written_when_the_store_is_closed(opened):
    first, second = opened(), opened()
    for _ in range(3):
        use(first, "nonsense", "10.0.0.1")
    first.close()
    assert uses(second) == [("10.0.0.1", None), ("10.0.0.1", "2")]


def test_an_invalid_key_is_refused_whatever_else_is_wrong(store, clock, monkeypatch):
    for network in ("", "n" * (NAME_LIMIT + 1), "a\0b"):
        use(store, "nonsense", network)
    assert uses(store) == []

    def full(trail: AuditTrail) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(AuditTrail, "flush", full)
    monkeypatch.setattr("memoryos.operation.calls.audit_trail.MOST_WAITING", 0)
    use(store, "nonsense", "10.0.0.1")
    monkeypatch.undo()


def test_a_caller_of_that_name_is_told_from_an_invalid_key(store):
    """Whoever may make keys can name one so."""
    key = store.keys.create("unknown", purposes=["support"]).key
    with pytest.raises(PermissionDenied, match="purpose"):
        store.keys.caller(key, purpose="marketing")
    use(store, "nonsense")
    refused, invalid = (one for one in store.audit.list() if one.operation == "keys.caller")
    assert refused.caller == invalid.caller == "unknown"
    assert "key" not in refused.context
    assert invalid.context == {"key": INVALID}


def test_a_valid_key_and_a_store_without_a_log_note_nothing(store, place, clock):
    made = store.keys.create("lee")
    assert isinstance(store.keys.caller(made.key), Caller)
    with MemoryOS.open(place, settings=load_settings(embedder="hashing"), embedder=Hashing(), clock=clock) as other:
        use(other, "nonsense")
    assert uses(store) == []


WITHOUT_CLOSE = """
import sqlite3, sys, time
from contextlib import closing
from memoryos import MemoryOS, load_settings
from memoryos.errors import PermissionDenied

def is_noted():
    with closing(sqlite3.connect(sys.argv[1])) as file:
        return file.execute("select count(*) from audit where operation = 'keys.caller'").fetchone() == (1,)

store = MemoryOS.open(sys.argv[1], settings=load_settings(embedder="hashing", audit=True))
for number in range(4):
    try:
        store.keys.caller("nonsense")
    except PermissionDenied:
        while not is_noted():  # the first one is written, and nothing waits
            time.sleep(0.01)
"""


@pytest.mark.file
def test_what_was_counted_is_written_when_the_program_ends_without_closing(place, opened):
    subprocess.run([sys.executable, "-c", WITHOUT_CLOSE, str(place)], check=True, timeout=60)
    assert uses(opened()) == [(None, None), (None, "3")]
