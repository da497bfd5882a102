"""Local models: a tiny random Llama for both runtimes. Without the extra `local` these tests are skipped, not in CI."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

import memoryos
from local.lessons import BOUNDS, FACT, NAME, RECIPE, Opened
from local.tiny_model import make_folder, make_gguf
from memoryos import Memory, Settings
from memoryos.built_memory import AdapterStage
from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.model_files import ModelFiles

NEEDED = ("torch", "transformers", "safetensors", "gguf")
DEVICE = os.environ.get("MEMORYOS_TESTS_DEVICE", "cpu")  # cuda on a machine with a GPU: tools/gpu_tests.sh


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.once)


def _need(*names: str) -> None:
    """Skip what needs the extra `local`; CI has it."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        assert not os.environ.get("CI"), f"CI has no {missing}"
        pytest.skip(f"the extra local is not installed: no {', '.join(missing)}")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """The folder of the tiny model; its GGUF file lies beside it."""
    _need(*NEEDED)
    import torch

    torch.set_num_threads(1)
    folder = make_folder(tmp_path_factory.mktemp("models") / "tiny")
    make_gguf(folder, folder.with_suffix(".gguf"))
    gc.collect()
    gc.freeze()  # torch stays: to look through it takes half a second each time
    return folder


@pytest.fixture(scope="session")
def tiny_long(tiny, tmp_path_factory) -> Path:
    """The same with a window that takes the prompts of `respond`."""
    folder = make_folder(tmp_path_factory.mktemp("long") / "tiny", window=2048)
    make_gguf(folder, folder.with_suffix(".gguf"))
    return folder


@pytest.fixture(scope="session")
def transformers_engine(tiny, tmp_path_factory) -> Iterator[LocalEngine]:
    from memoryos.models.local.transformers_engine import TransformersEngine

    yield TransformersEngine.opened(ModelFiles(tiny), cache=tmp_path_factory.mktemp("cache"), device=DEVICE)


@pytest.fixture(scope="session")
def llamacpp_engine(tiny) -> Iterator[LocalEngine]:
    _need("xllamacpp")
    from memoryos.models.local.llamacpp_engine import LlamacppEngine

    engine = LlamacppEngine(ModelFiles(tiny.with_suffix(".gguf")), window=512, threads=1)
    yield engine
    engine.close()


RUNTIMES = ["transformers", "llamacpp"]


@pytest.fixture(params=RUNTIMES)
def engine(request) -> LocalEngine:
    """Each runtime, with the same weights."""
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture(params=RUNTIMES)
def either(request, tiny) -> Path:
    """The files of the tiny model for each runtime."""
    if request.param == "llamacpp":
        _need("xllamacpp")
    return tiny if request.param == "transformers" else tiny.with_suffix(".gguf")


@pytest.fixture
def opened(tmp_path, tiny, clock) -> Iterator[Opened]:
    """Open memories of one store with the tiny model, or another one."""
    with ExitStack() as stores:

        def opens(model: Path = tiny, **others) -> Memory:
            settings = Settings(llm_model=f"local:{model}", local_threads=1, embedder="hashing")
            return stores.enter_context(
                memoryos.open(tmp_path / "m.db", user="alice", settings=settings, clock=clock, **others)
            )

        yield opens


@pytest.fixture(scope="session")
def learned(tiny, tmp_path_factory) -> Path:
    """The exported adapter of a real training, which the tests below use again."""
    place = tmp_path_factory.mktemp("learned")
    settings = Settings(llm_model=f"local:{tiny}", local_threads=1, embedder="hashing")
    with memoryos.open(place / "m.db", user="alice", settings=settings) as memory:
        memory.facts.add(FACT)
        memory.adapters.train(NAME, recipe=RECIPE, bounds=BOUNDS)
        memory.wait()
        (version,) = memory.adapters.get(NAME).versions
        assert (version.stage, version.steps, version.step, version.refused) == (AdapterStage.READY, 20, 20, "")
        assert version.gate
        assert (version.gate.asked, version.gate.recalled) == (15, 15)
        assert version.gate.recalled_before < 5
        assert [job.state for job in memory.jobs.list() if job.kind == JobKind.TRAIN] == [JobState.DONE]
        return memory.adapters.export(NAME, place / "adapter")
