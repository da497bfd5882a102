"""KV states that were computed by themselves, put together in any order."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import memoryos
from local.tiny_model import TEMPLATE, make_folder
from memoryos import AnswerMode, MemoryForm, ModeDecision, ModeReason, PlacementReason, Settings
from memoryos.errors import InvalidInput, ModelError, NotFound, PromptTooLong, StateMismatch
from memoryos.interface.cli.app import app
from memoryos.models.local.joined_blocks import left_out
from memoryos.models.local.local_engine import Sampling
from memoryos.models.local.weighted_adapter import WeightedAdapter
from memoryos.operation.placement.placement_policy import POLICIES, GuardedPolicy

BLOCKS = [
    "The user lives in Oslo, likes tea.",
    "用户住在卑尔根，喜欢船。",
    "Notes are given between memory marks and an answer.",
]
CLOSE = 2e-3


@pytest.fixture
def parts(transformers_engine):
    return [transformers_engine.chat_tokens([{"role": "system", "content": text}], answers=False) for text in BLOCKS]


@pytest.fixture
def states(transformers_engine, parts):
    return [transformers_engine.prefill(one) for one in parts]


def difference(first, second) -> float:
    pairs = zip(first.layers, second.layers, strict=True)
    return max(float((a - b).abs().max()) for one, two in pairs for a, b in zip(one, two, strict=True))


def test_one_block_in_its_own_position_is_exact(transformers_engine, states):
    composed = transformers_engine.compose(states[:1], recompute=4)
    assert composed.tokens == states[0].tokens
    assert difference(composed, states[0]) == 0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_a_token_that_begins_each_prompt_stands_once_in_what_is_put_together(transformers_engine, parts, order):
    begun = [transformers_engine.prefill([0, *parts[one]]) for one in order]
    prompt = [0, *(token for one in order for token in parts[one])]
    skipped = left_out(begun, [*prompt, 9, 9])
    assert skipped == [0, 1, 1]
    whole = transformers_engine.prefill(prompt)
    anew = transformers_engine.compose(begun, recompute=10_000, skipped=skipped)
    assert anew.tokens == whole.tokens == tuple(prompt)
    assert difference(anew, whole) < CLOSE
    moved = transformers_engine.compose(begun, recompute=2, skipped=skipped)
    assert moved.tokens == whole.tokens
    for moved_one, whole_one in zip(moved.layers[0], whole.layers[0], strict=True):  # which read nothing before them
        assert float((moved_one - whole_one).abs().max()) < 1e-4


def test_only_the_prompt_says_which_tokens_stand_once(states):
    each = [token for one in states for token in one.tokens]
    assert left_out(states, each) == [0, 0, 0]
    assert left_out(states, each[:-1]) is left_out(states[::-1], each) is None
    assert states[0].tokens[0] == states[1].tokens[0]  # as ChatML begins each message
    assert left_out(states[:2], [*states[0].tokens, *states[1].tokens[1:]]) == [0, 1]
    assert left_out(states[:2], [*states[0].tokens[1:], *states[1].tokens]) is None


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_what_is_all_computed_anew_is_the_whole_prompt(transformers_engine, states, parts, order):
    whole = transformers_engine.prefill([token for one in order for token in parts[one]])
    composed = transformers_engine.compose([states[one] for one in order], recompute=10_000)
    assert composed.tokens == whole.tokens
    assert difference(composed, whole) < CLOSE


def test_the_keys_of_the_first_layer_are_at_their_new_positions(transformers_engine, states, parts):
    """They read nothing of what stands before, so they are those of the whole prompt; later layers' are not."""
    whole = transformers_engine.prefill([*parts[1], *parts[0]])
    composed = transformers_engine.compose([states[1], states[0]])
    for composed_one, whole_one in zip(composed.layers[0], whole.layers[0], strict=True):
        assert float((composed_one - whole_one).abs().max()) < 1e-4
    own, there = states[0].layers[0][0], whole.layers[0][0][..., len(parts[1]) :, :]
    assert float((there - own).abs().max()) > 1e-2, "they did move"
    assert difference(composed, whole) > CLOSE


