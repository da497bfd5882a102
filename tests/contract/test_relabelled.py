"""`update` changes sensitivity, access and end of a stored memory: of each kind, in its versions, and by policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from contract.test_versions import MADE
from memoryos import AccessMode, Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.models.hashing import Hashing

pytestmark = pytest.mark.each

ANN, HOUR = Scope(user="ann"), timedelta(hours=1)
WARD = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action == Action::"read", resource is Cube)
when { resource.access != "private" && resource.sensitivity.isEmpty() };
permit (principal in Role::"writer", action in [Action::"read", Action::"write"], resource is Cube);
permit (principal in Role::"sharer", action in [Action::"read", Action::"write", Action::"share"], resource is Cube);
permit (principal == User::"tests", action, resource is Cube);
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""
NURSE, WRITER, SHARER = (Caller(f"kim-{role}", frozenset({role})) for role in ("nurse", "writer", "sharer"))


@pytest.fixture
def store(place, clock, tmp_path) -> Iterator[MemoryOS]:
    (tmp_path / "ward.cedar").write_text(WARD)
    settings = load_settings(short_term_capacity=1, policies=str(tmp_path / "ward.cedar"))
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as opened:
        yield opened


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN, Caller("ann"))


def labels(memory: Memory, cube_id: str, **then: str) -> tuple[str, tuple[str, ...], bool]:
    known = memory.get(cube_id, **then).governance
    return known.access.mode.value, known.sensitivity, known.lifespan.expires_at is not None


@pytest.mark.parametrize("kind", MADE)
def test_a_memory_gets_other_labels_and_another_end(ann, clock, kind):
    made = MADE[kind](ann)
    before = ann.get(made)
    clock.advance(minutes=1)
    ann.snapshots.create("before")
    clock.advance(minutes=1)
    told = ann.update(made, sensitivity=["diagnosis"], access="shared", ttl=HOUR)
    assert told == ann.get(made)
    assert (told.text, told.number) == (before.text, before.number + 1)
    assert labels(ann, made) == ("shared", ("diagnosis",), True)
    assert told.governance.lifespan.expires_at == clock.now + HOUR
    assert [one.governance.access.mode for one in ann.history(made)] == [AccessMode.PRIVATE, AccessMode.SHARED]
    assert labels(ann, made, as_of="before") == ("private", (), False)
    ann.update(made, access="private", sensitivity=["address"], expires_at=clock.now + 2 * HOUR)
    assert labels(ann, made) == ("private", ("diagnosis", "address"), True)
    changes = [one for one in ann.governance.provenance(made).labels if one.call == "memory.update"]
    assert [set(one.added) for one in changes] == [{"sensitivity:diagnosis", "access:shared"}, {"sensitivity:address"}]
    clock.advance(hours=2)
    with pytest.raises(NotFound):
        ann.get(made)


def test_searches_and_policies_follow_at_once(store, ann, clock):
    nurse = store.of(ANN, NURSE)
    draft = ann.add("The bees of the garden sting.")

    def seen() -> list[bool]:
        return [bool(who.search("bees").hits) for who in (ann, nurse)]

    ann.update(draft, "The bees of the garden do not sting.")
    assert seen() == [True, False]
    ann.update(draft, access="shared")
    assert seen() == [True, True]
    ann.update(draft, sensitivity=["diagnosis"])
    assert seen() == [True, False]
    ann.update(draft, ttl=60)
    clock.advance(seconds=61)
    assert seen() == [False, False]


def test_what_was_learned_from_a_page_is_as_sensitive_and_ends_with_it(store, ann, clock):
    page = ann.add("I live in Rome.", "ok")
    ann.consolidate()
    (fact,) = ann.facts.list()
    nurse = store.of(ANN, NURSE)
    ann.update(fact.id, access="shared")
    assert nurse.get(fact.id)
    ann.update(page, access="shared", sensitivity=["address"])
    for one in (page, fact.id):
        with pytest.raises(NotFound):
            nurse.get(one)
    (kept,) = ann.facts.list()
    assert kept.governance.lifespan.expires_at is None
    later = ann.add("I work in Bern.", "ok")
    ann.consolidate()
    (work,) = (one for one in ann.facts.list() if "Bern" in one.text)
    for hours in (2, 1, 3):  # nearer, and later
        ann.update(later, ttl=hours * HOUR)
        assert ann.get(work.id).governance.lifespan.expires_at == clock.now + hours * HOUR
    clock.advance(hours=3)
    assert "Bern" not in repr(ann.facts.list())


REFUSED: dict[str, Callable[[Memory, str], object]] = {
    "a writer shares": lambda memory, page: memory.update(page, access="shared"),
    "a writer makes it read-only": lambda memory, page: memory.update(page, access="read_only"),
    "a writer ends it": lambda memory, page: memory.update(page, ttl=60),
}


@pytest.mark.parametrize("name", REFUSED)
def test_labels_take_the_rights_that_they_take_when_a_memory_is_stored(store, ann, name):
    page = ann.add("The bees of the garden sting.")
    before = ann.get(page)
    with pytest.raises(PermissionDenied):
        REFUSED[name](store.of(ANN, WRITER), page)
    assert ann.get(page) == before


@pytest.mark.parametrize("access", ["shared", "read_only"])
def test_who_may_not_share_lifts_no_access(store, ann, access):
    page = ann.add("The bees of the garden sting.", access=access, ttl=HOUR)
    for change in ({"access": "private"}, {"access": "shared" if access == "read_only" else "read_only"}):
        with pytest.raises(PermissionDenied):
            store.of(ANN, WRITER).update(page, **change)
    assert labels(ann, page)[0] == access
    assert store.of(ANN, SHARER).update(page, access="private").governance.access.mode is AccessMode.PRIVATE
    later = store.of(ANN, WRITER).update(page, ttl=2 * HOUR)  # it ends later: nothing goes by that
    assert later.governance.lifespan.expires_at > ann.history(page)[0].governance.lifespan.expires_at


@pytest.mark.parametrize("change", [{"access": "shared"}, {"sensitivity": ["x"]}, {"ttl": 60}], ids=str)
def test_a_topic_has_the_labels_and_the_end_of_its_pages(ann, change):
    ann.add("I hiked in Norway.")
    ann.add("I hiked in Norway again.")
    (topic, *_) = ann.segments.list()
    with pytest.raises(InvalidInput, match="cannot be changed of the kind segment"):
        ann.update(topic.cube.id, **change)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"access": "public"}, "access"),
        ({"ttl": -1}, "ttl"),
        ({"ttl": 60, "expires_at": "2027-01-01"}, "ttl"),
        ({"expires_at": "2001-01-01"}, "expires_at"),
        ({"sensitivity": "diagnosis"}, "sensitivity"),
    ],
)
def test_what_add_refuses_update_refuses(ann, wrong, field):
    page = ann.add("The bees of the garden sting.")
    for call in (lambda: ann.add("x", **wrong), lambda: ann.update(page, **wrong)):
        with pytest.raises(InvalidInput, match=f"^{field}: "):
            call()
