"""The shipped pipeline `respond`: what `memory.respond` does, with the exchange stored in a transaction of its own."""

from __future__ import annotations

import pytest

import memoryos
from memoryos import RunOutcome, load_settings
from memoryos.errors import InvalidInput, ModelError, ModelNotConfigured, NotFound
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


OWN = """
name: respond
parameters: {query: text, role: {type: text, default: a clerk}}
steps:
  - retrieve: {kinds: [page], most: 1, AT_LEAST}
  - augment: {form: prompt, role: "{role}"}
  - generate: {}
  - add: {query: "{query}", response: "{answer}", tags: [answers]}
"""


@pytest.fixture
def own(tmp_path, settings):
    """A memory of tom, whose folder of pipelines has a `respond`; and a function that writes its file."""
    folder = tmp_path / "pipelines"
    folder.mkdir()
    changed = settings.model_copy(update={"pipelines": folder})

    def write(text):
        (folder / "respond.yaml").write_text(text)

    write(OWN.replace("AT_LEAST", "at_least: 0"))
    with memoryos.open(tmp_path / "own.db", user="tom", settings=changed) as memory:
        yield memory, write


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda memory, query: memory.respond(query).text, id="respond"),
        pytest.param(lambda memory, query: "".join(memory.respond_stream(query)), id="respond_stream"),
    ],
)
def test_respond_runs_the_pipeline_of_that_name(own, model, ask):
    memory, _ = own
    told(memory)
    model.will(says("Aurora."))
    assert ask(memory, "What is my boat called?") == "Aurora."
    memory.wait()
    assert [(page.tags, page.text) for page in memory.pages.list()] == [
        ((), "user: My boat is called Aurora.\nassistant: A fine name."),
        (("answers",), "user: What is my boat called?\nassistant: Aurora."),
    ]
    assert "You are a helpful assistant." in model.requests[0]["messages"][0]["content"]


def test_what_is_wrong_with_an_own_respond_is_told_before_a_model_is_asked(own, model):
    memory, write = own
    told(memory)
    write(OWN.replace("AT_LEAST", "at_least: 1, session: none-such"))
    with pytest.raises(NotFound, match=r"^respond, step 1 \(retrieve\): fewer memories were found"):
        memory.respond("What is my boat called?")
    write("name: respond\nparameters: {query: text}\nsteps: [{retrieve: {}}, {add: {query: '{query}'}}]")
    with pytest.raises(InvalidInput, match="pipeline respond with other steps than retrieve, augment, generate, add"):
        memory.respond_stream("What is my boat called?")
    write(OWN.replace("AT_LEAST", "at_least: 0").replace("  - add:", "  - expire: {}\n  - add:"))
    with pytest.raises(InvalidInput, match="Write these, in this order"):
        memory.respond("What is my boat called?")
    write("steps: []")
    with pytest.raises(InvalidInput, match=r"respond.yaml: name: is missing"):
        memory.respond("What is my boat called?")
    assert not model.requests
    assert len(memory.pages.list()) == 1


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
