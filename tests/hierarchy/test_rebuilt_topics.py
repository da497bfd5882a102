"""Topics through a rebuild: their versions stay, and so does what a person wrote of them, until a page goes."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

import memoryos
from hierarchy.world import ANN, Symbols, World
from memoryos import Memory
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.infrastructure.vault.soundness import verify
from memoryos.kinds import Kind, Origin
from public import store_of

from .test_repair import BIKE, MOON, QUIET, TEA, home, rehome, remember

REBUILT = "rebuild: formed again from its pages"


class Stopped(Exception):
    """The process ends here."""


def talk(world: World) -> tuple[Memory, list[str], str, str]:
    """A memory, its pages, and the topics of tea and of bikes."""
    memory = world.open(**QUIET)
    ids = remember(memory, TEA, TEA, TEA, BIKE, BIKE, "🚲 bike with a zanzibarquux")
    return memory, ids, home(world, ids[0]), home(world, ids[3])


def said(memory: Memory, name: str) -> list[str]:
    return [one.text for one in memory.history(name)]


def stored(world: World) -> str:
    """Every value of every table, and every version of each memory: of the tables, some have them packed."""
    with world.vault.snapshot() as connection:
        rows = [list(connection.execute(table.select())) for table in tables.metadata.sorted_tables]
    with world.vault.read(ANN) as reader:
        versions = [one.to_dict() for place in reader.placed() for one in reader.history(place.id)]
    return f"{rows} {json.dumps(versions)}"


def test_what_a_person_wrote_of_a_topic_stays_through_rebuilds(world: World):
    memory, _, tea, bikes = talk(world)
    memory.update(tea, "Of tea.", reason="shorter")
    before = memory.history(tea)
    memory.upkeep.rebuild()
    memory.upkeep.rebuild()
    assert {view.cube.id for view in memory.segments.list()} == {tea, bikes}
    now = memory.get(tea)
    assert (now.text, now.payload.written, now.descriptive.origin) == ("Of tea.", "Of tea.", Origin.USER_INPUT)
    assert memory.history(tea)[: len(before)] == before
    notes = memory.governance.provenance(tea).versions
    assert [(one.by, one.reason) for one in notes[-3:]] == [
        ("ann", "shorter"),
        ("memoryos", REBUILT),
        ("memoryos", REBUILT),
    ]
    memory.add(TEA)
    memory.add(MOON)
    memory.wait()
    assert memory.get(tea).text.startswith("Of tea.")
    assert memory.governance.rollback(tea, 1).text == before[0].text
    with world.vault.read(ANN) as reader:
        assert reader.sources([tea, bikes], LinkKind.TOLD_IN) == [], "each page is where it was"
    assert verify(world.vault).is_sound


def test_a_topic_that_has_other_pages_after_a_rebuild_keeps_what_it_said_as_a_version_until_a_page_goes(world: World):
    memory, ids, tea, _ = talk(world)
    rehome(world, ids[3:], tea)
    memory.update(tea, "Of tea, and of a bike with a zanzibarquux.")
    count = len(said(memory, tea))
    memory.upkeep.rebuild()
    assert (home(world, ids[0]), home(world, ids[5]) == tea) == (tea, False)
    assert "zanzibarquux" not in memory.get(tea).text
    assert memory.get(tea).descriptive.origin is Origin.INFERENCE
    assert said(memory, tea)[count - 1 :] == ["Of tea, and of a bike with a zanzibarquux.", memory.get(tea).text]
    changed = {one.field: (one.before, one.after) for one in memory.governance.diff(tea).changes}
    assert changed["pages"] == ("6", "3")
    memory.delete(ids[5])
    assert said(memory, tea) == [memory.get(tea).text]
    assert "zanzibarquux" not in stored(world)


def test_a_topic_whose_pages_are_all_in_another_one_hands_on_what_a_person_wrote(world: World):
    memory, ids, tea, _ = talk(world)
    rehome(world, [ids[2]], "apart", opens=True)
    apart = home(world, ids[2])
    assert apart != tea
    memory.update(apart, "Of the third tea.")
    before = said(memory, tea)
    memory.upkeep.rebuild()
    assert home(world, ids[2]) == tea
    assert said(memory, tea)[len(before) :] == [memory.get(tea).text, "Of the third tea.", memory.get(tea).text]
    notes = memory.governance.provenance(tea).versions
    assert [one.reason for one in notes[-3:]] == [
        REBUILT,
        "what was written of a topic whose pages joined this one",
        REBUILT,
    ]
    assert len(memory.segments.list(archive=True)) == 2
    assert verify(world.vault).is_sound


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_page_that_goes_while_a_rebuild_runs_takes_what_its_topic_said(world: World, steps: int):
    memory, ids, tea, bikes = talk(world)
    memory.update(bikes, "Of a bike with a zanzibarquux.", reason="there was a zanzibarquux")
    memory.update(tea, "Of tea.")
    left = [steps]

    def progress(_done: int, _total: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Stopped

    with pytest.raises(Stopped):
        memory.upkeep.rebuild(progress=progress)
    memory.delete(ids[5])
    assert "zanzibarquux" not in stored(world)
    memory.upkeep.rebuild()
    assert memory.get(tea).text == "Of tea."
    assert {view.cube.id for view in memory.segments.list(archive=True)} >= {tea}
    with world.vault.read(ANN) as reader:
        assert [cube.mark for cube in reader.cubes(Kind.SEGMENT)] == [None, None]
    assert verify(world.vault).is_sound


def test_a_topic_is_imported_without_what_it_said_of_a_page_that_left_it_and_is_gone(world: World, tmp_path):
    memory = world.open(**QUIET)
    ids = remember(memory, TEA, TEA, TEA, BIKE, BIKE)
    ids.append(memory.add("🚲 bike with a zanzibarquux", ttl=timedelta(days=1)))
    remember(memory, MOON)
    tea = home(world, ids[0])
    rehome(world, ids[3:], tea)
    memory.update(tea, "Of tea, and of a bike with a zanzibarquux.")
    memory.upkeep.rebuild()
    memory.governance.rollback(tea, len(said(memory, tea)) - 1)
    memory.export(tmp_path / "ann.jsonl")
    for days, is_there in ((0, True), (2, False)):
        now = world.clock() + timedelta(days=days)
        place = tmp_path / f"{days}.db"
        with memoryos.open(place, user="ann", embedder=Symbols(), clock=lambda now=now: now) as other:
            store_of(other).admin.load(tmp_path / "ann.jsonl")
            assert ("zanzibarquux" in json.dumps([one.to_dict() for one in other.history(tea)])) is is_there
            if is_there:
                other.delete(ids[5])
            assert [one.text for one in other.history(tea)] == [other.get(tea).text]
            assert "zanzibarquux" not in other.get(tea).text
