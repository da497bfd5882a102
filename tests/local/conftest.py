"""Local models: a tiny random Llama for both runtimes. Without the extra `local` these tests are skipped, not in CI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from local.tiny_model import make_folder, make_gguf
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.model_files import ModelFiles

NEEDED = ("torch", "transformers", "safetensors", "xllamacpp", "gguf")
MISSING = [name for name in NEEDED if find_spec(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.once)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """The folder of the tiny model; its GGUF file lies beside it."""
    if MISSING:
        assert not os.environ.get("CI"), f"CI has no {MISSING}"
        pytest.skip(f"the extra local is not installed: no {', '.join(MISSING)}")
    import torch

    torch.set_num_threads(1)
    folder = make_folder(tmp_path_factory.mktemp("models") / "tiny")
    make_gguf(folder, folder.with_suffix(".gguf"))
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

    yield TransformersEngine.opened(ModelFiles(tiny), cache=tmp_path_factory.mktemp("cache"), device="cpu")


@pytest.fixture(scope="session")
def llamacpp_engine(tiny) -> Iterator[LocalEngine]:
    from memoryos.models.local.llamacpp_engine import LlamacppEngine

    engine = LlamacppEngine(ModelFiles(tiny.with_suffix(".gguf")), window=512, threads=1)
    yield engine
    engine.close()


RUNTIMES = ["transformers", "llamacpp"]


@pytest.fixture(params=RUNTIMES)
def engine(request) -> LocalEngine:
    """Each runtime, with the same weights."""
    return request.getfixturevalue(f"{request.param}_engine")
