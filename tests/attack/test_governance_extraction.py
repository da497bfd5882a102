"""A model that extracts facts is not shown what would give words of a hidden memory to those who may not read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryos import Caller, MemoryOS, Scope, load_settings
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing

pytestmark = pytest.mark.once

ANN, OWNER, NURSE = Scope(user="ann"), Caller("ann"), Caller("nurse-kim", frozenset({"nurse"}))
POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action, resource is Cube)
when { resource.sensitivity.isEmpty() && !resource.tags.contains("sealed") };
"""
PUBLIC, HIDDEN = "I take it every day at noon.", "The insulin is for my diabetes."


class Mixing:
    """A model that puts words of one page into a fact that rests on another, if it is shown both."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def answer(self, messages: Any) -> Answer:
        text = json.dumps([dict(one) if isinstance(one, dict) else vars(one) for one in messages], default=str)
        self.shown.append(text)
        facts = [{"page": 1, "quote": "I take it every day at noon", "fact": "takes insulin every day at noon"}]
        told = {"facts": facts if "insulin" in text and "at noon" in text else [], "profile": [], "traits": []}
        return Answer(json.dumps({**told, "topics": [], "verdicts": []}), Usage(), "mixing")

    def stream(self, messages: Any) -> Iterator[str]:
        yield self.answer(messages).text

    @property
    def together(self) -> list[str]:
        return [one for one in self.shown if "insulin" in one and "at noon" in one and "Update" not in one]


def told_to(folder: Path, *, governed: bool, **labels: Any) -> tuple[Mixing, MemoryOS]:
    """A store whose model reads a page that everybody may read beside one that has these labels."""
    (folder / "all.cedar").write_text(POLICIES)
    settings = load_settings(
        embedder="hashing", extractor="model", short_term_capacity=1, policies=str(folder) if governed else None
    )
    model = Mixing()
    store = MemoryOS.open(folder / "memory.db", settings=settings, embedder=Hashing(), chat=model)
    ann = store.of(ANN, OWNER)
    ann.add(PUBLIC, "I see.")
    ann.add(HIDDEN, "Noted.", **labels)
    ann.consolidate()
    ann.wait()
    return model, store


@pytest.mark.parametrize("labels", [{"sensitivity": ["diagnosis"]}, {"tags": ["sealed"]}], ids=["sensitivity", "tags"])
def test_pages_that_not_everybody_may_read_are_read_apart(tmp_path, labels):
    model, store = told_to(tmp_path, governed=True, **labels)
    with store:
        assert any("insulin" in one for one in model.shown)
        assert any("at noon" in one for one in model.shown)
        assert model.together == []
        for caller in (OWNER, NURSE):
            assert "insulin" not in " ".join(fact.text for fact in store.of(ANN, caller).facts.list())


def test_without_policies_they_are_read_together(tmp_path):
    model, store = told_to(tmp_path, governed=False, tags=["sealed"])
    with store:
        assert model.together, "which costs no call more than before"


def test_what_a_caller_states_is_compared_with_nothing_that_is_hidden_from_it(tmp_path):
    model, store = told_to(tmp_path, governed=True, sensitivity=["diagnosis"])
    with store:
        store.of(ANN, OWNER).facts.add("takes insulin for diabetes at night", sensitivity=["diagnosis"])
        store.of(ANN, OWNER).facts.add("takes aspirin for headaches at night")
        model.shown.clear()
        store.of(ANN, NURSE).facts.add("takes ibuprofen for headaches at night")
        store.wait()
        assert not [one for one in model.shown if "insulin" in one]
