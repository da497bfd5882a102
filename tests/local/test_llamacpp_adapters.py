"""llama.cpp answers with adapters that peft trained, for the same weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from shutil import copy, copytree

import numpy as np
import pytest

import memoryos
from local.lessons import FACT, NAME, UNSEEN, add, teach, teach_files
from local.tiny_model import make_folder, make_gguf
from memoryos import Memory, Settings
from memoryos.built_memory import AdapterStage
from memoryos.errors import MissingExtra, ModelError
from memoryos.models.local.gguf_header import GgufHeader
from memoryos.models.local.llamacpp_engine import LlamacppGeneration
from memoryos.models.local.local_engine import Sampling
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.weighted_adapter import CONFIG, WEIGHTS, WeightedAdapter
from memoryos.operation.training.adapter_gate import GateBounds
from memoryos.operation.training.adapter_lessons import answer
from memoryos.operation.training.adapter_pack import ABOUT, read_folder
from memoryos.operation.training.adapter_trainer import fits

CLOSE = 3e-2  # of logarithms of probabilities: llama.cpp keeps keys and values in 16 bits


@pytest.fixture
def adapter(learned) -> WeightedAdapter:
    return WeightedAdapter.of(read_folder(learned))


@pytest.fixture
def memory(tiny_long, tmp_path, clock) -> Iterator[Memory]:
    """A memory with llama.cpp; the same file is unpacked for the training."""
    model = f"local:{tiny_long.with_suffix('.gguf')}"
    settings = Settings(
        llm_model=model,
        embedder="hashing",
        answer_adapters=True,
        llm_max_tokens=8,
        prompt_tokens=400,
        local_threads=1,
        local_cache=tmp_path / "cache",
    )
    with memoryos.open(tmp_path / "m.db", user="alice", settings=settings, clock=clock) as opened:
        yield opened


@pytest.mark.parametrize("weights", [(1.0,), (0.5,), (0.25, 0.5)])
@pytest.mark.parametrize("text", [UNSEEN, "我住在哪里？"])
def test_both_runtimes_predict_the_same_with_an_adapter(llamacpp_engine, transformers_engine, adapter, weights, text):
    adapters = tuple(WeightedAdapter(adapter.sha256, weight, adapter.files) for weight in weights)
    tokens = llamacpp_engine.tokenise(text)
    assert tokens == transformers_engine.tokenise(text)
    ours = llamacpp_engine.distribution(tokens, adapters=adapters)
    assert np.abs(ours - transformers_engine.distribution(tokens, adapters=adapters)).max() < CLOSE
    assert np.abs(ours - llamacpp_engine.distribution(tokens)).max() > 0.3


@pytest.mark.parametrize("kind", ["Qwen2", "Qwen3"])
def test_other_architectures_predict_the_same_with_an_adapter(tmp_path, adapter, kind):
    from memoryos.models.local.llamacpp_engine import LlamacppEngine
    from memoryos.models.local.transformers_engine import TransformersEngine

    folder = make_folder(tmp_path / kind, kind=kind)
    file = make_gguf(folder, folder.with_suffix(".gguf"))
    theirs = TransformersEngine.opened(ModelFiles(folder), cache=tmp_path, device="cpu")
    ours = LlamacppEngine(ModelFiles(file), window=512, threads=1)
    tokens = ours.tokenise(UNSEEN)
    for adapters in ((), (adapter,)):  # its matrices have the sizes of this model's, too
        told = ours.distribution(tokens, adapters=adapters)
        assert np.abs(told - theirs.distribution(tokens, adapters=adapters)).max() < CLOSE
    ours.close()


def test_an_answer_is_the_one_that_was_learned_and_the_next_one_has_no_adapter(llamacpp_engine, adapter):
    before = answer(llamacpp_engine, UNSEEN, ())
    assert answer(llamacpp_engine, UNSEEN, (adapter,)) == FACT
    assert answer(llamacpp_engine, UNSEEN, ()) == before != FACT


def test_a_state_with_an_adapter_is_exact_and_serves_only_that_adapter(llamacpp_engine, adapter):
    tokens = llamacpp_engine.tokenise("The user lives in Oslo and likes tea. " * 3)
    state = llamacpp_engine.prefill(tokens[:-4], adapters=(adapter,))
    assert state.adapters == (adapter,)
    assert state.adapters[0].files == {}  # what is kept has no copy of the matrices
    again = llamacpp_engine.loaded(llamacpp_engine.dumped(state))
    told = llamacpp_engine.generate(tokens, again, adapters=(adapter,), sampling=Sampling(8))
    helped = "".join(told)
    assert told.cached_tokens == len(tokens) - 4
    assert helped == "".join(llamacpp_engine.generate(tokens, adapters=(adapter,), sampling=Sampling(8)))
    assert llamacpp_engine.generate(tokens, again).cached_tokens == 0
    full = llamacpp_engine.distribution(tokens, adapters=(adapter,))
    assert np.abs(full - llamacpp_engine.distribution(tokens, again, adapters=(adapter,))).max() < 2e-3


def test_what_is_forgotten_is_no_longer_loaded(llamacpp_engine, adapter):
    told = llamacpp_engine.generate([5, 6, 7], adapters=(adapter,), sampling=Sampling(2))
    "".join(told)
    assert told.state is not None
    llamacpp_engine.forget()
    assert (told.state, llamacpp_engine._servers._adapted) == (None, None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda files: {**files, WEIGHTS: files[WEIGHTS][:-9]},
        lambda files: {**files, WEIGHTS: files[WEIGHTS].replace(b"layers.1.", b"layers.9.")},
        lambda files: {**files, WEIGHTS: files[WEIGHTS].replace(b"q_proj", b"x_proj")},
        lambda files: {**files, CONFIG: json.dumps({**json.loads(files[CONFIG]), "r": 3}).encode()},
        lambda files: {**files, CONFIG: b"[]"},
    ],
    ids=["cut", "layer", "part", "rank", "config"],
)
def test_an_adapter_that_does_not_fit_is_an_error_before_it_is_loaded(llamacpp_engine, adapter, damage):
    with pytest.raises(ModelError, match="does not fit the model"):
        llamacpp_engine.check_adapter(WeightedAdapter.of(damage(adapter.files)))


def test_another_architecture_and_what_is_no_file_are_errors(tiny, tmp_path, adapter):
    from memoryos.models.local.gguf_adapter import GgufAdapter

    header = GgufHeader.of([tiny.with_suffix(".gguf")])
    assert header.number("attention.head_count_kv") == 2
    with pytest.raises(ModelError, match="'mamba'"):
        GgufAdapter(adapter, GgufHeader({**header.values, "general.architecture": "mamba"}, header.shapes))
    (file := tmp_path / "x.gguf").write_bytes(tiny.with_suffix(".gguf").read_bytes()[:900])
    with pytest.raises(ModelError, match="cannot be read as GGUF"):
        GgufHeader.of([file])
    with pytest.raises(ModelError, match="cannot be read as GGUF"):
        GgufHeader.of([tmp_path / "gone.gguf"])


def test_respond_has_the_adapters_of_the_same_file_and_no_others(memory, learned, tiny_long, tmp_path, clock):
    fact = add(memory)
    plain = memory.respond("Where am I living?")
    teach(memory, learned, [fact])
    memory.adapters.load(NAME)
    told = memory.respond("Where am I living?")
    assert (told.adapters, told.adapters_left_out) == ((NAME,), ())
    assert told.text != plain.text
    stream = memory.respond_stream("Where am I living?")
    assert "".join(stream)
    assert stream.answer.adapters == (NAME,)
    assert memory.adapters.ask(UNSEEN).text == FACT
    memory.wait()
    memory.close()
    other = copytree(tiny_long.parent, tmp_path / "other") / tiny_long.with_suffix(".gguf").name
    other.write_bytes(other.read_bytes()[:-4] + b"\0\0\0\0")  # other weights
    settings = Settings(
        llm_model=f"local:{other}", embedder="hashing", answer_adapters=True, llm_max_tokens=8, local_threads=1
    )
    with memoryos.open(tmp_path / "m.db", user="alice", settings=settings, clock=clock) as changed:
        answered = changed.respond("Where am I living?")
        assert answered.adapters == ()
        assert "was trained for another model" in answered.adapters_left_out[0]


def test_another_file_at_the_place_of_the_model_computes_no_adapter(tiny, tmp_path, adapter):
    from memoryos.models.local.llamacpp_engine import LlamacppEngine

    file = copy(tiny.with_suffix(".gguf"), tmp_path / "model.gguf")
    engine = LlamacppEngine(ModelFiles(file), window=512, threads=1)
    plain = answer(engine, UNSEEN, ())
    copy(file, tmp_path / "same.gguf").replace(file)  # as the update of a package does
    engine.check_adapter(adapter)
    assert answer(engine, UNSEEN, (adapter,)) == FACT
    engine.forget()
    other = copy(file, tmp_path / "other.gguf")
    other.write_bytes(other.read_bytes()[:-4] + b"\0\0\0\0")
    other.replace(file)
    with pytest.raises(ModelError, match="changed since it was loaded"):
        engine.check_adapter(adapter)
    with pytest.raises(ModelError, match="changed since it was loaded"):
        answer(engine, UNSEEN, (adapter,))
    file.unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        engine.check_adapter(adapter)
    assert answer(engine, UNSEEN, ()) == plain
    engine.close()


def test_asking_and_recollecting_need_no_torch(memory, learned, monkeypatch, tmp_path):
    about = json.dumps({"fingerprint": fits(memory._engine.local.engine())}).encode()
    teach_files(memory, learned, {ABOUT: about}, [add(memory)], NAME)
    computed: list[str] = []
    monkeypatch.setattr(LlamacppGeneration, "_work", counted(LlamacppGeneration._work, computed))
    monkeypatch.setattr("memoryos.models.local.opened_engines.find_spec", without("torch", "peft", "transformers"))
    memory._engine.local._engines.clear()  # as in a process where nothing was trained
    assert memory.adapters.ask(UNSEEN, names=[NAME]).text == FACT
    told = memory.adapters.recollect(NAME)
    assert (told.asked, told.known, told.stored) == (1, 1, ())
    assert len(computed) == 2
    folder = memory.adapters.export(NAME, tmp_path / "out")
    assert memory.adapters.add(folder, name="again").used == 1
    assert memory.adapters.ask(UNSEEN, names=["again"]).text == FACT
    with pytest.raises(MissingExtra, match=r"Training an adapter \(with torch and peft, also for llama.cpp\) needs an"):
        memory.adapters.train("other")
    assert [one.name for one in memory.adapters.list()] == ["again", NAME]


def test_the_gate_asks_the_runtime_that_answers_later(memory, monkeypatch):
    add(memory, "用户住在卑尔根。")
    asked: list[str] = []
    monkeypatch.setattr(LlamacppGeneration, "_work", counted(LlamacppGeneration._work, asked))
    torch = "memoryos.models.local.transformers_engine.TransformersEngine"
    monkeypatch.setattr(f"{torch}.generate", None)  # it trains, and answers nothing
    bounds = GateBounds(least_recall=0.0, most_loss=1e9, most_questions=1)
    memory.adapters.train(NAME, recipe=TrainingRecipe(rank=2, alpha=4, epochs=1, replay=0.0), bounds=bounds)
    memory.wait()
    (version,) = memory.adapters.get(NAME).versions
    assert (version.stage, version.gate.asked, len(asked)) == (AdapterStage.READY, 1, 2)
    assert memory.adapters.ask("用户住在哪里？", names=[NAME]).used == (NAME,)


def counted(work: Callable[..., None], calls: list[str]) -> Callable[..., None]:
    def counts(generation: LlamacppGeneration) -> None:
        calls.append("answer")
        work(generation)

    return counts


def without(*names: str) -> Callable[[str], object]:
    """What finds packages, but not these."""
    return lambda name: None if name in names else find_spec(name)


def test_what_is_erased_leaves_the_memory_of_llamacpp(memory, learned):
    fact = add(memory)
    teach(memory, learned, [fact])
    memory.adapters.load(NAME)
    assert memory.adapters.ask(UNSEEN).text == FACT
    engine = memory._engine.local.engine()
    assert engine._servers._adapted is not None
    assert engine.latest is not None
    memory.governance.erase(fact)
    assert (engine._servers._adapted, engine.latest) == (None, None)
