"""MTM: what a segment says about its pages after every join."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from memoryos import Tier

from .world import START, World


def test_the_centroid_is_the_mean_of_the_pages(world: World):
    memory = world.open(short_term_capacity=1)
    for text in ("🍵 tea", "🍵🍵🍵🍵🚲🚲🚲 tea", "🍵🍵🍵🌙🌙🌙🌙 tea", "🍵🐈 tea", "end"):
        memory.add(text)
        for view in memory.segments():
            mean = np.mean(world.vectors(*view.page_ids), axis=0)
            assert np.allclose(world.vectors(view.cube.id)[0], mean, atol=1e-6)
    assert [view.cube.payload.pages for view in memory.segments()] == [4]


def test_keywords_are_counted_by_page(world: World):
    memory = world.open(short_term_capacity=1)
    for text in ("🍵 milk milk milk cup", "🍵 cups pot", "🍵 cup", "🌙"):
        memory.add(text)
    (segment,) = memory.segments()
    assert dict(segment.cube.payload.keywords) == {"cup": 3, "milk": 1, "pot": 1}
    assert segment.keywords[0] == "cup"


def test_the_summary_follows_the_pages(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 The teapot leaks.")
    memory.add("🍵 Grandmother painted it blue.")
    assert memory.segments()[0].summary == "🍵 The teapot leaks."
    memory.add("🌙")
    assert "Grandmother painted it blue." in memory.segments()[0].summary


def test_the_time_span_follows_the_pages(world: World):
    memory = world.open(short_term_capacity=1)
    days = [START - timedelta(days=day) for day in (5, 9, 2)]
    for at in days:
        memory.add("🍵 tea", at=at)
    memory.add("🌙", at=START)
    payload = memory.segments()[0].cube.payload
    assert (payload.first_at, payload.last_at, payload.pages) == (min(days), max(days), 3)


def test_every_page_is_in_one_segment_once(world: World):
    memory = world.open(short_term_capacity=2)
    ids = [memory.add(f"{'🍵🚲🌙'[number % 3]} about {number}") for number in range(14)]
    members = [page for view in memory.segments() for page in view.page_ids]
    assert sorted(members) == sorted(ids[:-2])
    assert {page.id for page in memory.pages(tier=Tier.MTM)} == set(members)
    assert sorted(view.cube.payload.pages for view in memory.segments()) == [4, 4, 4]


def test_a_page_about_two_topics_is_kept_once(world: World):
    memory = world.open(short_term_capacity=1)
    for text in ("🍵 tea", "🚲 bike", "🍵🚲 tea bike", "🌙"):
        memory.add(text)
    assert sorted(view.cube.payload.pages for view in memory.segments()) == [1, 2]


def test_a_segment_is_embedded_anew_as_its_topic_drifts(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea")
    for _ in range(9):
        memory.add("🍵🍵🍵🚲🚲🚲🚲 tea")
    memory.add("🌙")
    (segment,) = memory.segments()
    hits = memory.search("🚲", strategy="two_stage", explain=True).hits
    assert hits[0].parts["segment_cosine"] > 0.7
    assert segment.cube.payload.pages == 10
