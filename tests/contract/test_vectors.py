from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import Tier
from memoryos.scope import Scope

ALICE = Scope(user="alice")


def test_a_vector_comes_back_bit_for_bit(vault, page):
    vector = np.array([1.0, -0.0, 1e-38, 3.4e38, -1 / 3], dtype=np.float32)
    stored = page()
    with vault.write(ALICE) as writer:
        writer.insert([Entry(stored, vector)])
    with vault.read(ALICE) as reader:
        found = reader.vectors([stored.id])[stored.id]
    assert found.dtype == np.float32
    assert found.tobytes() == vector.tobytes()


def test_a_slice_or_a_wider_type_is_stored_by_its_values(vault, page):
    strided = np.arange(8, dtype=np.float64)[::2]
    stored = page()
    with vault.write(ALICE) as writer:
        writer.insert([Entry(stored, strided)])
        assert writer.vectors([stored.id])[stored.id].tolist() == [0.0, 2.0, 4.0, 6.0]


def test_a_cube_without_a_vector_is_left_out(vault, store, page):
    with_vector, without = store(), page()
    with vault.write(ALICE) as writer:
        writer.insert([Entry(without)])
        assert set(writer.vectors([without.id, with_vector.cube.id])) == {with_vector.cube.id}


def test_an_update_without_a_vector_keeps_the_one_there_is(vault, store):
    stored = store("bees")
    with vault.write(ALICE) as writer:
        writer.update([Entry(stored.cube.moved(Tier.MTM))], Operation.MOVE)
        assert writer.vectors([stored.cube.id])[stored.cube.id].tolist() == stored.vector.tolist()


def test_an_update_with_a_vector_replaces_it(vault, store, hashing):
    stored = store("bees")
    [fresh] = hashing.embed(["wasps"])
    with vault.write(ALICE) as writer:
        writer.update([Entry(stored.cube, fresh)], Operation.REFRESH)
        assert writer.vectors([stored.cube.id])[stored.cube.id].tolist() == fresh.tolist()


def test_an_update_with_passages_needs_no_vector(vault, store, entry):
    stored = store("bees")
    with vault.write(ALICE) as writer:
        writer.update([replace(entry("wasps", id=stored.cube.id), vector=None)], Operation.REVISE)
        assert writer.vectors([stored.cube.id]) == {}
        assert ["wasps" in passage.words for passage in writer.passages([stored.cube.id])] == [True]


def test_an_entry_that_must_have_a_vector_names_the_cube_when_it_has_none(page):
    with pytest.raises(StoreCorrupt, match="cube-1"):
        _ = Entry(page()).known_vector
