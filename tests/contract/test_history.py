from __future__ import annotations

from dataclasses import replace

import pytest

from memoryos.caller import Caller, acting
from memoryos.errors import CubeProtected, OnHold, StorageError
from memoryos.hold import HeldThing, LegalHold
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import State, Tier
from memoryos.scope import Scope

ALICE = Scope(user="alice")
BOB = Scope(user="bob")


def revised(cube, tag):
    return replace(
        cube,
        descriptive=replace(cube.descriptive, tags=(tag,)),
        version=replace(cube.version, number=cube.version.number + 1),
    )


def test_a_new_cube_has_no_history(vault, store):
    stored = store().cube
    with vault.read(ALICE) as reader:
        assert reader.history(stored.id) == []
        assert reader.history("nobody") == []


def test_revisions_are_kept_oldest_first(vault, store):
    versions = [store().cube]
    for number in range(2, 13):  # past 9, where text would sort wrongly
        versions.append(revised(versions[-1], f"v{number}"))
        with vault.write(ALICE) as writer:
            writer.update([Entry(versions[-1])], Operation.REVISE)
    with vault.read(ALICE) as reader:
        assert reader.history(versions[0].id) == versions[:-1]
        assert reader.get([versions[0].id]) == {versions[0].id: versions[-1]}


def test_only_a_revision_makes_history(vault, store):
    stored = store().cube
    with vault.write(ALICE) as writer:
        writer.update([Entry(stored.moved(Tier.MTM))], Operation.MOVE)
        writer.update([Entry(stored.visited(1, stored.behaviour.last_access))], Operation.VISIT)
        assert writer.history(stored.id) == []


def test_a_revision_that_fails_leaves_no_history(vault, store):
    stored = store().cube
    with pytest.raises(KeyboardInterrupt), vault.write(ALICE) as writer:
        writer.update([Entry(revised(stored, "new"))], Operation.REVISE)
        raise KeyboardInterrupt
    with vault.read(ALICE) as reader:
        assert reader.history(stored.id) == []
        assert reader.get([stored.id]) == {stored.id: stored}


def test_versions_are_told_without_the_cubes(vault, store):
    first, second = store().cube, store().cube
    with vault.write(ALICE) as writer:
        writer.update([Entry(revised(first, "v2"))], Operation.REVISE)
    with vault.read(ALICE) as reader:
        assert reader.versions([first.id, second.id, "nobody"]) == {first.id: 2, second.id: 1}
    with vault.read(Scope(user="bob")) as reader:
        assert reader.versions([first.id]) == {}


def test_versions_of_what_is_deleted_can_go_first(vault, store):
    cube, other = store("a note").cube, store("another").cube
    for number in range(4):
        cube = revised(cube, f"v{number}")
        with vault.write(ALICE) as writer:
            writer.update([Entry(cube)], Operation.REVISE)
    with vault.write(ALICE) as writer:
        kept = writer.kept_versions([cube.id, other.id, "nobody"])
        assert [(one.cube_id, one.number) for one in kept] == [(cube.id, number) for number in (1, 2, 3, 4)]
        assert all(one.size > 0 for one in kept)
        writer.drop_versions(kept[1:3])
    with vault.read(ALICE) as reader:
        assert [one.version.number for one in reader.history(cube.id)] == [1, 4]
        assert reader.get([cube.id]) == {cube.id: cube}


def test_versions_of_others_and_of_what_is_frozen_stay(vault, store):
    cube = revised(store().cube, "new")
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube)], Operation.REVISE)
        kept = writer.kept_versions([cube.id])
    with vault.read(BOB) as reader:
        assert reader.kept_versions([cube.id]) == []
    with pytest.raises(StorageError), vault.write(BOB) as writer:
        writer.drop_versions(kept)
    with vault.write(ALICE) as writer:
        writer.update([Entry(replace(cube, state=State.FROZEN))], Operation.MOVE)
    with pytest.raises(CubeProtected), vault.write(ALICE) as writer:
        writer.drop_versions(kept)
    with vault.read(ALICE) as reader:
        assert len(reader.history(cube.id)) == 1


def test_versions_of_what_is_on_hold_stay(vault, store, clock):
    """The hold may come between the parts of a deletion, of which the first remove versions."""
    cube = revised(store().cube, "new")
    hold = LegalHold("h1", HeldThing.OWNER, None, "a case", "ann", clock())
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube)], Operation.REVISE)
        kept = writer.kept_versions([cube.id])
    with vault.write(ALICE) as writer:
        acting(Caller("ann"), lambda: writer.retention.place(hold))
    with pytest.raises(OnHold, match="h1"), vault.write(ALICE) as writer:
        writer.drop_versions(kept)
    with vault.read(ALICE) as reader:
        assert len(reader.history(cube.id)) == 1