def test_computing_more_anew_comes_nearer_to_the_whole_prompt(transformers_engine, states, parts):
    prompt = [*(token for one in parts for token in one), *transformers_engine.tokenise("Where?")]
    full = transformers_engine.distribution(prompt)

    def divergence(recompute: int) -> float:
        state = transformers_engine.compose(states, recompute=recompute)
        told = transformers_engine.distribution(prompt, state)
        return float((np.exp(full) * (full - told)).sum())

    nothing, all_of_it = divergence(0), divergence(10_000)
    assert nothing > 1e-4
    assert abs(all_of_it) < 1e-5


def test_a_composed_state_is_used_and_leaves_its_blocks_alone(transformers_engine, states, parts):
    before = [transformers_engine.dumped(one) for one in states]
    composed = transformers_engine.compose(states, recompute=4)
    prompt = [*composed.tokens, *transformers_engine.tokenise("Where?")]
    told = transformers_engine.generate(prompt, composed, sampling=Sampling(8))
    assert "".join(told) or told.completion_tokens
    assert told.cached_tokens == sum(map(len, parts))
    assert [transformers_engine.dumped(one) for one in states] == before
    again = transformers_engine.loaded(transformers_engine.dumped(composed))
    assert difference(again, composed) == 0


def test_what_cannot_be_composed_is_refused(transformers_engine, llamacpp_engine, states, monkeypatch):
    with pytest.raises(InvalidInput, match="blocks"):
        transformers_engine.compose([])
    other = transformers_engine.compose(states[:1])
    object.__setattr__(other, "adapters", (WeightedAdapter("a"),))
    with pytest.raises(InvalidInput, match="adapters"):
        transformers_engine.compose([states[0], other])
    with pytest.raises(PromptTooLong):
        transformers_engine.compose(states * 20)
    with pytest.raises(ModelError, match="transformers"):
        llamacpp_engine.compose(states)
    foreign = llamacpp_engine.prefill(llamacpp_engine.tokenise("The user"))
    with pytest.raises(StateMismatch):
        transformers_engine.compose([foreign])


def test_positions_of_another_kind_are_refused(transformers_engine, states, monkeypatch):
    monkeypatch.setattr(transformers_engine, "_turns", None)
    rotary = transformers_engine.model.model.rotary_emb
    monkeypatch.setattr(rotary, "rope_type", "dynamic")
    with pytest.raises(ModelError, match="cannot be moved"):
        transformers_engine.compose(states)
    monkeypatch.setattr(rotary, "rope_type", "default")
    monkeypatch.setattr("memoryos.models.local.transformers_engine.frequencies", lambda model: rotary.inv_freq * 2)
    with pytest.raises(ModelError, match="cannot be moved"):
        transformers_engine.compose(states)


