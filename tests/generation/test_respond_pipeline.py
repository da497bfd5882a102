"""The shipped pipeline `respond`: what `memory.respond` does, with the exchange stored in a transaction of its own."""

from __future__ import annotations

import pytest

import memoryos
from memoryos import RunOutcome, load_settings
from memoryos.errors import ModelError, ModelNotConfigured
from memoryos.operation.pipelines.pipeline_file import TEMPLATES, read_pipeline

from .scripted_model import Reply, says


def told(memory):
    memory.profile.set("name", "Atlas")
    memory.add("My boat is called Aurora.", "A fine name.", at="2026-05-01")
    memory.wait()


def test_it_asks_and_stores_as_respond_does(memory, model, tmp_path, settings):
    with memoryos.open(tmp_path / "other.db", user="tom", settings=settings) as other:
        told(memory)
        told(other)
        model.will(says("Aurora."), says("Aurora."))
        by_method = memory.respond("What is my boat called?", role="a sailor")
        run = other.pipelines.run("respond", {"role": "a sailor"}, query="What is my boat called?")
        memory.wait()
        first, second = (request["messages"] for request in model.requests)
        assert len(first) == len(second)
        assert [one["content"].partition("Now it is")[0] for one in first] == [
            one["content"].partition("Now it is")[0] for one in second
        ]
        assert run.outcome is RunOutcome.COMMITTED
        assert (run.answer.text, run.answer.usage) == (by_method.text, by_method.usage)
        assert run.answer.mark.sources
        assert [page.text for page in other.pages.list()] == [page.text for page in memory.pages.list()]
        assert [one.characters for one in run.steps][2] == len("Aurora.")
        (usage,) = other.log.usage()
        assert usage.calls == 1


def test_a_model_that_fails_leaves_nothing_and_its_step_is_named(memory, model):
    told(memory)
    model.will(Reply(status=401))
    with pytest.raises(ModelError, match=r"^answer-and-remember, step 3 \(generate\): "):
        memory.pipelines.run("answer-and-remember", query="What is my boat called?")
    memory.wait()
    assert [(page.version.number, page.tags) for page in memory.pages.list()] == [(1, ())]


def test_an_answer_is_remembered_with_tags(memory, model):
    told(memory)
    model.will(says("Aurora."))
    memory.pipelines.run("answer-and-remember", {"query": "What is my boat called?", "tags": ["boats"]})
    assert [page.tags for page in memory.pages.list()] == [("boats",), ("boats",)]


@pytest.mark.once
def test_without_a_model_nothing_is_done(tmp_path):
    with (
        memoryos.open(tmp_path / "memory.db", user="tom", settings=load_settings(embedder="hashing")) as memory,
        pytest.raises(ModelNotConfigured, match=r"respond, step 3 \(generate\)"),
    ):
        memory.pipelines.run("respond", query="What is my boat called?")


@pytest.mark.once
def test_our_templates_are_sound():
    found = [read_pipeline(path) for path in sorted(TEMPLATES.iterdir())]
    assert [one.name for one in found] == ["answer-and-remember", "respond", "tidy-old"]
    assert all(one.description for one in found)
