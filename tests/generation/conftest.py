"""A scripted chat model and a memory that asks it."""

from __future__ import annotations

import pytest

from memoryos import MemoryOS, load_settings

from .scripted_model import scripted_embedder, scripted_model

KEY = "sk-secret-of-the-test"


@pytest.fixture
def model():
    with scripted_model() as server:
        yield server


@pytest.fixture
def server():
    """An endpoint that embeds."""
    with scripted_embedder() as server:
        yield server


@pytest.fixture
def settings(model):
    return load_settings(
        embedder="hashing",
        llm_model="some-model",
        llm_api_key=KEY,
        llm_base_url=model.url,
        llm_retries=1,
        llm_timeout_seconds=2,
    )


@pytest.fixture
def memory(tmp_path, settings):
    with MemoryOS.open(tmp_path / "memory.db", user="tom", settings=settings) as memory:
        yield memory
