from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memoryos.cube import Fact
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.records import Entry, JobKind, Link, LinkKind, Operation, Passage
from memoryos.kinds import Kind, SemanticType, State, Subject, Tier
from memoryos.lifecycle import CubeMark
from memoryos.scope import Scope

ALICE = Scope(user="alice")
MANY = 12_000  # more ids than fit into one statement of any back end


def ids(cubes):
    return [cube.id for cube in cubes]


def test_a_stored_cube_comes_back_equal(vault, store):
    stored = store("I keep bees 🐝 in 杭州").cube
    with vault.read(ALICE) as reader:
        assert reader.get([stored.id]) == {stored.id: stored}


def test_the_session_of_a_cube_is_kept_and_does_not_narrow_reading(vault, store):
    stored = store(scope=Scope(user="alice", session="monday")).cube
    with vault.read(Scope(user="alice", session="tuesday")) as reader:
        assert reader.get([stored.id])[stored.id].scope.session == "monday"


def test_unknown_ids_are_passed_over(vault, store):
    stored = store().cube
    with vault.read(ALICE) as reader:
        assert set(reader.get(["nobody", stored.id, ""])) == {stored.id}


def test_nothing_is_asked_nothing_comes(vault, store):
    store()
    with vault.read(ALICE) as reader:
        assert reader.get([]) == {}
        assert reader.vectors([]) == {}
        assert reader.targets([], LinkKind.CHAIN) == []
        assert list(reader.passages([])) == []


def test_empty_writes_change_nothing(vault):
    with vault.write(ALICE) as writer:
        writer.insert([])
        writer.update([], Operation.REVISE)
        writer.delete([])
        writer.link([])
        writer.unlink([])
        writer.enqueue(JobKind.EXTRACT, [])
        assert writer.events() == []


def test_cubes_come_in_the_order_they_were_inserted(vault, entry):
    # The ids sort the other way round, and all have the same moment.
    entries = [entry(id=f"id-{999 - index:03d}") for index in range(300)]
    with vault.write(ALICE) as writer:
        for start in range(0, 300, 7):
            writer.insert(entries[start : start + 7])
    with vault.read(ALICE) as reader:
        assert ids(reader.cubes(Kind.PAGE)) == [made.cube.id for made in entries]


def test_the_order_survives_updates_and_deletions(vault, store):
    first, second, third = (store().cube for _ in range(3))
    with vault.write(ALICE) as writer:
        writer.update([Entry(first.moved(Tier.MTM))], Operation.MOVE)
        writer.delete([third.id])
    fourth = store().cube
    with vault.read(ALICE) as reader:
        assert ids(reader.cubes(Kind.PAGE)) == [first.id, second.id, fourth.id]


def test_cubes_are_chosen_by_kind_tier_and_subject(vault, store, cube):
    page = store(tier=Tier.MTM).cube
    of_user, of_agent = (
        cube(Fact(subject=subject, text="likes tea"), tier=Tier.LPM, semantic_type=SemanticType.FACT)
        for subject in (Subject.USER, Subject.AGENT)
    )
    with vault.write(ALICE) as writer:
        writer.insert([Entry(of_user), Entry(of_agent)])
        assert ids(writer.cubes(Kind.PAGE)) == [page.id]
        assert ids(writer.cubes(Kind.PAGE, tiers=[Tier.STM])) == []
        assert ids(writer.cubes(Kind.PAGE, tiers=[Tier.STM, Tier.MTM])) == [page.id]
        assert ids(writer.cubes(Kind.FACT, subject=Subject.AGENT)) == [of_agent.id]


def test_an_update_takes_the_place_of_the_old_cube(vault, store):
    stored = store().cube
    moved = stored.moved(Tier.ARCHIVE)
    with vault.write(ALICE) as writer:
        writer.update([Entry(moved)], Operation.MOVE)
    with vault.read(ALICE) as reader:
        assert reader.cubes(Kind.PAGE) == [moved]
        assert reader.cubes(Kind.PAGE, tiers=[Tier.STM]) == []


def test_an_update_of_an_unknown_cube_is_refused(vault, page):
    with pytest.raises(StorageError, match="ghost"), vault.write(ALICE) as writer:
        writer.update([Entry(page(id="ghost"))], Operation.MOVE)
    with vault.read(ALICE) as reader:
        assert reader.get(["ghost"]) == {}


def test_an_id_cannot_be_inserted_twice(vault, store, entry):
    stored = store("the first").cube
    with pytest.raises(StorageError), vault.write(ALICE) as writer:
        writer.insert([entry("the second", id=stored.id)])
    with vault.read(ALICE) as reader:
        assert reader.get([stored.id])[stored.id].text == "user: the first"


def test_a_deleted_cube_is_gone_and_deleting_it_again_is_harmless(vault, store):
    stored = store().cube
    for _ in range(2):
        with vault.write(ALICE) as writer:
            writer.delete([stored.id])
    with vault.read(ALICE) as reader:
        assert reader.get([stored.id]) == {}
        assert [event.operation for event in reader.events()] == [Operation.ADD, Operation.DELETE]


