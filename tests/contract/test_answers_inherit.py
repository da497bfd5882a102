"""The exchange that an answer stores is as sensitive as the memories that the model was shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope
from memoryos.engine import Engine
from memoryos.errors import PermissionDenied
from memoryos.infrastructure.vault.contract import Vault
from memoryos.kinds import AccessMode
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

pytestmark = pytest.mark.once

ANN = Scope(user="ann")
CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action in [Action::"read", Action::"write"], resource)
when { resource.sensitivity.isEmpty() };
permit (principal in Role::"reader", action == Action::"read", resource);
"""


class Echo:
    """A model that repeats what it was shown."""

    asked = 0

    def answer(self, messages: Any) -> Answer:
        self.asked += 1
        return Answer(json.dumps(list(messages)), Usage(), "echo")

    def stream(self, messages: Any) -> Iterator[str]:
        yield self.answer(messages).text


@pytest.fixture
def model() -> Echo:
    return Echo()


@pytest.fixture
def store(vault: Vault, clock, tmp_path: Path, model):
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    gate = PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock)
    with MemoryOS(Engine(vault, Hashing(), chat=model, clock=clock, gate=gate)) as opened:
        yield opened


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN, Caller("ann"))


@pytest.fixture
def nurse(store) -> Memory:
    return store.of(ANN, Caller("kim", frozenset({"nurse"})))


def sensitivity_of_the_last(memory: Memory) -> tuple[str, ...]:
    memory.wait()
    return memory.pages.list()[-1].governance.sensitivity


def test_an_exchange_has_the_sensitivity_of_all_that_the_model_was_shown(ann, nurse):
    ann.add("The bees made it an allergy.", sensitivity=["diagnosis"], access="shared")
    ann.facts.add("pays for Zyloprim", sensitivity=["money"])
    ann.respond("What about the bees and Zyloprim?")
    assert sensitivity_of_the_last(ann) == ("diagnosis", "money")
    assert ann.pages.list()[-1].governance.access.mode is AccessMode.PRIVATE
    assert nurse.search("bees Zyloprim").hits == ()
    assert nurse.pages.list() == []


def test_a_stream_does_so_too(ann):
    ann.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    "".join(ann.respond_stream("What about the bees?"))
    assert sensitivity_of_the_last(ann) == ("diagnosis",)


def test_a_fact_is_as_sensitive_as_the_page_beneath_it(ann, clock):
    ann.add("My name is Quixana.", sensitivity=["diagnosis"])
    for number in range(12):
        clock.advance(hours=30)
        ann.add(f"I planted tulips in bed {number}.", f"Tulips {number} need water.")
    ann.consolidate()
    ann.wait()
    assert [field.payload.value for field in ann.profile.get().user.profile] == ["Quixana"]
    ann.respond("Hello!")
    assert sensitivity_of_the_last(ann) == ("diagnosis",)


def test_the_summary_of_a_chain_is_as_sensitive_as_its_pages(ann, clock, model):
    ann.add("Zyloprim is for my zorbitis in the garden.", sensitivity=["diagnosis"])
    for number in range(9):
        clock.advance(seconds=20)
        ann.add(f"Zyloprim and the garden bed {number}.", "The garden bed needs water. " * 60)
    ann.wait()
    ann.stats()
    answer = ann.respond("And the garden?")
    assert "zorbitis" in answer.text
    assert sensitivity_of_the_last(ann) == ("diagnosis",)


def test_what_the_model_was_not_shown_does_not_count(nurse, ann):
    ann.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    nurse.add("The tulips bloom.")
    nurse.respond("What about the bees and tulips?")
    assert sensitivity_of_the_last(nurse) == ()


def test_who_may_not_store_the_exchange_gets_no_answer(store, ann, model):
    ann.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    both = store.of(ANN, Caller("kim", frozenset({"nurse", "reader"})))
    with pytest.raises(PermissionDenied, match="may not write a page with these labels"):
        both.respond("What about the bees?")
    with pytest.raises(PermissionDenied):
        both.respond_stream("What about the bees?")
    assert model.asked == 0
    assert len(ann.pages.list()) == 1


def test_without_policies_nothing_is_asked(vault, clock, model):
    with MemoryOS(Engine(vault, Hashing(), chat=model, clock=clock)) as store:
        memory = store.of(ANN)
        memory.add("The bees made it an allergy.", sensitivity=["diagnosis"])
        memory.respond("What about the bees?")
        assert sensitivity_of_the_last(memory) == ()
