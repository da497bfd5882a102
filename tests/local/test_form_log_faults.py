"""What is logged of KV and adapters is written with what was done: between two transactions, anything may happen."""

from __future__ import annotations

from contextlib import contextmanager
from threading import get_ident

import pytest

import memoryos
from memoryos import MemoryForm, load_settings
from memoryos.models.hashing import Hashing

QUESTION = "When does the zanzibar ferry leave?"
TEXT, KV = MemoryForm.TEXT, MemoryForm.KV


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def memory(tmp_path, tiny_long, clock):
    settings = load_settings(
        llm_model=f"local:{tiny_long}", llm_max_tokens=16, local_threads=1, prompt_tokens=256, context_tokens=64
    )
    with memoryos.open(tmp_path / "m.db", user="ann", settings=settings, embedder=Hashing(), clock=clock) as memory:
        yield memory


@contextmanager
def after_write(memory, monkeypatch, number, does):
    """Do something after that transaction of the user's in this thread, counted from 0; yields those counted."""
    vault, thread = type(memory._engine.vault), get_ident()
    real, counted = vault.write, []

    @contextmanager
    def write(self, scope):
        with real(self, scope) as writer:
            yield writer
        if scope.owner == memory.scope.owner and get_ident() == thread:
            counted.append(1)
            if len(counted) == number + 1:
                does()

    with monkeypatch.context() as patch:
        patch.setattr(vault, "write", write)
        yield counted


def kill():
    raise Killed


def killed_in_each(memory, monkeypatch, act, check, most=8):
    """Kill an act after each of its transactions in turn until it ends; `check` looks each time."""
    for number in range(most):
        try:
            with after_write(memory, monkeypatch, number, kill):
                act()
        except Killed:
            check()
            continue
        return check()
    return pytest.fail("it does not end")


def note(memory):
    with memory._engine.vault.read(memory.scope.owner) as reader:
        return reader.note("placement_forms")


def ordered(memory):
    """The prefixes, and the names whose KV was ordered, by the log."""
    forms = memory.schedule.explain(QUESTION).forms
    return [one.name for one in memory.activations.list()], [one.name for one in forms if one.after is KV]


def test_killed_anywhere_what_is_logged_was_ordered(memory, monkeypatch):
    memory.add("The zanzibar ferry leaves at nine.")
    memory.schedule.decide(QUESTION)

    def check():
        there, told = ordered(memory)
        assert there == told
        left = [one.name for one in memory.schedule.explain(QUESTION).unchanged if one.before is TEXT]
        assert left != told, "what was ordered is not told as left, and nothing is told of neither"

    killed_in_each(memory, monkeypatch, lambda: memory.schedule.decide(QUESTION), check)
    assert ordered(memory) == (["scheduler"], ["scheduler"])


def built(memory):
    memory.add("The zanzibar ferry leaves at nine.")
    memory.schedule.decide(QUESTION)
    memory.schedule.decide(QUESTION)
    memory.jobs.run()
    assert [one.name for one in memory.activations.list()] == ["scheduler"]


def test_killed_anywhere_what_was_removed_is_logged(memory, clock, monkeypatch):
    built(memory)
    clock.advance(days=15)

    def check():
        removed = [one for one in memory.schedule.explain(QUESTION).forms if one.after is TEXT]
        assert len(removed) == 1 - len(memory.activations.list())

    killed_in_each(memory, monkeypatch, lambda: memory.schedule.decide("Hello!", tokens=0), check)
    assert memory.activations.list() == []


def test_what_is_forgotten_while_it_is_removed_leaves_no_log(memory, clock, monkeypatch):
    for act in (lambda: memory.schedule.decide("Hello!", tokens=0), memory.forms.cool):
        for number in range(4):
            built(memory)
            clock.advance(days=15)
            with after_write(memory, monkeypatch, number, memory.forget) as counted:
                act()
            assert counted[number:] == [] or note(memory) is None
            memory.forget()


def test_a_removal_that_was_ordered_is_logged_once_until_it_is_due_anew(memory, clock):
    page = memory.add("The user is ill. " * 4)

    def cooled_twice():
        memory.activations.build("all", kinds=[], ids=[page])
        memory.jobs.run()
        clock.advance(days=15)
        memory.forms.cool()
        clock.advance(seconds=1)
        memory.forms.cool()
        memory.jobs.run()
        return [one.name for one in memory.schedule.explain(QUESTION).forms]

    assert cooled_twice() == ["all"]
    assert cooled_twice() == ["all", "all"]


def test_what_is_frozen_is_neither_due_nor_logged_as_removed(memory, clock):
    page = memory.add("The user is ill. " * 4)
    memory.activations.build("all", kinds=[], ids=[page])
    memory.jobs.run()
    clock.advance(days=15)
    memory.governance.freeze(memory.activations.get("all").id)
    assert list(memory.schedule.moves()) == list(memory.forms.cool()) == []
    memory.jobs.run()
    assert memory.activations.get("all").is_usable
    assert memory.schedule.explain(QUESTION).forms == ()
