"""`respond` with the loaded adapters of an owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

import memoryos
from local.lessons import FACT, NAME, Opened, add, teach, teach_bytes, teach_files
from memoryos import Settings
from memoryos.errors import ModelNotConfigured
from memoryos.kinds import Role
from memoryos.models.local.weighted_adapter import CONFIG, WEIGHTS
from memoryos.operation.training.adapter_pack import ABOUT, packed

QUESTION = "Where am I living?"


@pytest.fixture
def adapted(tmp_path, tiny_long, clock) -> Iterator[Opened]:
    """Open memories whose answers have adapters."""
    with ExitStack() as stores:

        def opens(**others) -> memoryos.Memory:
            known = {
                "llm_model": f"local:{tiny_long}",
                "llm_max_tokens": 8,
                "embedder": "hashing",
                "prompt_tokens": 400,
            }
            settings = Settings(**{**known, "answer_adapters": True, **others.pop("told", {})})
            return stores.enter_context(
                memoryos.open(tmp_path / "m.db", user="alice", settings=settings, clock=clock, **others)
            )

        yield opens


def test_an_answer_has_the_loaded_adapters_and_names_them(adapted, learned):
    memory = adapted()
    fact = add(memory)
    teach(memory, learned, [fact])
    plain = memory.respond(QUESTION)
    assert (plain.adapters, plain.adapters_left_out) == ((), ())  # nothing is loaded
    memory.adapters.load(NAME)
    told = memory.respond(QUESTION)
    assert (told.adapters, told.adapters_left_out) == ((NAME,), ())
    assert told.text != plain.text
    stream = memory.respond_stream(QUESTION)
    assert "".join(stream).strip()
    assert stream.answer
    assert stream.answer.adapters == (NAME,)
    memory.wait()
    said = [turn.words for page in memory.pages.list() for turn in page.payload.turns if turn.role is Role.ASSISTANT]
    assert told.text in said
    memory.delete(fact)  # the adapter goes with what it learned
    after = memory.respond(QUESTION)
    assert after.adapters == ()
    assert after.adapters_left_out == (
        f"{NAME}: no version of the adapter {NAME!r} can be used: see `memoryos adapters list`",
    )


def test_without_the_setting_no_adapter_answers(adapted, learned):
    memory = adapted(told={"answer_adapters": False})
    teach(memory, learned, [add(memory)])
    memory.adapters.load(NAME)
    assert memory.respond(QUESTION).adapters == ()


def with_first(folder: Path, change) -> dict[str, bytes]:
    """The weights with the first matrix changed."""
    tensors = load((folder / WEIGHTS).read_bytes())
    name = next(iter(tensors))
    return {WEIGHTS: save({**tensors, name: change(tensors[name])})}


def test_an_adapter_that_cannot_be_used_is_left_out_and_the_answer_says_why(adapted, learned, tmp_path):
    memory = adapted()
    facts = [add(memory)]
    config = json.loads((learned / CONFIG).read_bytes())
    files = {
        "altered": {ABOUT: b"1"},
        "missing": {ABOUT: b"2"},
        "no scale": {CONFIG: json.dumps({**config, "r": 0}).encode()},
        "no config": {CONFIG: b"{"},
        "cut": {WEIGHTS: (learned / WEIGHTS).read_bytes()[:-9]},
        "empty": {WEIGHTS: save({})},
        "size": with_first(learned, lambda one: one[:, :-1].copy()),
        "nan": with_first(learned, lambda one: np.full_like(one, np.nan)),
        "layer": {WEIGHTS: (learned / WEIGHTS).read_bytes().replace(b"layers.1.", b"layers.9.")},
    }
    ids = {name: teach_files(memory, learned, changed, facts, name) for name, changed in files.items()}
    ids["no archive"] = teach_bytes(memory, b"no archive", facts, "no archive")
    ids["half"] = teach_bytes(memory, packed({CONFIG: b"{}"}), facts, "half")
    ids[NAME] = teach(memory, learned, facts)
    for name in ids:
        memory.adapters.load(name)
    blob = {name: memory.get(one).payload.blob.sha256 for name, one in ids.items()}
    for file in (tmp_path / "m.db.objects").iterdir():
        if blob["altered"] in file.name:
            file.write_bytes(b"x")
        elif blob["missing"] in file.name:
            file.unlink()
    reasons = {
        "altered": "was altered",
        "missing": "is missing",
        "no archive": "are damaged",
        "half": "are damaged",
        **dict.fromkeys(("no scale", "no config", "cut", "empty", "size", "nan", "layer"), "does not fit the model"),
    }
    stream = memory.respond_stream(QUESTION)
    assert "".join(stream)
    run = memory.pipelines.run("respond", query=QUESTION)
    for answer in (memory.respond(QUESTION), stream.answer, run.answer):
        left_out = dict(one.split(": ", 1) for one in answer.adapters_left_out)
        assert {name: told for name, told in left_out.items() if reasons[name] not in told} == {}
        assert (answer.adapters, set(left_out)) == ((NAME,), set(reasons))
        assert set(answer.mark.sources).intersection(ids.values()) == {ids[NAME]}


def test_an_answer_is_of_the_model_alone_when_no_adapter_can_be_used(adapted, learned, tmp_path):
    memory = adapted()
    fact = add(memory)
    plain = memory.respond("Hello there").text
    memory.wait()
    memory.delete(memory.pages.list()[0].id)
    teach(memory, learned, [fact])
    memory.adapters.load(NAME)
    (file,) = (tmp_path / "m.db.objects").iterdir()
    file.unlink()
    told = memory.respond("Hello there")
    assert (told.text, told.adapters) == (plain, ())
    assert "is missing" in told.adapters_left_out[0]


def test_a_state_of_an_answer_with_an_adapter_serves_no_answer_without_it(adapted, learned):
    memory = adapted()
    teach(memory, learned, [add(memory)])
    memory.adapters.load(NAME)
    memory.respond(QUESTION)
    assert memory.respond(QUESTION).usage.cached_tokens > 16  # the beginning of the same conversation
    memory.adapters.unload(NAME)
    assert memory.respond(QUESTION).usage.cached_tokens == 0
    memory.adapters.load(NAME, weight=0.5)
    assert memory.respond(QUESTION).usage.cached_tokens == 0


def test_the_exchange_is_as_sensitive_as_what_the_adapter_learned(adapted, learned, tmp_path):
    rules = tmp_path / "all.cedar"
    rules.write_text("permit(principal, action, resource);")
    memory = adapted(policies=rules)
    memory.add("My cancer is cured.", sensitivity=["health"])
    fact = memory.facts.add(FACT, sensitivity=["health"]) or ""
    teach(memory, learned, [fact])
    memory.adapters.load(NAME)
    answer = memory.respond("Hello there")
    memory.wait()
    assert answer.adapters == (NAME,)
    assert memory.pages.list()[-1].governance.sensitivity == ("health",)


def test_a_model_that_can_have_no_adapters_is_a_clear_error(adapted):
    memory = adapted(told={"llm_model": "gpt", "llm_base_url": "http://127.0.0.1:9"})
    memory.add("I live in Oslo.")
    with pytest.raises(ModelNotConfigured, match="local:PATH"):
        memory.respond(QUESTION)
    memory.wait()
    assert len(memory.pages.list()) == 1  # no exchange was stored
