"""Stretches: which new pages follow each other in a chain, and what was known of it before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryos import Memory
from memoryos.operation.consolidation.stretch import Stretch, have_changed, stretches

from .world import ANN, World

TOPICS = ("🍵 tea", "🍵 cup", "🍵 pot", "🚲 tyre", "🚲 bell", "🌙 moon", "🍵 milk", "🍵 lemon", "🍵 sugar", "🍵 spoon")
CHAINS = (range(3), range(3, 5), range(5, 6), range(6, 10))  # of the numbers of pages


@pytest.fixture
def memory(world: World) -> Memory:
    return world.open()


@pytest.fixture
def pages(world: World, memory: Memory) -> list[str]:
    ids = []
    for number, text in enumerate(TOPICS):
        ids.append(memory.add(text))
        if any(number == chain[-1] for chain in CHAINS):
            world.clock.advance(hours=20)
    return ids


def found(world: World, memory: Memory, ids: Sequence[str]) -> list[Stretch]:
    with world.vault.read(ANN) as reader:
        return stretches(reader, [memory.get(one) for one in ids])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_they_are_the_longest_runs_with_what_was_known_before(world: World, memory, pages, data):
    wanted = data.draw(st.lists(st.sampled_from(range(len(TOPICS))), unique=True))
    got = {
        tuple(pages.index(page.id) for page in one.pages): one.known
        for one in found(world, memory, [pages[i] for i in wanted])
    }
    numbers = [number for run in got for number in run]
    assert len(numbers) == len(set(numbers))
    for run, known in got.items():
        (chain,) = (chain for chain in CHAINS if run[0] in chain)
        assert all(later == earlier + 1 for earlier, later in pairwise(run))
        assert set(run) <= set(chain)
        assert not {run[0] - 1, run[-1] + 1} & set(chain) & set(wanted), "it could be longer"
        before = memory.get(pages[run[0] - 1]).payload.chain_summary if run[0] != chain[0] else ""
        assert known == before
    alone = {number for chain in CHAINS for number in chain[:1] if number + 1 not in set(wanted) & set(chain)}
    assert set(numbers) == set(wanted) - alone


def test_the_longest_comes_first(world: World, memory, pages):
    assert [len(one.pages) for one in found(world, memory, pages)] == [4, 3, 2]


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (lambda memory, pages: memory.delete(pages[7]), True),
        (lambda memory, pages: memory.delete(pages[6]), True),
        (lambda memory, pages: memory.update(pages[6], "🍵 water"), True),
        (lambda memory, pages: memory.delete(pages[9]), False),
        (lambda memory, pages: memory.delete(pages[0]), False),
        (lambda memory, pages: memory.add("🍵 bag"), False),
        (lambda memory, pages: [memory.search("🍵 lemon"), memory.wait()], False),
    ],
)
def test_what_was_known_changes_with_the_pages_before(world: World, memory, pages, change, changed):
    seen = found(world, memory, [pages[8]])
    change(memory, pages)
    with world.vault.read(ANN) as reader:
        assert have_changed(reader, seen) is changed
