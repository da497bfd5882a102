"""`respond` with the loaded adapters of an owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import memoryos
from local.lessons import FACT, NAME, Opened, add, teach
from memoryos import Settings
from memoryos.errors import ModelError, ModelNotConfigured
from memoryos.kinds import Role

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


@pytest.mark.parametrize(
    ("told", "error", "words"),
    [
        ({"local_runtime": "llamacpp"}, ModelError, "MEMORYOS_LOCAL_RUNTIME"),
        ({"llm_model": "gpt", "llm_base_url": "http://127.0.0.1:9"}, ModelNotConfigured, "local:PATH"),
    ],
)
def test_a_model_that_can_have_no_adapters_is_a_clear_error(adapted, tiny_long, told, error, words):
    if "local_runtime" in told:
        told = {**told, "llm_model": f"local:{tiny_long.with_suffix('.gguf')}"}
    memory = adapted(told=told)
    memory.add("I live in Oslo.")
    with pytest.raises(error, match=words):
        memory.respond(QUESTION)
    memory.wait()
    assert len(memory.pages.list()) == 1  # no exchange was stored