def test_the_bench_measures_each_way(tiny):
    words = "bench composed --blocks 3 --block 24 --query 8 --answer-tokens 4 --prompts 2 --recompute 0 --recompute 24"
    done = CliRunner().invoke(app, [*words.split(), "--model", f"local:{tiny}", "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)["report"]
    whole, exact, moved, anew = report["ways"]
    assert [one["name"] for one in report["ways"]] == ["whole", "exact", "composed", "composed"]
    assert (whole["kl"], whole["same_answers"], whole["same_tokens"]) == (0, 2, 1)
    for same in (exact, anew):
        assert (same["same_answers"], same["same_first"]) == (2, 2)
        assert same["kl"] < 1e-5
    assert moved["kl"] > exact["kl"]


class Joining:
    """A policy that puts two states together, and fails at three."""

    name = "joining"

    def worth(self, block, task):
        return block.chance

    def composes(self, states, task):
        return {2: "Where?" in task.query and all(one.saved_ms > 0 for one in states)}[len(states)]


@pytest.fixture
def memory(request, tmp_path, tiny_long, clock, monkeypatch):
    monkeypatch.setitem(POLICIES, "joining", GuardedPolicy("joining", Joining()))
    model = tiny_long.with_suffix(getattr(request, "param", ""))
    settings = Settings(llm_model=f"local:{model}", embedder="hashing", llm_max_tokens=4, local_threads=1)
    with memoryos.open(tmp_path / "c.db", user="ann", settings=settings, clock=clock) as memory:
        yield memory


def test_prefixes_are_put_together_if_that_is_asked_for(memory):
    facts = [memory.facts.add(text) or "" for text in ("User lives in Oslo.", "User keeps bees.", "用户喜欢船。")]
    for name, fact in zip("abc", facts, strict=True):
        memory.activations.build(name, kinds=[], ids=[fact])
    memory.wait()
    exact = memory.activations.answer("a", "Where?", beside=["b", "c"])
    assert (exact.is_from_state, exact.is_composed, exact.reason) == (True, False, "")
    told = memory.activations.answer("a", "Where?", beside=["b", "c"], composed=True)
    assert (told.is_from_state, told.is_composed, told.reason) == (True, True, "")
    sizes = [memory.activations.get(name).tokens for name in "abc"]
    assert told.answer.usage.cached_tokens == sum(sizes)
    assert exact.answer.usage.cached_tokens < told.answer.usage.cached_tokens
    assert exact.answer.usage.prompt_tokens == told.answer.usage.prompt_tokens
    other_order = memory.activations.answer("c", "Where?", beside=["a"], composed=True)
    assert other_order.answer.usage.cached_tokens == sizes[2] + sizes[0]
    alone = memory.activations.answer("a", "Where?", composed=True)
    assert (alone.is_from_state, alone.is_composed) == (True, False)  # one block is exact

    memory.delete(facts[1])
    stale = memory.activations.answer("a", "Where?", beside=["b"], composed=True)
    assert (stale.is_from_state, stale.is_composed) == (True, False)  # the first one still is as it was
    assert stale.reason.startswith("nothing was put together: ")
    for wrong in (["a"], ["b", "b"]):
        with pytest.raises(InvalidInput, match="beside"):
            memory.activations.answer("a", "Where?", beside=wrong)
    with pytest.raises(NotFound):
        memory.activations.answer("a", "Where?", beside=["mist"])


def built(memory, *texts):
    for name, text in zip("abc", texts, strict=False):
        memory.activations.build(name, kinds=[], ids=[memory.facts.add(text) or ""])
    memory.wait()


def with_policy(memory, name):
    object.__setattr__(memory._engine, "settings", memory._engine.settings.model_copy(update={"placement": name}))


def test_a_policy_puts_states_together_and_answers_plans_and_the_log_tell_it(memory):
    built(memory, "User lives in Oslo.", "User keeps bees.", "用户喜欢船。")
    told = memory.activations.answer("a", "Where?", beside=["b"])
    assert (told.mode, told.is_composed) == (ModeDecision(), False)
    with_policy(memory, "joining")
    told = memory.activations.answer("a", "Where?", beside=["b"])
    assert (told.mode, told.is_composed) == (ModeDecision(AnswerMode.COMPOSED, ModeReason.POLICY), True)
    assert not memory.activations.answer("a", "What?", beside=["b"]).is_composed
    asked = memory.activations.answer("a", "Where?", beside=["b"], composed=False)
    assert (asked.mode, asked.is_composed) == (ModeDecision(reason=ModeReason.ASKED), False)
    failed = memory.activations.answer("a", "Where?", beside=["b", "c"])
    assert (failed.mode.reason, failed.is_composed, failed.is_from_state) == (ModeReason.FAILED, False, True)
    with pytest.raises(InvalidInput, match="'joining', which failed: KeyError"):
        memory.schedule.explain("Where?")

    memory.activations.delete("c")
    plan = memory.schedule.decide("Where?")
    states = {memory.activations.get(name).id for name in "ab"}
    assert plan.mode == memory.schedule.log()[0].mode == ModeDecision(AnswerMode.COMPOSED, ModeReason.POLICY)
    assert {one.id for one in plan.chosen if one.form is MemoryForm.KV} == states
    with_policy(memory, "density")
    plan = memory.schedule.decide("Where?")
    assert plan.mode == memory.schedule.log()[0].mode == ModeDecision()
    assert len([one for one in plan.chosen if one.form is MemoryForm.KV]) == 1
    assert {one.reason for one in plan.left_out if one.id in states} == {PlacementReason.ONE_PREFIX}


class Listening:
    """A policy that notes what it is told, and puts together what is alike."""

    name = "listening"

    def __init__(self, **said):
        self.__dict__ |= said
        self.heard = []

    def worth(self, block, task):
        return block.chance

    def composes(self, states, task):
        self.heard.append({one.id: one for one in states})
        return all(one.similarity > 0 for one in states)


@pytest.mark.parametrize(("said", "is_composed"), [({"uses_similarity": True}, True), ({}, False)])
def test_a_policy_is_told_the_same_of_states_in_answers_and_plans(
    tmp_path, tiny_long, clock, monkeypatch, said, is_composed
):
    policy = Listening(**said)
    monkeypatch.setitem(POLICIES, "listening", GuardedPolicy("listening", policy))
    settings = Settings(
        llm_model=f"local:{tiny_long}",
        embedder="hashing",
        llm_max_tokens=4,
        local_threads=1,
        placement="listening",
        placement_priorities={"urgent": 9},
    )
    with memoryos.open(tmp_path / "m.db", user="ann", settings=settings, clock=clock) as memory:
        for name in ("ferry", "ticket"):
            page = memory.add(f"The {name} is in Oslo.", tags=["urgent"])
            memory.activations.build(name, kinds=[], ids=[page])
        memory.wait()
        question = "Where is the ferry, the ticket?"
        assert memory.schedule.explain(question).mode.is_composed is is_composed
        answer = memory.activations.answer("ferry", question, beside=["ticket"])
        assert (answer.mode.is_composed, answer.is_composed) == (is_composed, is_composed)
    planned, answered = policy.heard
    assert planned == answered
    assert {one.priority for one in planned.values()} == {9}
    assert all((one.similarity > 0) is is_composed and one.saved_ms > 0 for one in planned.values())


@pytest.mark.parametrize("memory", [".gguf"], indirect=True)
def test_a_plan_has_no_states_put_together_where_the_runtime_cannot(memory, monkeypatch):
    built(memory, "User lives in Oslo.", "User keeps bees.")
    with_policy(memory, "joining")
    plan = memory.schedule.decide("Where?")
    assert plan.mode == ModeDecision(reason=ModeReason.NOT_POSSIBLE)
    assert len([one for one in plan.chosen if one.form is MemoryForm.KV]) == 1
    loaded, engine = [], type(memory._engine.activator._chat().engine)
    real = engine.loaded
    monkeypatch.setattr(engine, "loaded", lambda self, data: loaded.append(1) or real(self, data))
    told = memory.activations.answer("a", "Where?", beside=["b"])
    assert len(loaded) == 1, "that of the first prefix alone"
    assert (told.is_from_state, told.is_composed, told.mode) == (True, False, plan.mode)
    assert "llama.cpp cannot put KV states together" in told.reason


def test_prefixes_of_a_template_that_begins_with_a_token_of_its_own_are_put_together(tmp_path, clock, monkeypatch):
    begins = TEMPLATE.replace("{% for", "{{ bos_token }}{% for", 1)  # as Llama 3 has it
    monkeypatch.setattr("local.tiny_model.TEMPLATE", begins)
    model = make_folder(tmp_path / "begins", window=2048, ends=False)
    settings = Settings(llm_model=f"local:{model}", embedder="hashing", llm_max_tokens=4, local_threads=1)
    with memoryos.open(tmp_path / "b.db", user="ann", settings=settings, clock=clock) as memory:
        built(memory, "User lives in Oslo.", "User keeps bees.", "用户喜欢船。")
        told = memory.activations.answer("a", "Where?", beside=["c", "b"], composed=True)
        sizes = [memory.activations.get(name).tokens for name in "abc"]
    assert (told.is_from_state, told.is_composed, told.reason) == (True, True, "")
    assert told.answer.usage.cached_tokens == sum(sizes) - 2


def test_what_llamacpp_cannot_do_is_told_and_the_first_state_is_used(tmp_path, tiny_long, clock):
    model = tiny_long.with_suffix(".gguf")
    settings = Settings(
        llm_model=f"local:{model}", embedder="hashing", llm_max_tokens=4, local_threads=1, compose_states=True
    )
    with memoryos.open(tmp_path / "l.db", user="ann", settings=settings, clock=clock) as memory:
        for name, text in (("a", "User lives in Oslo."), ("b", "User keeps bees.")):
            memory.activations.build(name, kinds=[], ids=[memory.facts.add(text) or ""])
        memory.wait()
        told = memory.activations.answer("a", "Where?", beside=["b"])
    assert (told.is_from_state, told.is_composed) == (True, False)
    assert "llama.cpp cannot put KV states together" in told.reason
