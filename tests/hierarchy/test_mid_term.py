"""MTM: what a segment says about its pages after every join."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
from pydantic import TypeAdapter

from memoryos import Settings, Tier
from memoryos.cube import Page, Segment, Turn
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import Origin, Role
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, formed, opened
from memoryos.operation.intake.ingest import page_cube
from memoryos.scope import Scope

from .world import START, World


def test_the_centroid_is_the_mean_of_the_pages(world: World):
    memory = world.open(short_term_capacity=1)
    for text in ("🍵 tea", "🍵🍵🍵🍵🚲🚲🚲 tea", "🍵🍵🍵🌙🌙🌙🌙 tea", "🍵🐈 tea", "end"):
        memory.add(text)
        for view in memory.segments.list():
            mean = np.mean(world.vectors(*view.page_ids), axis=0)
            assert np.allclose(world.vectors(view.cube.id)[0], mean, atol=1e-6)
    assert [view.cube.payload.pages for view in memory.segments.list()] == [4]


def test_keywords_are_counted_by_page(world: World):
    memory = world.open(short_term_capacity=1)
    for text in ("🍵 milk milk milk cup", "🍵 cups pot", "🍵 cup", "🌙"):
        memory.add(text)
    (segment,) = memory.segments.list()
    assert dict(segment.cube.payload.keywords) == {"cup": 3, "milk": 1, "pot": 1}
    assert segment.keywords[0] == "cup"


def test_the_summary_follows_the_pages(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 The teapot leaks.")
    memory.add("🍵 Grandmother painted it blue.")
    assert memory.segments.list()[0].summary == "🍵 The teapot leaks."
    memory.add("🌙")
    assert "Grandmother painted it blue." in memory.segments.list()[0].summary


def test_the_time_span_follows_the_pages(world: World):
    memory = world.open(short_term_capacity=1)
    days = [START - timedelta(days=day) for day in (5, 9, 2)]
    for at in days:
        memory.add("🍵 tea", at=at)
    memory.add("🌙", at=START)
    payload = memory.segments.list()[0].cube.payload
    assert (payload.first_at, payload.last_at, payload.pages) == (min(days), max(days), 3)


def test_every_page_is_in_one_segment_once(world: World):
    memory = world.open(short_term_capacity=2)
    ids = [memory.add(f"{'🍵🚲🌙'[number % 3]} about {number}") for number in range(14)]
    members = [page for view in memory.segments.list() for page in view.page_ids]
    assert sorted(members) == sorted(ids[:-2])
    assert {page.id for page in memory.pages.list(tier=Tier.MTM)} == set(members)
    assert sorted(view.cube.payload.pages for view in memory.segments.list()) == [4, 4, 4]


def test_a_page_about_two_topics_is_kept_once(world: World):
    memory = world.open(short_term_capacity=1)
    for text in ("🍵 tea", "🚲 bike", "🍵🚲 tea bike", "🌙"):
        memory.add(text)
    assert sorted(view.cube.payload.pages for view in memory.segments.list()) == [1, 2]


def test_a_segment_is_embedded_anew_as_its_topic_drifts(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea")
    for _ in range(9):
        memory.add("🍵🍵🍵🚲🚲🚲🚲 tea")
    memory.add("🌙")
    (segment,) = memory.segments.list()
    [topic] = memory.search("🚲", kinds=["segment"], explain=True).segments
    assert topic.parts["cosine"] > 0.7
    assert segment.cube.payload.pages == 10


def test_a_segment_is_the_same_however_its_pages_came(world: World):
    memory = world.open(short_term_capacity=1)
    for text in (
        "🍵 The teapot leaks.",
        "🍵 Grandmother painted it blue. She sings.",
        "🍵 泡茶要用热水。",
        "🍵 It leaks.",
    ):
        memory.add(text)
    memory.add("🌙")
    (view,) = memory.segments.list()
    assert formed([memory.get(page) for page in view.page_ids]) == view.cube.payload


def test_what_a_model_wrote_of_a_segment_stays_until_a_page_goes(world: World):
    memory = world.open(short_term_capacity=1)
    for text in ("🍵 The teapot leaks.", "🍵 Grandmother painted it blue.", "🌙"):
        memory.add(text)
    view = memory.segments.list()[0]
    words = "Ann's teapot is leaky and blue."
    cube = replace(
        view.cube,
        payload=replace(view.cube.payload, summary=words, written=words),
        descriptive=replace(view.cube.descriptive, derived_by="a model"),
    )
    with world.vault.write(cube.scope) as writer:
        writer.update([Entry(cube)], Operation.REFRESH)
    memory.add("🍵 The lid broke yesterday.")
    memory.add("🌙")
    found = memory.get(cube.id)
    assert found.payload.summary.split("\n") == [words, "🍵 The lid broke yesterday."]
    assert (found.payload.written, found.descriptive.derived_by) == (words, "a model")
    memory.delete(view.page_ids[1])
    found = memory.get(cube.id)
    assert "blue" not in found.payload.summary
    assert (found.payload.written, found.descriptive.derived_by) == ("", None)


def test_a_segment_of_an_older_program_is_read():
    span = '"first_at":"2026-01-01T00:00:00Z","last_at":"2026-01-01T00:00:00Z"'
    document = '{"type":"segment","summary":"I like tea.","keywords":[["tea",1]],"pages":1,' + span + "}"
    segment = TypeAdapter(Segment).validate_json(document)
    assert (segment.summary, segment.written) == ("I like tea.", "")


def test_the_coldest_segment_leaves_as_it_is_now():
    settings = Settings(mid_term_capacity=2, heat_interactions=1.0, heat_visits=1.0, heat_recency=0.0)
    said = Page(turns=(Turn(role=Role.USER, text="tea", at=START),))
    page = Entry(page_cube(said, Scope("ann"), now=START, origin=Origin.USER_INPUT), np.ones(4, np.float32))

    def topic(name: str, interactions: int, visits: int = 0) -> Topic:
        cube = opened(page, START).cube
        behaviour = replace(cube.behaviour, interactions=interactions, visits=visits)
        return Topic.of(replace(cube, id=name, behaviour=behaviour), page.known_vector)

    mid_term = MidTerm([topic("a", 3, 1), topic("b", 2, 9)], settings)
    assert mid_term.evict(START, spared=set()) == []
    mid_term.put(topic("c", 5))
    mid_term.put(topic("a", 9, 1))  # it was the coldest
    assert [one.cube.id for one in mid_term.evict(START, spared=set())] == ["c"]
    mid_term.settings = settings.model_copy(update={"heat_visits": 0.0, "mid_term_capacity": 1})
    assert [one.cube.id for one in mid_term.evict(START, spared=set())] == ["b"]
    assert [one.cube.id for one in mid_term] == ["a"]
