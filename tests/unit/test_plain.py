"""Everything that a public method returns is data: a dict, JSON, a pickle, and what a web handler may return."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import TypeAdapter

import memoryos
from memoryos import Attachment, Listing, Memory, MemoryOS, Role, Turn, stores
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.plain import Plain, PlainContent, plain
from public import function_of, methods_of
from sources import MODULES, SOURCE


def classes_in(hint: Any) -> Iterator[type]:
    """The project's own classes that an annotation names."""
    if inspect.isclass(hint) and hint.__module__.startswith("memoryos"):
        yield hint
    for inner in get_args(hint):
        yield from classes_in(inner)


RETURNED = {
    one
    for kind in (Memory, MemoryOS)
    for name in methods_of(kind)
    for one in classes_in(get_type_hints(function_of(kind, name))["return"])
} | {
    one
    for function in (stores.backup, stores.restore, stores.copy, stores.verify, stores.scrub)
    for one in classes_in(get_type_hints(function)["return"])
}


@pytest.mark.parametrize("kind", sorted(RETURNED - {Memory, MemoryOS, AnswerStream}, key=lambda one: one.__name__))
def test_what_is_returned_is_plain(kind):
    assert issubclass(kind, Plain)
    for one in fields(kind) if is_dataclass(kind) else ():
        assert one.name.isidentifier()


@pytest.fixture
def memory(tmp_path) -> Iterator[Memory]:
    with memoryos.open(tmp_path / "a.db", user="ann", session="monday") as memory:
        memory.add("My boat is called Aurora.", "A fine name.", tags=["boats"], metadata={"deck": [1, "a"]})
        memory.add_many([Turn(role=Role.USER, text="🛶 我住在成都。", attachments=(Attachment(caption="a map"),))])
        memory.facts.add("has a boat")
        memory.profile.set("name", "Ann")
        memory.consolidate()
        yield memory