def test_all_that_hangs_on_a_deleted_cube_is_gone(vault, store):
    doomed, other = store("a secret garden"), store("another page")
    cube_id = doomed.cube.id
    with vault.write(ALICE) as writer:
        revised = replace(doomed.cube, version=replace(doomed.cube.version, number=2))
        writer.update([Entry(revised)], Operation.REVISE)
        writer.link([Link(cube_id, LinkKind.CHAIN, other.cube.id), Link(other.cube.id, LinkKind.MENTIONS, cube_id)])
        writer.enqueue(JobKind.EXTRACT, [cube_id])
    with vault.write(ALICE) as writer:
        writer.delete([cube_id])
    with vault.read(ALICE) as reader:
        assert reader.vectors([cube_id]) == {}
        assert list(reader.passages([cube_id])) == []
        assert reader.targets([cube_id, other.cube.id], LinkKind.CHAIN) == []
        assert reader.sources([cube_id], LinkKind.MENTIONS) == []
        assert reader.history(cube_id) == []
        assert reader.jobs() == []


def test_nothing_of_a_deleted_cube_comes_back_with_its_id(vault, store):
    old = store("a secret garden").cube
    with vault.write(ALICE) as writer:
        writer.delete([old.id])
    new = store("plain words", id=old.id).cube
    with vault.read(ALICE) as reader:
        assert reader.get([old.id]) == {new.id: new}
        assert reader.history(old.id) == []
        assert [passage.words.split()[:2] for passage in reader.passages([old.id])] == [["plain", "words"]]


def test_thousands_of_ids_fit_into_one_call(vault, page, clock):
    every = [f"page-{index}" for index in range(MANY)]
    made = [page(id=one) for one in every[::100]]  # in each of the statements; nothing is asked of the others
    passages = [Passage(np.ones(1, np.float32), ["word"], clock())]
    with vault.write(ALICE) as writer:
        writer.insert([Entry(cube, passages=passages) for cube in made])
        assert writer.get(every).keys() == set(every[::100])
        assert {passage.page for passage in writer.passages(every)} == set(every[::100])
        writer.delete(every)
        assert writer.cubes(Kind.PAGE) == []
        assert list(writer.passages(every)) == []


def test_the_census_counts_by_kind_and_tier(vault, store, cube):
    for tier in (Tier.STM, Tier.STM, Tier.MTM):
        store(tier=tier)
    with vault.write(ALICE) as writer:
        writer.insert([Entry(cube(Fact(subject=Subject.USER, text="x"), tier=Tier.LPM))])
        census = writer.census()
    assert (census.of(Kind.PAGE, Tier.STM), census.of(Kind.PAGE), census.of(Kind.FACT)) == (2, 3, 1)
    assert census.of(Kind.SEGMENT) == 0


def test_the_first_and_the_last_cubes_of_many(vault, store):
    stored = [store(f"page {number}").cube for number in range(5)]
    with vault.read(ALICE) as reader:
        assert ids(reader.cubes(Kind.PAGE, first=2)) == ids(stored[:2])
        assert ids(reader.cubes(Kind.PAGE, last=2)) == ids(stored[-2:])
        assert ids(reader.cubes(Kind.PAGE, first=9)) == ids(reader.cubes(Kind.PAGE, last=9)) == ids(stored)
        assert reader.cubes(Kind.PAGE, first=0) == reader.cubes(Kind.PAGE, last=0) == []


def test_cubes_of_some_states(vault, store):
    fresh, over = store("fresh").cube, store("over")
    with vault.write(ALICE) as writer:
        writer.update([replace(over, cube=replace(over.cube, state=State.EXPIRED))], Operation.REFRESH)
    with vault.read(ALICE) as reader:
        assert ids(reader.cubes(Kind.PAGE, states=[State.GENERATED])) == [fresh.id]
        assert ids(reader.cubes(Kind.PAGE, states=[State.EXPIRED])) == [over.cube.id]
        assert ids(reader.cubes(Kind.PAGE, states=[State.GENERATED], tiers=[Tier.MTM])) == []


def test_cubes_of_some_marks(vault, store):
    fresh, chained = store("fresh").cube, store("chained")
    with vault.write(ALICE) as writer:
        writer.update([replace(chained, cube=replace(chained.cube, mark=CubeMark.CHAINED))], Operation.CHAIN)
    with vault.read(ALICE) as reader:
        assert ids(reader.cubes(Kind.PAGE, marks=[None])) == [fresh.id]
        assert ids(reader.cubes(Kind.PAGE, marks=[CubeMark.CHAINED])) == [chained.cube.id]
        assert ids(reader.cubes(Kind.PAGE, marks=[None, CubeMark.CHAINED])) == [fresh.id, chained.cube.id]
        assert reader.cubes(Kind.PAGE, marks=[None], tiers=[Tier.MTM]) == []
