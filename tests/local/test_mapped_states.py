"""A large KV state is mapped where nobody can change it: all that is computed from it appends to copies."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from memoryos.infrastructure.objects import fixed_bytes
from memoryos.infrastructure.objects.fixed_bytes import fixed_copy
from memoryos.models.local.local_engine import Sampling

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory files that nobody can change are of Linux")

QUESTION = "Where does the user live?"
TEXT = "The user lives in Oslo, likes tea and speaks 中文. "


@pytest.fixture(autouse=True)
def least(monkeypatch) -> None:
    """Small states count as large; none of an earlier test is left."""
    gc.collect()
    monkeypatch.setattr(fixed_bytes, "LEAST", 1)


def places() -> list[tuple[range, str]]:
    """The addresses of fixed bytes, and what may be done with them."""
    found = re.findall("(?m)^([0-9a-f]+)-([0-9a-f]+) (....) .*memoryos-blob", Path("/proc/self/maps").read_text())
    return [(range(int(start, 16), int(end, 16)), rights) for start, end, rights in found]


def addresses(state) -> list[int]:
    """Where the keys and values lie."""
    if hasattr(state, "layers"):
        return [one.data_ptr() for pair in state.layers for one in pair]
    return [np.frombuffer(state.data, np.uint8).ctypes.data]


def test_what_is_computed_from_a_mapped_state_changes_none_of_it(engine):
    tokens = engine.tokenise(TEXT * 4)
    data = engine.dumped(engine.prefill(tokens))
    state = engine.loaded(fixed_copy(data))
    ((place, rights),) = places()
    assert rights == "r--p"  # a write would end this process
    assert all(one in place for one in addresses(state))  # no copy
    before = engine.distribution([*tokens, *tokens[:9]])
    for count in (3, 200):
        "".join(engine.generate([*tokens, *tokens[:count]], state, sampling=Sampling(8)))
    assert np.abs(engine.distribution([*tokens, *tokens[:9]], state) - before).max() < 2e-3
    engine.prefill([*tokens, *tokens[:5]], state)
    if engine.is_composing:
        engine.compose([state, state], recompute=4)
        rounded = engine.loaded(fixed_copy(engine.dumped(state, bits=8)))
        assert not any(one in place for one in addresses(rounded))
    assert engine.dumped(state) == data


def test_a_mapped_state_answers_as_the_text_and_its_memory_goes_with_its_source(opened, either):
    memory = opened(either)
    fact = memory.facts.add("The user lives in Oslo.")
    memory.activations.build("me", role="a helper")
    memory.wait()
    first = memory.activations.answer("me", QUESTION)
    told = memory.activations.answer("me", QUESTION)
    assert (first.is_from_state, told.is_from_state, told.answer.text) == (True, True, first.answer.text)
    assert len(places()) == 1
    memory.delete(fact)
    assert places() == []


def test_without_memory_for_a_mapping_the_text_answers(opened, either, monkeypatch):
    memory = opened(either)
    memory.facts.add("The user lives in Oslo.")
    memory.activations.build("me", role="a helper")
    memory.wait()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "sendfile", full)
        told = memory.activations.answer("me", QUESTION)
    assert (told.is_from_state, "too little memory" in told.reason) == (False, True)
    again = memory.activations.answer("me", QUESTION)
    assert (again.is_from_state, again.answer.text) == (True, told.answer.text)
