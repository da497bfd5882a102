"""Topics through a repair: each one that it changes gets a version, and no version tells of a page that went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from contract.back_ends import copy_store, opening_on
from memoryos import Memory, Tier, VersionNote
from memoryos.cube import Turn
from memoryos.infrastructure.vault.soundness import verify
from memoryos.kinds import Kind, Role
from memoryos.operation.maintenance import repairer

from .test_kept_chains import WORD, stored
from .test_repair import BIKE, MOON, QUIET, TEA, home, rehome, remember, together
from .world import ANN, Clock, World

STEPS = 3  # of the repair of `mixed`
MOVED_AT_ONCE = 4  # in the place of 16: what takes time is pages
TEAS = 24
REPAIRED = ("memoryos", "repair: other pages are in it")


class Stopped(Exception):
    """The process ends here."""


class Interrupted:
    """A clock: when it is asked for the time of a step, once something else happens before."""

    def __init__(self, clock: Clock, at: int, happening: Callable[[], object]) -> None:
        self._clock, self._left, self._happening = clock, at, happening

    def __call__(self) -> datetime:
        self._left -= 1
        if self._left == 0:
            self._happening()
        return self._clock()

    @property
    def was_reached(self) -> bool:
        return self._left <= 0


Mixed = tuple[Memory, str, str, str]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> tuple[Path, tuple[str, str, str]]:
    """The store of `mixed`, and the ids: to make it takes most of the time of each test."""
    with opening_on(back_end):
        world = World(tmp_path_factory.mktemp("mixed"))
        ids = _mix(world)
        world.close()
    return world.folder / "memory.db", ids


@pytest.fixture
def mixed(world: World, template: tuple[Path, tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch) -> Mixed:
    """A memory whose topic of tea holds many bikes, too: the page with the word, and the topics of tea and bikes."""
    monkeypatch.setattr(repairer, "MOVED_AT_ONCE", MOVED_AT_ONCE)
    path, ids = template
    copy_store(path, world.folder / path.name)
    return (world.open(**QUIET), *ids)


def _mix(world: World) -> tuple[str, str, str]:
    memory = world.open(**QUIET)
    strays = [f"🚲 bike {number}" for number in range((STEPS - 1) * MOVED_AT_ONCE + 3)]
    strays[MOVED_AT_ONCE + 1] += f" with a {WORD}"
    said = [*(f"🍵 tea {number}" for number in range(TEAS)), *[BIKE] * (TEAS // 2), *strays, "📐 end"]
    ids = memory.add_many([Turn(role=Role.USER, text=text) for text in said])
    tea, bike = home(world, ids[0]), home(world, ids[TEAS])
    rehome(world, ids[-len(strays) - 1 : -1], tea)
    for topic, words in ((tea, f"Of tea, and a {WORD}."), (bike, "Of bikes.")):
        memory.update(topic, "Of much.")
        memory.update(topic, words)
    return next(one for one in ids if WORD in memory.get(one).text), tea, bike


def notes(memory: Memory, topic: str) -> list[VersionNote]:
    return list(memory.governance.provenance(topic).versions)


REMOVALS: list[Callable[[Memory, str], object]] = [
    lambda memory, page: memory.delete(page),
    lambda memory, page: memory.governance.erase(page),
    lambda memory, _page: memory.forget(),
]


# Erasure


@pytest.mark.parametrize("remove", REMOVALS, ids=["delete", "erase", "forget"])
@pytest.mark.parametrize("moment", range(STEPS + 2))  # before it, at each step, after it
def test_no_version_tells_of_a_page_that_goes_before_in_or_after_a_repair(
    world: World, mixed: Mixed, remove, moment: int
):
    memory, page, tea, bike = mixed
    assert WORD in stored(world)
    if moment == 0:
        remove(memory, page)
    clock = Interrupted(world.clock, moment, lambda: remove(memory, page))
    replace(world.repairer(), clock=clock).repair(ANN)
    assert clock.was_reached == (moment <= STEPS)
    if not clock.was_reached:
        remove(memory, page)
    assert WORD not in stored(world)
    assert verify(world.vault).is_sound
    left = {cube.id for cube in world.cubes(Kind.PAGE, Tier.MTM)}
    assert page not in left
    if left:
        together(world, memory)
        memory.upkeep.repair()
        assert home(world, min(left)) == tea
        assert {REPAIRED} <= {(one.by, one.reason) for topic in (tea, bike) for one in notes(memory, topic)}


@pytest.mark.parametrize("steps", range(1, STEPS + 1))
def test_no_version_tells_of_a_page_that_goes_after_a_repair_that_was_cut_off(world: World, mixed: Mixed, steps: int):
    memory, page, _, _ = mixed

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        replace(world.repairer(), clock=Interrupted(world.clock, steps, stop)).repair(ANN)
    memory.delete(page)
    assert WORD not in stored(world)
    memory.upkeep.repair()
    assert WORD not in stored(world)
    assert verify(world.vault).is_sound


def test_no_version_tells_of_a_page_that_goes_after_what_a_repair_told_of_it_was_brought_back(world: World):
    memory = world.open(**QUIET)
    ids = remember(memory, TEA, TEA, TEA, BIKE, BIKE, f"{BIKE} with a {WORD}", MOON)
    bikes = home(world, ids[3])
    rehome(world, [ids[5]], home(world, ids[0]))
    memory.upkeep.repair()
    told = memory.get(bikes).version.number
    assert WORD in memory.get(bikes).text
    memory.update(bikes, "Of bikes.")
    memory.governance.rollback(bikes, told)
    memory.delete(ids[5])
    assert WORD not in stored(world)


def test_no_version_tells_of_a_page_that_goes_after_an_undo(world: World):
    memory = world.open(**QUIET)
    ids = remember(memory, TEA, TEA, TEA, BIKE, BIKE, f"{BIKE} with a {WORD}")
    tea, bikes = home(world, ids[0]), home(world, ids[3])
    rehome(world, [ids[5]], tea)
    memory.upkeep.undo(*memory.upkeep.repair().events)
    assert home(world, ids[5]) == tea
    assert [(one.by, one.reason) for one in notes(memory, bikes)] == [REPAIRED]
    memory.governance.erase(ids[5])
    assert WORD not in stored(world)


# Versions


def test_a_topic_that_a_repair_adds_pages_to_gets_one_version_and_keeps_those_before(world: World):
    memory = world.open(**QUIET)
    ids = remember(memory, TEA, TEA, TEA, "🚲 A bike is blue.", BIKE, "🚲 A bike was stolen.")
    bikes = home(world, ids[3])
    rehome(world, [ids[5]], home(world, ids[0]))
    before = memory.history(bikes)
    assert memory.upkeep.repair().moved == 1
    history = memory.history(bikes)
    assert history[:-1] == before
    last = notes(memory, bikes)[-1]
    number = before[-1].version.number
    assert (last.number, last.by, last.reason) == (number + 1, *REPAIRED)
    assert last.at == world.clock()
    changed = {one.field: (one.before, one.after) for one in memory.governance.diff(bikes).changes}
    assert changed["pages"] == ("2", "3")
    assert changed["summary"] == (before[-1].text, history[-1].text)
    assert memory.governance.rollback(bikes, number).text == before[-1].text


def test_a_topic_that_pages_leave_begins_with_the_version_that_says_so(world: World):
    memory = world.open(**QUIET)
    ids = remember(memory, TEA, TEA, TEA, BIKE, BIKE, BIKE)
    tea = home(world, ids[0])
    rehome(world, [ids[5]], tea)
    number = memory.get(tea).version.number
    assert memory.upkeep.repair().moved == 1
    assert [(one.number, one.by, one.reason) for one in notes(memory, tea)] == [(number + 1, *REPAIRED)]
    assert [one.version.number for one in memory.history(tea)] == [number + 1]


def test_a_repair_of_many_steps_makes_one_version_of_each_topic(world: World, mixed: Mixed):
    memory, page, tea, bike = mixed
    before = {topic: memory.get(topic).version.number for topic in (tea, bike)}
    assert len(memory.upkeep.repair().events) > 2 * MOVED_AT_ONCE
    assert home(world, page) == bike
    assert {topic: memory.get(topic).version.number - number for topic, number in before.items()} == {tea: 1, bike: 1}
    assert [one.text for one in memory.history(bike)][-2:] == ["Of bikes.", memory.get(bike).text]
    together(world, memory)


def test_what_a_person_writes_between_two_steps_is_a_version_of_its_own(world: World, mixed: Mixed):
    memory, _, _, bike = mixed
    clock = Interrupted(world.clock, 2, lambda: memory.update(bike, "Of bikes alone."))
    replace(world.repairer(), clock=clock).repair(ANN)
    assert clock.was_reached
    said = [(one.by, one.reason) for one in notes(memory, bike)][-3:]
    assert said == [REPAIRED, ("ann", ""), REPAIRED]
    assert [one.text for one in memory.history(bike)][-2] == "Of bikes alone."


def test_a_repair_that_changes_nothing_makes_no_version(world: World, mixed: Mixed):
    memory, _, tea, bike = mixed
    memory.upkeep.repair()
    before = [memory.history(topic) for topic in (tea, bike)]
    assert memory.upkeep.repair().events == ()
    assert [memory.history(topic) for topic in (tea, bike)] == before
