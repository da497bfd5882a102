"""A hold or a freeze of what is in a persona that agents share, while a page that it rests on is updated."""

from __future__ import annotations

from typing import Any

import pytest

from hierarchy.world import World
from memoryos import Memory
from memoryos.cube import MemCube
from memoryos.errors import CubeProtected, OnHold
from memoryos.infrastructure.vault.soundness import verify
from memoryos.operation.correction import correct
from memoryos.operation.correction.correct import Corrector

from .test_rebuild import SMALL, with_lines


def learned(world: World) -> tuple[Memory, str, MemCube]:
    """A memory, a page, and the fact that the shared persona has from it."""
    memory = with_lines(world.open(**SMALL, persona_sharing="user"))
    page = memory.add("🍵 tea\nfact: I keep bees")
    for text in ("🚲 a", "🌙 b", "🍞 c", "🎲 d"):
        memory.add(text)
    memory.consolidate()
    (fact,) = memory.facts.list()
    assert fact.scope != memory.get(page).scope
    return memory, page, fact


def protect(memory: Memory, cube_id: str, way: str) -> None:
    if way == "hold":
        memory.governance.hold(reason="a case", memory=cube_id)
    else:
        memory.governance.freeze(cube_id)


@pytest.mark.parametrize("way", ["hold", "freeze"])
def test_one_that_comes_before_the_new_words_are_stored_is_kept(world: World, monkeypatch, way: str):
    """It was looked for once, before the chain was described."""
    memory, page, fact = learned(world)
    shorten, before = correct.shorten_chains, memory.get(page)

    def overtaken(*given: Any) -> Any:
        done = shorten(*given)
        protect(memory, fact.id, way)
        return done

    monkeypatch.setattr(correct, "shorten_chains", overtaken)
    with pytest.raises(OnHold if way == "hold" else CubeProtected):
        memory.update(page, "🍵 tea\nfact: I keep hens")
    assert memory.get(page) == before
    assert [one.text for one in memory.history(fact.id)] == ["I keep bees"]
    assert verify(world.vault).is_sound


@pytest.mark.parametrize("way", ["hold", "freeze"])
def test_what_gets_one_after_that_stays_as_it_is(world: World, monkeypatch, way: str):
    """The persona lies with another owner, so it follows in a transaction of its own."""
    memory, page, fact = learned(world)
    derive = Corrector._derive_in_persona

    def overtaken(corrector: Corrector, *given: Any) -> None:
        protect(memory, fact.id, way)
        derive(corrector, *given)

    monkeypatch.setattr(Corrector, "_derive_in_persona", overtaken)
    memory.update(page, "🍵 tea\nfact: I keep hens")
    assert "hens" in memory.get(page).text
    kept = memory.get(fact.id)
    assert (kept.payload, kept.version, kept.mark) == (fact.payload, fact.version, fact.mark)
    assert {one.text for one in memory.facts.list()} == {"I keep bees", "I keep hens"}
    assert verify(world.vault).is_sound
