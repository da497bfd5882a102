"""What has expired is there for no verb of a caller, whatever still keeps it in the store: a sweep or a hold."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope, State, load_settings
from memoryos.errors import MemoryOSError, NotFound
from memoryos.models.hashing import Hashing
from public import function_of, method_of, methods_of

ANN = Scope(user="ann")
SECRET = "zanzibarquux"
UNKNOWN = "0198c0de-0000-7000-8000-000000000000"  # an id that nothing has

# By their names, the parameters that take the id of a memory, and those that take the id of something else.
OF_MEMORIES = {"cube_id", "memory_id", "page_id", "proposal_id", "memory", "ids"}
OF_OTHERS = {"id", "hold_id", "delegation_id", "job_ids", "source_ids"}  # `id`: of an attachment, beside its page
GO_THROUGH = {
    "delete": "it only removes",
    "governance.erase": "it only removes",
    "forms.list": "it lists names and counts, and no words",
}
BUILDERS = ("activations.build", "adapters.train", "forms.transform")
MORE: dict[str, dict[str, Any]] = {
    "update": {"text": "other words"},
    "governance.hold": {"reason": "case 7"},
    "governance.rollback": {"version": 1},
    "governance.relabel": {"access": "private"},
    **{name: {"name": "one"} for name in BUILDERS},
    "pages.attachment": {"id": UNKNOWN},
}


def _ids_of(name: str) -> list[str]:
    return [one for one in inspect.signature(function_of(Memory, name)).parameters if one in OF_MEMORIES]


BY_ID = [name for name in methods_of(Memory) if _ids_of(name)]


@pytest.fixture
def ann(place, clock) -> Iterator[Memory]:
    settings = load_settings(jobs="worker", short_term_capacity=3)
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as opened:
        yield opened.of(ANN)


def _ended(ann: Memory, clock: Any, *, on_hold: bool) -> list[str]:
    """A page and a fact whose lifespans ended, and those that were expired by hand; none is removed yet."""
    minute = timedelta(minutes=1)
    ids = [ann.add(f"The {SECRET} is here.", ttl=minute), ann.facts.add(f"Ann has a {SECRET}.", ttl=minute) or ""]
    by_hand = [ann.add(f"There is a {SECRET}."), ann.facts.add(f"Ben sold a {SECRET}.") or ""]
    for one in by_hand:
        ann.governance.expire(one)
    if on_hold:
        ann.governance.hold(reason="case 7")
    clock.advance(seconds=61)
    return [*ids, *by_hand]


def _outcome(ann: Memory, name: str, cube_id: str, more: dict[str, Any]) -> str:
    """What a verb says of this id: its error, or its result."""
    told: dict[str, Any] = dict.fromkeys(_ids_of(name), cube_id)
    if "ids" in told:
        told["ids"] = [cube_id, *more.pop("beside", [])]
    try:
        result = method_of(ann, name)(**told, **more)
    except MemoryOSError as error:
        return f"{type(error).__name__}: {error}".replace(cube_id, "ID")
    return repr(result).replace(cube_id, "ID")


def _more(ann: Memory, name: str, folder: Path) -> dict[str, Any]:
    if name == "duplicates.merge":
        return {"beside": [ann.add("A page of today.")]}
    if name == "governance.explain":
        (folder / "all.cedar").write_text("permit (principal, action, resource);")
        return {"caller": Caller("kim"), "policies": folder / "all.cedar"}
    return dict(MORE.get(name, {}))


def test_every_parameter_that_takes_an_id_is_known() -> None:
    names = {
        parameter
        for name in methods_of(Memory)
        for parameter in inspect.signature(function_of(Memory, name)).parameters
        if parameter.split("_")[-1] in ("id", "ids", "memory", "memories")
    }
    assert names - OF_MEMORIES - OF_OTHERS == set(), "say whether it takes ids of memories"


@pytest.mark.parametrize("name", [name for name in BY_ID if name not in GO_THROUGH])
@pytest.mark.parametrize("on_hold", [False, True], ids=["swept next", "on hold"])
def test_a_verb_says_of_what_has_expired_what_it_says_of_an_unknown_id(ann, clock, tmp_path, name, on_hold):
    ids, more = _ended(ann, clock, on_hold=on_hold), _more(ann, name, tmp_path)
    unknown = _outcome(ann, name, UNKNOWN, dict(more))
    assert unknown.startswith("NotFound: ")
    before = ann.log.events(limit=10_000)
    told = {one: _outcome(ann, name, one, dict(more)) for one in ids}
    assert set(told.values()) == {unknown}
    assert ann.log.events(limit=10_000) == before  # nothing changed


@pytest.mark.parametrize("name", GO_THROUGH)
def test_what_removes_or_counts_goes_through_and_tells_no_words(ann, clock, name):
    for one in _ended(ann, clock, on_hold=False):
        outcome = _outcome(ann, name, one, {})
        assert "NotFound" not in outcome
        assert SECRET not in outcome


def test_a_hold_is_lifted_and_a_frozen_memory_thawed_after_their_end(ann: Memory, clock: Any) -> None:
    page = ann.add(f"The {SECRET} is here.", ttl=timedelta(minutes=1))
    kept = ann.add("A frozen page.", ttl=timedelta(minutes=1))
    hold = ann.governance.hold(reason="case 7", memory=page)
    ann.governance.freeze(kept)
    clock.advance(seconds=61)
    assert ann.governance.holds() == [hold]
    assert ann.governance.release(hold.id) is None
    assert ann.governance.thaw(kept).state is State.GENERATED
    for one in (page, kept):
        with pytest.raises(NotFound):
            ann.get(one)
