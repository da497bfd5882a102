"""Rebuild: the same memory again, made of its raw pages alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from hierarchy.world import ANN, LineExtractor, World, texts
from memoryos import Memory, Role, Scope, Turn
from memoryos.errors import StillRunning
from memoryos.infrastructure.vault.records import JobState, LinkKind, Operation
from memoryos.kinds import Kind, Origin, Tier
from memoryos.operation.maintenance import moves
from memoryos.operation.maintenance.rebuild import AT_A_TIME, stage_of

SMALL = {"short_term_capacity": 3, "mid_term_capacity": 4, "heat_threshold": 5.0, "segment_threshold": 1.2}
TALK = [
    "🍵 kettle",
    "🚲 pedal",
    "🌙 crater",
    "🍞 dough",
    "🚂 station",
    "🎲 board",
    "🌧 umbrella",
    "🎵 tune",
    "🐈 whiskers",
]
BEN = Scope(user="ann", agent="ben")


class Stopped(Exception):
    """The process ends here."""


def dialogue(count: int) -> Iterator[Turn]:
    """Topics that come back, one of them often, and pages with facts."""
    for number in range(count):
        topic = TALK[number // 4 % len(TALK) if number % 3 else 0]
        yield Turn(role=Role.USER, text=f"{topic} {topic}\nfact: I saw number {number % 40} 蜜蜂")
        yield Turn(role=Role.ASSISTANT, text=f"{topic} indeed")


def filled(world: World, count: int, **settings: object) -> Memory:
    """A memory into which that many pages came at once."""
    memory = with_lines(world.open(**{**SMALL, **settings}))
    memory.add_many(dialogue(count))
    return memory


def with_lines(memory: Memory) -> Memory:
    """The memory, reading lines, so that a test can say what is a fact."""
    object.__setattr__(memory._engine.promoter, "extractor", LineExtractor())
    return memory


def picture(memory: Memory, world: World, scope: Scope = ANN) -> dict[str, object]:
    """All that is derived, without ids."""
    with world.vault.read(scope) as reader:
        pages = {page.id: index for index, page in enumerate(reader.cubes(Kind.PAGE))}
        segments = reader.cubes(Kind.SEGMENT)
        vectors = reader.vectors(segment.id for segment in segments)
        chains = {(pages[link.source], pages[link.target]) for link in reader.targets(pages, LinkKind.CHAIN)}
        members = [
            [pages[link.source] for link in reader.sources([segment.id], LinkKind.MEMBER_OF)] for segment in segments
        ]
        return {
            "pages": [
                (page.tier, page.state, page.payload, page.behaviour.fingerprint, page.behaviour.visits)
                for page in reader.cubes(Kind.PAGE)
            ],
            "chains": chains,
            "segments": [(segment.tier, segment.payload, segment.behaviour.interactions) for segment in segments],
            "members": members,
            "centroids": [vectors[segment.id].tolist() for segment in segments],
            "learned": [
                (cube.tier, cube.payload, [pages[page] for page in cube.descriptive.provenance])
                for kind in (Kind.FACT, Kind.TRAIT, Kind.PROFILE)
                for cube in reader.cubes(kind)
            ],
            "passages": [passage._replace(page="", segment=None) for passage in reader.passages()],
        }


def learned(memory: Memory) -> list[str]:
    return sorted(fact.text for fact in memory.profile.get().user.facts)


def test_a_rebuild_that_runs_out_of_time_goes_on_by_itself(world):
    memory = filled(world, 133)
    before = picture(memory, world)
    old = {view.cube.id for view in memory.segments.list(archive=True)}
    told: list[int] = []
    with pytest.raises(StillRunning):
        memory.upkeep.rebuild(timeout=0, progress=lambda done, total: told.append(done))
    assert told == []
    memory.wait()
    assert picture(memory, world) == before
    assert old.isdisjoint(view.cube.id for view in memory.segments.list(archive=True))


@pytest.mark.parametrize("count", [0, 1, 3, 4, 30, 133])
def test_an_untouched_memory_becomes_the_same_again(world, count):
    memory = filled(world, count)
    before = picture(memory, world)
    old = {view.cube.id for view in memory.segments.list(archive=True)}
    memory.upkeep.rebuild()
    assert picture(memory, world) == before
    assert old.isdisjoint(view.cube.id for view in memory.segments.list(archive=True))
    memory.upkeep.rebuild()
    assert picture(memory, world) == before


def test_the_memory_that_becomes_the_same_has_everything_that_is_derived(world):
    found = picture(filled(world, 133), world)
    assert {tier for tier, *_ in found["pages"]} == {Tier.STM, Tier.MTM, Tier.ARCHIVE}
    assert len(found["chains"]) > 5
    assert len(found["learned"]) > 5
    assert {len(members) > 1 for members in found["members"]} == {True, False}


def test_it_makes_again_what_was_damaged(world):
    memory = filled(world, 30)
    before = picture(memory, world)
    with world.vault.write(ANN) as writer:
        writer.delete([segment.id for segment in writer.cubes(Kind.SEGMENT)][::2])
        writer.delete([fact.id for fact in writer.cubes(Kind.FACT)][::2])
        links = writer.targets((page.id for page in writer.cubes(Kind.PAGE)), LinkKind.CHAIN)
        writer.unlink(links[::2])
    assert picture(memory, world) != before
    memory.upkeep.rebuild()
    assert {**picture(memory, world), "learned": None} == {**before, "learned": None}


def test_what_somebody_stated_or_corrected_stays(world):
    memory = with_lines(world.open(**SMALL))
    memory.facts.add("I am 40", at="2026-01-01T00:00Z")
    memory.profile.set("city", "Oslo", origin=Origin.IMPORT)
    memory.add_many(Turn(role=Role.USER, text=f"🍵 tea\n{line}") for line in ["fact: I own a cat", "city=Rome"] * 4)
    memory.consolidate()
    (cat,) = [fact for fact in memory.profile.get().user.facts if fact.text == "I own a cat"]
    memory.update(cat.id, "I own a dog")
    memory.upkeep.rebuild()
    profile = memory.profile.get().user
    assert sorted(fact.text for fact in profile.facts) == ["I am 40", "I own a dog"]
    assert profile.fields == {"city": "Rome"}
    assert memory.get(cat.id).text == "I own a dog"
    assert [version.text for version in memory.history(cat.id)] == ["I own a cat", "I own a dog"]


def test_what_was_stated_comes_back_when_the_page_that_overruled_it_goes(world):
    memory = with_lines(world.open(**SMALL))
    memory.profile.set("city", "Oslo")
    world.clock.advance(days=1)
    ids = memory.add_many([Turn(role=Role.USER, text="🍵 city"), *[Turn(role=Role.USER, text="city=Rome")] * 4])
    memory.consolidate()
    assert memory.profile.get().user.fields == {"city": "Rome"}
    with world.vault.write(ANN) as writer:  # as if the rules had changed
        writer.delete(ids[1:])
    memory.upkeep.rebuild()
    assert memory.profile.get().user.fields == {"city": "Oslo"}


def test_what_was_read_before_is_read_again_though_it_is_cold(world):
    memory = filled(world, 12, heat_threshold=1000)
    assert learned(memory) == []
    memory.consolidate()
    known = learned(memory)
    assert known
    memory.upkeep.rebuild()
    assert learned(memory) == known
    assert memory.jobs.list(JobState.QUEUED, JobState.LEASED, JobState.DEAD) == []


def cut_off_at_its_end(memory: Memory, world: World) -> None:
    """A rebuild whose process ends when all is asked for and nothing is read yet."""
    is_running = True
    while is_running:
        with pytest.raises(Stopped):
            memory.upkeep.rebuild(progress=stopping_after(1))
        with world.vault.read(ANN) as reader:
            is_running = stage_of(reader) is not None


@pytest.mark.parametrize("count", [3, 12, 70])  # in STM alone, in segments, in more than one step
def test_what_waits_to_be_read_again_is_read_after_another_rebuild(world, count):
    memory = filled(world, count, heat_threshold=1000)
    memory.consolidate()
    known = learned(memory)
    assert known
    for _ in range(2):
        cut_off_at_its_end(memory, world)
        assert learned(memory) == []
        assert memory.jobs.list(JobState.QUEUED)
    memory.upkeep.rebuild()
    assert learned(memory) == known


def test_visits_of_pages_are_kept(world):
    memory = filled(world, 20)
    memory.search("🍵 kettle")
    memory.close()
    memory = with_lines(world.open(**SMALL))
    before = [page.behaviour.visits for page in memory.pages.list()]
    assert sum(before) > 0
    memory.upkeep.rebuild()
    assert [page.behaviour.visits for page in memory.pages.list()] == before


def test_other_scopes_are_left_alone(world):
    memory = filled(world, 20)
    memory.of(BEN).add_many(dialogue(20))
    with world.vault.read(BEN) as reader:
        before = reader.sequence()
    memory.upkeep.rebuild()
    with world.vault.read(BEN) as reader:
        assert reader.sequence() == before


def test_a_shared_persona_keeps_what_other_agents_pages_support(world):
    memory = with_lines(world.open(**SMALL, persona_sharing="user"))
    for scope in (ANN, BEN):
        memory.of(scope).add_many([Turn(role=Role.USER, text="🍵 tea\ntrait: Patience")] * 5)
        memory.of(scope).consolidate()
    (before,) = memory.profile.get().user.traits
    with world.vault.write(ANN) as writer:
        writer.delete([page.id for page in writer.cubes(Kind.PAGE)])
    memory.of(BEN).upkeep.rebuild()
    (after,) = memory.profile.get().user.traits
    assert len(before.descriptive.provenance) == 10
    assert after.payload.level == "low" if len(after.descriptive.provenance) < 3 else "medium"
    assert set(after.descriptive.provenance) <= {page.id for page in memory.of(BEN).pages.list()} | set(
        before.descriptive.provenance
    )


def stopping_after(steps: int):
    """A progress that ends the process after so many steps."""
    left = [steps]

    def progress(done: int, total: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Stopped

    return progress


def test_one_that_is_cut_off_goes_on_and_answers_all_the_time(world):
    memory = with_lines(world.open(**SMALL))
    # one step of moves, for which segments stay depends on what is extracted between two of them
    count = world.vault.pages_at_once(moves.AT_A_TIME) - 2
    memory.add_many(dialogue(count))
    memory.profile.set("city", "Rome")
    before = picture(memory, world)
    steps, stage = 0, True
    while stage:
        with pytest.raises(Stopped):
            memory.upkeep.rebuild(progress=stopping_after(1))
        steps += 1
        with world.vault.read(ANN) as reader:
            stage = stage_of(reader)
            assert reader.census().of(Kind.PAGE) == count
        other = with_lines(world.open(**SMALL))
        assert len(other.search("蜜蜂", archive=True).hits) == 10  # few, for who has many visits to write goes on
        other.search("kettle", strategy="two_stage")
        assert other.segments.list() or stage
        assert other.profile.get().user.fields == {"city": "Rome"}  # stated
    memory.jobs.run()
    assert steps >= 8
    assert {**picture(memory, world), "pages": None} == {**before, "pages": None}
    with world.vault.read(ANN) as reader:
        assert stage_of(reader) is None
        assert [reader.note(f"rebuild.{number}") for number in range(10)] == [None] * 10


def test_the_next_write_goes_on_with_one_that_was_cut_off(world):
    memory = filled(world, 30)
    with pytest.raises(Stopped):
        memory.upkeep.rebuild(progress=stopping_after(2))
    added = memory.add("🍵 one more")
    assert memory.pages.list(tier=Tier.STM)[-1].id == added
    assert len(memory.pages.list(tier=Tier.STM)) == 3
    assert learned(memory)


def test_pages_that_come_in_meanwhile_find_their_place(world):
    memory = filled(world, AT_A_TIME + 10)
    other = with_lines(world.open(**SMALL))
    new: list[str] = []

    def progress(_done: int, _total: int) -> None:
        new.extend(Memory.add_many(other, [Turn(role=Role.USER, text=f"🎲 board {len(new)}")]))

    memory.upkeep.rebuild(progress=progress)
    other.wait()
    assert new
    pages = memory.pages.list()
    assert [page.id for page in pages][-len(new) :] == new
    assert len(pages) == AT_A_TIME + 10 + len(new)
    placed = {page.id for page in pages if page.tier is not Tier.STM}
    assert len(pages) - len(placed) == SMALL["short_term_capacity"]
    with world.vault.read(ANN) as reader:
        assert {link.source for link in reader.targets(placed, LinkKind.MEMBER_OF)} == placed


def test_progress_grows_to_the_number_of_pages(world):
    memory = filled(world, 2 * AT_A_TIME)
    told: list[tuple[int, int]] = []
    memory.upkeep.rebuild(progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (2 * AT_A_TIME, 2 * AT_A_TIME)
    assert {total for _, total in told} == {2 * AT_A_TIME}


def test_it_is_logged_so_that_every_process_follows(world):
    memory = filled(world, 10)
    other = with_lines(world.open(**SMALL))
    other.search("kettle")
    memory.upkeep.rebuild()
    assert [event.operation for event in memory.log.events(limit=10_000)].count(Operation.REFRESH) >= 10
    assert texts(hit.cube for hit in other.search("kettle").hits) == texts(
        hit.cube for hit in memory.search("kettle").hits
    )
    assert json.dumps([hit.topic for hit in other.search("kettle").hits]) == json.dumps(
        [hit.topic for hit in memory.search("kettle").hits]
    )