VALUES = {
    "search": lambda memory: memory.search("What is my boat called?", explain=True),
    "turns": lambda memory: memory.search("boat", explain=True).turns[0],
    "two_stage": lambda memory: memory.search("boat", strategy="two_stage", explain=True),
    "context": lambda memory: memory.context("boat"),
    "digest": lambda memory: memory.digest(),
    "get": lambda memory: memory.pages.list()[0],
    "listing": lambda memory: memory.pages.list(limit=1),
    "no listing": lambda memory: memory.segments.list(),
    "pipelines": lambda memory: memory.pipelines.list(),
    "hit": lambda memory: memory.search("boat").hits[0],
    "profile": lambda memory: memory.profile.get(),
    "stats": lambda memory: memory.stats(),
    "diff": lambda memory: memory.governance.diff(memory.update(memory.pages.list()[0].id, "My boat sank.").id),
    "provenance": lambda memory: memory.governance.provenance(memory.profile.get().user.profile[0].id),
    "events": lambda memory: memory.log.events()[0],
    "repair": lambda memory: memory.upkeep.repair(),
    "scope": lambda memory: memory.scope,
    "caller": lambda memory: memory.caller,
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_becomes_json_and_a_pickle_and_is_copied(memory, name):
    value = VALUES[name](memory)
    assert json.loads(value.to_json()) == value.to_dict()
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value


def annotated(returned: Any, value: Any) -> Any:
    """A handler with this return annotation."""

    def handler():
        return value

    handler.__annotations__["return"] = returned
    return handler


@pytest.mark.parametrize("name", VALUES)
def test_a_web_handler_that_names_what_it_returns_sends_what_to_dict_tells(memory, name):
    value, app = VALUES[name](memory), FastAPI()
    app.get("/class")(annotated(type(value), value))
    app.get("/model", response_model=type(value))(lambda: value)
    app.get("/inside")(annotated(dict[str, Any], {"value": value}))
    with TestClient(app) as client:
        assert client.get("/class").json() == value.to_dict()
        assert client.get("/model").json() == value.to_dict()
        assert client.get("/inside").json() == {"value": value.to_dict()}
        assert client.get("/openapi.json").status_code == 200


def test_every_method_that_returns_values_of_ours_returns_a_listing_of_them():
    returned = {
        f"{kind.__name__}.{name}": get_type_hints(function_of(kind, name))["return"]
        for kind in (Memory, MemoryOS)
        for name in methods_of(kind)
    }
    several = {name for name, hint in returned.items() if get_origin(hint) in (list, tuple, Sequence)}
    assert {name for name in several if any(classes_in(returned[name]))} == set()
    assert sum(inspect.isclass(one := get_origin(hint)) and issubclass(one, Listing) for hint in returned.values()) > 30


LISTINGS = {
    "history": lambda memory: memory.history(memory.pages.list()[0].id),
    "tagged": lambda memory: memory.tagged("boats"),
    "events": lambda memory: memory.log.events(),
    "usage": lambda memory: memory.log.usage(),
    "jobs": lambda memory: memory.jobs.list(),
    "branches": lambda memory: memory.branches.list(),
    "holds": lambda memory: memory.governance.holds(),
    "mounts": lambda memory: memory.mounts.list(),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_list_that_has_no_parts_is_a_listing_too(memory, name):
    memory.governance.hold(reason="case of Smith", memory=memory.pages.list()[0].id)
    listing = LISTINGS[name](memory)
    assert type(listing) is Listing
    assert json.loads(listing.to_json()) == listing.to_dict()
    assert listing.to_dict() == {"items": [one.to_dict() for one in listing], "cursor": None}
    assert len(listing) > 0 or name in {"usage", "jobs", "branches", "mounts"}


def descendants_of(kind: type) -> set[type]:
    return {kind}.union(*(descendants_of(one) for one in kind.__subclasses__()))


for module in MODULES:  # or the tests there are would depend on what others have imported
    if re.search(r"^class \w+\(.*\bPlain\b", module.read_text("utf-8"), re.MULTILINE):
        import_module(".".join(module.relative_to(SOURCE.parent).with_suffix("").parts))
PUBLIC = {getattr(memoryos, name) for name in memoryos.__all__}
EVERYTHING = {one for one in PUBLIC if inspect.isclass(one) and issubclass(one, Plain)} | descendants_of(Plain)


@pytest.mark.parametrize("kind", sorted(EVERYTHING - {Plain, PlainContent}, key=repr))
def test_pydantic_writes_every_value_as_to_dict_tells(kind, monkeypatch):
    value = kind.__new__(kind)
    monkeypatch.setattr(kind, "to_dict", lambda self: {"told": 1})
    for one in (TypeAdapter(kind), TypeAdapter(Any)):
        assert one.dump_python(value) == one.dump_python(value, mode="json") == {"told": 1}
        assert json.loads(one.dump_json(value)) == {"told": 1}
    assert TypeAdapter(kind).validate_python(value) is value
    assert TypeAdapter(kind).json_schema(mode="serialization")["type"] == "object"


def test_a_segment_has_an_id_as_pages_and_facts_have(memory):
    memory.add_many([Turn(role=Role.USER, text=f"My boat has {number} sails.") for number in range(12)])
    segment = memory.segments.list()[0]
    assert segment.id == segment.cube.id == segment.to_dict()["id"]


def test_a_hit_tells_what_a_reader_wants(memory):
    hit = memory.search("What is my boat called?").hits[0].to_dict()
    assert hit["text"] == "user: My boat is called Aurora.\nassistant: A fine name."
    assert [(turn["role"], turn["text"]) for turn in hit["turns"]] == [
        ("user", "My boat is called Aurora."),
        ("assistant", "A fine name."),
    ]
    assert (hit["kind"], hit["tags"], hit["scope"]["user"]) == ("page", ["boats"], "ann")
    assert hit["score"] > 0


@pytest.mark.parametrize("kind", ["hits", "turns", "user_facts", "ranked"])
def test_what_the_dict_of_a_hit_has_is_an_attribute_of_the_hit(memory, kind):
    for hit in getattr(memory.search("What is my boat called?"), kind):
        told = hit.to_dict()
        told.pop("attachments", None)
        own = {name: getattr(hit, name) for name in told if name not in ("turn", "start", "end")}  # of the passage
        assert json.loads(json.dumps(plain(own))) == {name: told[name] for name in own}


def test_a_hit_and_its_cube_have_what_the_caller_passed(memory):
    hit = next(hit for hit in memory.search("What is my boat called?").hits if hit.tags)
    for one in (hit, hit.cube):
        assert (one.kind, one.tags, one.metadata, one.title) == ("page", ("boats",), {"deck": [1, "a"]}, None)
    assert memory.search("boat").turns[0].metadata == {"deck": [1, "a"]}


def test_a_profile_is_told_by_its_fields(memory):
    assert memory.profile.get().to_dict()["user"]["profile"]["name"] == "Ann"
    assert [fact["text"] for fact in memory.profile.get().to_dict()["user"]["facts"]] == ["has a boat"]
