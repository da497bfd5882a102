from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryos import cube as cubes
from memoryos.cube import (
    Access,
    Activation,
    Attachment,
    Behaviour,
    Blob,
    Descriptive,
    Fact,
    Governance,
    Lifespan,
    MemCube,
    Page,
    Parameter,
    ProfileField,
    Segment,
    Trait,
    Turn,
    Version,
    from_json,
    to_json,
)
from memoryos.errors import InvalidInput
from memoryos.kinds import Kind, MemoryType
from memoryos.lifecycle import CubeMark
from memoryos.scope import Scope, namespace_from_path

text = st.text(max_size=40)
label = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), min_size=1, max_size=30).filter(str.strip)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moment = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC) | zones)
count = st.integers(0, 2**53)


def some(values):
    return st.lists(values, max_size=3).map(tuple)


def build(kind, **fields):
    """Every field: an enum by its type, another by its strategy; also one that has a default."""
    enums = {name: st.sampled_from(value) for name, value in fields.items() if isinstance(value, type)}
    return st.builds(kind, **(fields | enums))


attachment = build(Attachment, caption=text, uri=st.none() | text, media_type=st.none() | text)
turn = build(
    Turn,
    role=cubes.Role,
    text=text,
    speaker=st.none() | text,
    at=st.none() | moment,
    source_id=st.none() | text,
    attachments=some(attachment),
)
blob = build(Blob, sha256=st.from_regex("[0-9a-f]{64}", fullmatch=True), size_bytes=count, format=text)
PAYLOADS = {
    Kind.PAGE: build(Page, turns=some(turn), chain_summary=text, chain_written=text),
    Kind.SEGMENT: build(
        Segment, summary=text, keywords=some(st.tuples(text, count)), pages=count, first_at=moment, last_at=moment
    ),
    Kind.FACT: build(Fact, subject=cubes.Subject, text=text, quote=text, confidence=st.floats(0, 1)),
    Kind.TRAIT: build(
        Trait, subject=cubes.Subject, dimension=text, level=cubes.Level, reason=text, confidence=st.floats(0, 1)
    ),
    Kind.PROFILE: build(ProfileField, subject=cubes.Subject, field=text, value=text, quote=text),
    Kind.ACTIVATION: build(Activation, model=text, text=text, tokens=count, blob=blob),
    Kind.PARAMETER: build(
        Parameter, model=text, method=text, modules=some(text), rank=st.integers(1, 512), blob=blob, text=text
    ),
}
scope = build(
    Scope,
    user=label,
    agent=st.none() | label,
    session=st.none() | label,
    tenant=label,
    namespace=st.lists(label, min_size=1, max_size=3).map(tuple),
)
descriptive = build(
    Descriptive,
    event_at=moment,
    recorded_at=moment,
    updated_at=moment,
    origin=cubes.Origin,
    semantic_type=cubes.SemanticType,
    tags=some(text),
    source_ids=some(text),
    provenance=some(text),
    derived_by=st.none() | text,
    valid_from=st.none() | moment,
    valid_to=st.none() | moment,
)
governance = build(
    Governance,
    access=build(Access, mode=cubes.AccessMode),
    lifespan=build(Lifespan, expires_at=st.none() | moment),
    sensitivity=some(text),
)
behaviour = build(Behaviour, last_access=moment, visits=count, interactions=count, fingerprint=some(text))
version = build(
    Version,
    number=st.integers(1, 2**31 - 1),
    supersedes=st.none() | text,
    superseded_by=st.none() | text,
    superseded_at=st.none() | moment,
)


def mem_cube(payload):
    return build(
        MemCube,
        id=label,
        scope=scope,
        tier=cubes.Tier,
        payload=payload,
        descriptive=descriptive,
        behaviour=behaviour,
        state=cubes.State,
        governance=governance,
        version=version,
    )


def places(value, path=()):
    """The path of every object in a JSON value."""
    if isinstance(value, dict):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_payload_is_tried(kind):
    assert kind in PAYLOADS


@pytest.mark.parametrize("kind", PAYLOADS)
@settings(max_examples=30)  # of each kind
@given(data=st.data())
def test_json_gives_back_the_same_cube(kind, data):
    cube = data.draw(mem_cube(PAYLOADS[kind]))
    text = to_json(cube)
    again = from_json(text)
    assert again == cube
    assert type(again.payload) is type(cube.payload)
    assert to_json(again) == text
    assert from_json(text.encode()) == cube


@given(mem_cube(st.one_of(*PAYLOADS.values())))
def test_json_is_plain_utf_8_with_the_enum_values_in_it(cube):
    document = json.loads(to_json(cube).encode("utf-8"))
    assert document["tier"] == cube.tier.value
    assert document["payload"]["type"] == cube.kind.value
    assert document["descriptive"]["origin"] == cube.descriptive.origin.value
    assert document["schema_version"] == 2


