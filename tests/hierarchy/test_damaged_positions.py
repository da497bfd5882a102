"""A list goes on behind more damaged positions than it reads at a time, on both stores."""

from __future__ import annotations

import pytest

from memoryos import Kind
from memoryos.infrastructure.vault import selection_part
from memoryos.infrastructure.vault.selection import Selection

from .world import World


@pytest.mark.parametrize("start", [0, 2, 4])
def test_a_list_goes_on_behind_damaged_positions(world: World, monkeypatch, start: int) -> None:
    monkeypatch.setattr(selection_part, "_AT_ONCE", 2)
    memory = world.open()
    facts = [memory.facts.add(f"🎲 {number}") for number in range(7)]
    damaged, sound = facts[start : start + 3], facts[:start] + facts[start + 3 :]
    with world.vault.change() as connection:
        for number, fact in enumerate(damaged):
            connection.exec_driver_sql(f"UPDATE cubes SET position = {-number} WHERE id = '{fact}'")
    with world.vault.view(memory.scope) as reader:
        wanted = Selection(Kind.FACT, world.clock())
        assert [one.cube.id for one in reader.listed(wanted)] == sound
        assert [one.cube.id for one in reader.listed(wanted, is_latest=True)] == sound[::-1]
