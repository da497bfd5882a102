"""The ledger: notes, and what model calls took."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from contract.back_ends import BACK_ENDS
from memoryos.infrastructure.vault.records import Spending
from memoryos.scope import Scope

ALICE = Scope(user="alice")
BOB = Scope(user="bob")
OTHERS = [BOB, Scope(user="alice", agent="other"), Scope(user="alice", tenant="other")]
DAY = date(2026, 6, 1)


@pytest.fixture
def note(vault):
    """note(key): what is noted; note(key, value): note it."""

    def call(key, *value, scope=ALICE):
        if value:
            with vault.write(scope) as writer:
                writer.write_note(key, *value)
        with vault.read(scope) as reader:
            return reader.note(key)

    return call


@pytest.fixture
def spend(vault):
    def call(calls, prompt, completion, cost=0, cached=0, *, day=DAY, purpose="facts", model="m", scope=ALICE):
        with vault.write(scope) as writer:
            writer.spend(Spending(day, purpose, model, calls, prompt, completion, cost, cached))

    return call


@pytest.fixture
def spent(vault):
    def call(since=None, *, scope=ALICE):
        with vault.read(scope) as reader:
            return reader.spending(since=since)

    return call


@pytest.fixture
def spent_by_all(vault):
    def call(day=DAY, *, scope=ALICE):
        with vault.write(scope) as writer:
            return writer.spent_by_all(day)

    return call


def test_what_was_never_noted_is_none(note):
    assert note("key") is None


def test_a_note_is_kept_replaced_and_struck_out(note):
    assert note("key", "one") == "one"
    assert note("key", "二 🍵 'quoted'; --") == "二 🍵 'quoted'; --"
    assert note("key", "") == ""
    assert note("key", None) is None
    assert note("key", None) is None


def test_notes_are_apart_by_key_and_owner(note):
    note("key", "alice's")
    note("KEY", "another")
    assert [note("key", scope=scope) for scope in OTHERS] == [None] * len(OTHERS)
    for scope in OTHERS:
        note("key", f"of {scope}", scope=scope)
    note("key", None, scope=BOB)
    assert (note("key"), note("KEY")) == ("alice's", "another")
    assert [note("key", scope=scope) for scope in OTHERS] == [None, *(f"of {scope}" for scope in OTHERS[1:])]


def test_a_session_has_no_notes_of_its_own(note):
    note("key", "value", scope=Scope(user="alice", session="monday"))
    assert note("key") == "value"


def test_a_writer_sees_its_own_note(vault):
    with vault.write(ALICE) as writer:
        writer.write_note("key", "value")
        assert writer.note("key") == "value"


def test_a_transaction_that_fails_leaves_the_ledger_as_it_was(vault, note, spend, spent):
    note("key", "before")
    spend(1, 10, 5)
    with pytest.raises(KeyboardInterrupt), vault.write(ALICE) as writer:
        writer.write_note("key", "after")
        writer.spend(Spending(DAY, "facts", "m", 1, 1, 1))
        raise KeyboardInterrupt
    assert note("key") == "before"
    assert spent() == [Spending(DAY, "facts", "m", 1, 10, 5)]


def test_nothing_was_spent_at_first(spent, spent_by_all):
    assert spent() == []
    assert spent_by_all() == (0, 0)


def test_calls_add_up_by_day_purpose_and_model_in_that_order(spend, spent):
    spend(1, 10, 5, 7, 9, model="b")
    spend(1, 20, 6, 8, 11, model="b")
    spend(2, 1, 1, model="a")
    spend(1, 3, 4, purpose="persona")
    spend(1, 9, 9, day=DAY - timedelta(days=1))
    assert spent() == [
        Spending(DAY - timedelta(days=1), "facts", "m", 1, 9, 9),
        Spending(DAY, "facts", "a", 2, 1, 1),
        Spending(DAY, "facts", "b", 2, 30, 11, 15, 20),
        Spending(DAY, "persona", "m", 1, 3, 4),
    ]


def test_spending_is_asked_for_from_a_day_on_with_that_day(spend, spent):
    days = [DAY + timedelta(days=number) for number in (-400, -1, 0, 1)]
    for day in days:
        spend(1, 1, 1, day=day)
    assert [one.day for one in spent()] == days
    assert [one.day for one in spent(DAY)] == days[2:]
    assert spent(DAY + timedelta(days=2)) == []


def test_a_correction_takes_back_what_was_not_needed(spend, spent, spent_by_all):
    spend(1, 100, 2000, 900)
    spend(0, -40, -1990, -800)
    assert spent() == [Spending(DAY, "facts", "m", 1, 60, 10, 100)]
    assert spent_by_all() == (70, 100)


def test_a_correction_that_comes_before_its_row_is_kept(spend, spent):
    spend(0, -5, -5)
    spend(1, 5, 6)
    assert spent() == [Spending(DAY, "facts", "m", 1, 0, 1)]


def test_spending_is_apart_by_owner_and_a_budget_is_the_whole_stores(spend, spent, spent_by_all):
    spend(1, 10, 1, 3)
    for scope in OTHERS:
        spend(1, 100, 10, 30, scope=scope)
    spend(1, 7, 7, 7, day=DAY + timedelta(days=1), scope=BOB)
    assert [one.prompt_tokens for one in spent()] == [10]
    assert [one.prompt_tokens for one in spent(scope=OTHERS[2])] == [100]
    for scope in (ALICE, *OTHERS):
        assert spent_by_all(scope=scope) == (11 + 110 * len(OTHERS), 3 + 30 * len(OTHERS))
    assert spent_by_all(DAY + timedelta(days=1)) == (14, 7)
    assert spent_by_all(DAY - timedelta(days=1)) == (0, 0)


def test_a_writer_sees_what_it_spent_itself(vault):
    with vault.write(ALICE) as writer:
        writer.spend(Spending(DAY, "facts", "m", 1, 2, 3, 4))
        assert writer.spent_by_all(DAY) == (5, 4)
        assert [one.calls for one in writer.spending()] == [1]


def test_large_amounts_are_exact(spend, spent):
    for _ in range(3):
        spend(1, 10**15 + 1, 10**12, 10**17 + 1)
    assert spent() == [Spending(DAY, "facts", "m", 3, 3 * 10**15 + 3, 3 * 10**12, 3 * 10**17 + 3)]


def test_a_ledger_outlives_its_process(vault, back_end, tmp_path, clock, note, spend):
    note("key", "value")
    spend(1, 10, 5, 2)
    vault.close()
    again = BACK_ENDS[back_end](tmp_path, clock)
    try:
        with again.read(ALICE) as reader:
            assert reader.note("key") == "value"
            assert reader.spending() == [Spending(DAY, "facts", "m", 1, 10, 5, 2)]
    finally:
        again.close()