@given(mem_cube(st.one_of(*PAYLOADS.values())), st.data())
def test_an_unknown_field_is_refused_wherever_it_is(cube, data):
    document = json.loads(to_json(cube))
    place = data.draw(st.sampled_from(list(places(document))))
    at(document, place)["surprise"] = 1
    with pytest.raises(InvalidInput) as caught:
        from_json(json.dumps(document))
    assert caught.value.field.endswith("surprise")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (["tier"], "attic", "tier"),
        (["state"], None, "state"),
        (["id"], 7, "id"),
        (["schema_version"], 3, "schema_version"),
        (["payload", "type"], "poem", "payload"),
        (["payload", "confidence"], 1.5, "payload.fact.confidence"),
        (["payload", "confidence"], "high", "payload.fact.confidence"),
        (["payload", "subject"], "cat", "payload.fact.subject"),
        (["descriptive", "event_at"], "2026-06-01T00:00:00", "descriptive.event_at"),
        (["descriptive", "event_at"], "yesterday", "descriptive.event_at"),
        (["behaviour", "visits"], -1, "behaviour.visits"),
        (["behaviour", "visits"], 1.5, "behaviour.visits"),
        (["version", "number"], 0, "version.number"),
        (["governance", "access", "mode"], "public", "governance.access.mode"),
        (["scope", "user"], "", "scope"),
        (["scope", "namespace"], [], "scope"),
    ],
)
def test_a_bad_value_is_refused_by_name(cube, path, value, field):
    document = json.loads(to_json(cube(Fact(subject=cubes.Subject.USER, text="likes tea"))))
    at(document, path[:-1])[path[-1]] = value
    with pytest.raises(InvalidInput) as caught:
        from_json(json.dumps(document))
    assert caught.value.field == field or caught.value.field.startswith(f"{field}.")


def test_fields_that_never_had_an_effect_are_read_from_older_stores_and_dropped(page):
    known = page()
    document = json.loads(to_json(known))
    governance = document["governance"]
    older = {"priority": "pinned", "watermark": "mine"}
    access, lifespan = {"readers": ["bob"], "writers": [], "sharers": []}, {"decay": "heat"}
    governance |= older
    governance["access"] |= access
    governance["lifespan"] |= lifespan
    assert from_json(json.dumps(document)) == known
    for kind, name in ((Governance, "priority"), (Access, "readers"), (Lifespan, "decay")):
        with pytest.raises(InvalidInput, match=f"{kind.__name__.lower()}.{name}"):
            kind(**{name: "x"})


@pytest.mark.parametrize("name", ["id", "scope", "tier", "payload", "descriptive", "behaviour"])
def test_a_missing_field_is_refused_by_name(page, name):
    document = json.loads(to_json(page()))
    del document[name]
    with pytest.raises(InvalidInput) as caught:
        from_json(json.dumps(document))
    assert caught.value.field == name


@pytest.mark.parametrize("junk", ["", "null", "[]", "{", '"cube"', b"\xff\xfe", "NaN"])
def test_what_is_no_cube_is_refused(junk):
    with pytest.raises(InvalidInput):
        from_json(junk)


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_junk_is_invalid_input_and_nothing_else(junk):
    with pytest.raises(InvalidInput):
        from_json(junk)


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_confidence_is_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence"):
        Fact(subject=cubes.Subject.USER, text="x", confidence=confidence)


@given(mem_cube(st.one_of(*PAYLOADS.values())))
def test_the_kind_says_which_memory_type_it_is(cube):
    others = {Kind.ACTIVATION: MemoryType.ACTIVATION, Kind.PARAMETER: MemoryType.PARAMETER}
    assert cube.memory_type is others.get(cube.kind, MemoryType.PLAINTEXT)
    assert isinstance(cube.text, str)


@given(mem_cube(PAYLOADS[Kind.PAGE]), st.integers(0, 9), moment)
def test_visits_add_up_and_the_last_access_never_goes_back(cube, times, seen_at):
    visited = cube.visited(times, seen_at)
    assert visited.behaviour.visits == cube.behaviour.visits + times
    assert visited.behaviour.last_access == max(cube.behaviour.last_access, seen_at)
    assert visited.payload == cube.payload


@given(mem_cube(st.one_of(*PAYLOADS.values())), st.lists(st.sampled_from(cubes.Tier)))
def test_no_sequence_of_moves_changes_the_state(cube, tiers):
    moved = reduce(MemCube.moved, tiers, cube)
    assert moved == replace(cube, tier=tiers[-1] if tiers else cube.tier)


# Stored in every store there is: a changed value here needs a migration.
STORED = {
    cubes.MemoryType: "plaintext activation parameter",
    cubes.Kind: "page segment fact trait profile activation parameter",
    cubes.Tier: "stm mtm lpm archive",
    cubes.State: "generated activated merged archived expired frozen",
    CubeMark: "chained proposed rejected withdrawn",
    cubes.Origin: "user_input inference retrieval finetuning import",
    cubes.SemanticType: "dialogue topic fact preference trait profile task_prompt capability",
    cubes.Role: "user assistant system tool",
    cubes.Subject: "user agent",
    cubes.Level: "low medium high",
    cubes.AccessMode: "private shared read_only",
}


@pytest.mark.parametrize("enum", STORED)
def test_the_stored_words_do_not_change(enum):
    assert " ".join(member.value for member in enum) == STORED[enum]
    assert all(member == member.value for member in enum)


namespaces = st.lists(label, min_size=1, max_size=4).map(tuple)


@given(namespaces)
def test_a_namespace_can_be_read_back_from_its_path(namespace):
    assert namespace_from_path(Scope(user="u", namespace=namespace).path) == namespace


slashes = st.lists(st.text("/%2F.a", min_size=1, max_size=4), min_size=1, max_size=3).map(tuple)


@given(slashes, slashes)
def test_two_namespaces_never_share_a_path(one, other):
    paths = Scope(user="u", namespace=one).path, Scope(user="u", namespace=other).path
    assert (paths[0] == paths[1]) == (one == other)
