"""A scripted chat model and a memory that asks it, on either back end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memoryos
from contract.back_ends import files_on
from memoryos import load_settings

from .scripted_model import scripted_embedder, scripted_model

KEY = "sk-secret-of-the-test"


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn, for the memories that open them."""
    with files_on(back_end, tmp_path):
        yield tmp_path


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
    with memoryos.open(tmp_path / "memory.db", user="tom", settings=settings) as memory:
        yield memory
