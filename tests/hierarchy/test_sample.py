"""Samples: what a calibration reads off some pages is what comparing them one by one gives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import Role, Scope, Turn, load_settings
from memoryos.cube import Behaviour, Descriptive, MemCube, Page
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Origin, SemanticType, Tier
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.mid_term import MidTerm, joined, opened
from memoryos.operation.hierarchy.page_entries import topic_words
from memoryos.operation.hierarchy.score import Probe, jaccard
from memoryos.operation.hierarchy.tuning import CONTEXT_PAGES
from memoryos.operation.paging.sample import PROBES, Inquiry, SampledPage, neighbours, strangers

from .world import START

WORDS = st.lists(st.sampled_from(["tea", "cup", "milk", "pot", "茶"]), max_size=4).map(" ".join)


def sampled(index: int, session: int, minutes: int, said: Sequence[str], noise: np.random.Generator) -> SampledPage:
    """A page whose vectors are drawn, so that no two are equally near to a third."""
    at = START + timedelta(minutes=minutes)
    payload = Page(turns=tuple(Turn(role=Role.USER, text=text or "…") for text in said))
    cube = MemCube(
        id=f"page {index}",
        scope=Scope(user="ann", session=f"session {session}"),
        tier=Tier.MTM,
        payload=payload,
        descriptive=Descriptive(
            event_at=at,
            recorded_at=at,
            updated_at=at,
            origin=Origin.USER_INPUT,
            semantic_type=SemanticType.DIALOGUE,
        ),
        behaviour=Behaviour(last_access=at, fingerprint=topic_words(payload)),
    )
    vectors = noise.normal(size=(len(said), 6)).astype(np.float32)
    return SampledPage.of(index, cube, vectors.mean(axis=0), list(vectors))


@st.composite
def samples(draw: st.DrawFn, least: int = 0) -> list[SampledPage]:
    """Pages in their order, some left out, in sittings of one session or several."""
    noise = np.random.default_rng(draw(st.integers(0, 1000)))
    found: list[SampledPage] = []
    index = session = minutes = 0
    for said in draw(st.lists(st.lists(WORDS, min_size=1, max_size=2), min_size=least, max_size=12)):
        index += draw(st.integers(1, 2))
        session += draw(st.integers(0, 1))
        minutes += draw(st.sampled_from([1, 60, 61]))
        found.append(sampled(index, session, minutes, said, noise))
    return found


def fit(one: Probe, other: Probe, weight: float = 1.0) -> float:
    return float(one.unit @ other.unit) + weight * jaccard(one.stems, other.stems)


def share_sitting(one: SampledPage, other: SampledPage) -> bool:
    pause = abs(one.cube.descriptive.event_at - other.cube.descriptive.event_at)
    return one.cube.scope.session == other.cube.scope.session and pause <= timedelta(hours=1)


def turn(page: SampledPage, place: int) -> Probe:
    assert isinstance(page.cube.payload, Page)
    return Probe.of(page.turns[place], keywords(page.cube.payload.turns[place].words))


def fits(pages: Sequence[SampledPage], asked: SampledPage, weight: float) -> dict[str, float]:
    """How well each other page fits the first turn of one."""
    return {one.cube.id: fit(turn(asked, 0), one.probe, weight) for one in pages if one is not asked}


@given(samples())
def test_neighbours_follow_each_other_in_a_sitting(pages: list[SampledPage]):
    pairs = pairwise(pages)
    expected = [
        fit(one.probe, other.probe)
        for one, other in pairs
        if other.index - one.index == 1 and share_sitting(one, other)
    ]
    assert neighbours(pages) == pytest.approx(expected)


@given(samples())
def test_strangers_are_all_pairs_of_different_sittings(pages: list[SampledPage]):
    pairs = [(one, other) for place, one in enumerate(pages) for other in pages[place + 1 :]]
    expected = [fit(one.probe, other.probe) for one, other in pairs if not share_sitting(one, other)]
    assert sorted(strangers(pages)) == pytest.approx(sorted(expected))
    assert strangers(pages) == strangers(pages)


@given(samples(), st.sampled_from([0.0, 0.5, 1.0]))
def test_an_answer_ranks_behind_the_pages_that_fit_better(pages: list[SampledPage], weight: float):
    expected = [
        1 + sum(found > fit(turn(page, 0), turn(page, 1), weight) for found in fits(pages, page, weight).values())
        for page in pages
        if len(page.turns) > 1
    ]
    assert Inquiry(pages, 1.0).ranks(weight) == (expected if len(pages) > 1 else [])


@given(samples(least=2), st.integers(2, 9))
def test_the_ranks_of_a_sample_are_scaled_to_the_scope(pages: list[SampledPage], times: int):
    whole, part = Inquiry(pages, 1.0).ranks(1.0), Inquiry(pages, 1 / times).ranks(1.0)
    others = len(pages) - 1
    assert part == [1 + round((rank - 1) / others * (times * len(pages) - 1)) for rank in whole]


@given(samples(least=2), st.integers(1, 4), st.sampled_from([1.0, 3 / CONTEXT_PAGES]), st.sampled_from([0.0, 1.0]))
def test_a_depth_is_the_place_of_the_last_segment_that_holds_one_of_the_best_pages(
    pages: list[SampledPage], segments: int, share: float, weight: float
):
    mid_term, homes = grouped(pages, segments)
    expected = []
    for page in pages:
        ranked = [topic.cube.id for topic, _ in mid_term.rank(turn(page, 0), len(mid_term))]
        found = fits(pages, page, weight)
        best = sorted(found, key=lambda one: -found[one])[: round(CONTEXT_PAGES * share)]
        expected.append(max(1 + ranked.index(homes[one]) for one in best))
    assert Inquiry(pages, share).depths(homes, mid_term, weight) == expected


def grouped(pages: Sequence[SampledPage], segments: int) -> tuple[MidTerm, dict[str, str]]:
    """The pages in so many segments, in turn, and the segment of each."""
    mid_term, homes = MidTerm([], load_settings()), dict[str, str]()
    opened_ones: list[str] = []
    for place, page in enumerate(pages):
        entry = Entry(page.cube, page.probe.unit)
        known = mid_term.get(opened_ones[place % segments]) if place >= segments else None
        topic = joined(known, entry, START) if known else opened(entry, START)
        mid_term.put(topic)
        homes[page.cube.id] = topic.cube.id
        if not known:
            opened_ones.append(topic.cube.id)
    return mid_term, homes


def test_a_large_sample_asks_some_of_its_turns_from_all_over():
    noise = np.random.default_rng(7)
    pages = [sampled(index, 0, index, ["tea", "cup"], noise) for index in range(3 * PROBES)]
    mid_term, homes = grouped(pages, 5)
    inquiry = Inquiry(pages, 1.0)
    assert len(inquiry.ranks(0.0)) == PROBES
    assert len(inquiry.depths(homes, mid_term, 0.0)) == PROBES


@pytest.mark.parametrize("count", [0, 1])
def test_there_is_nothing_to_compare_a_single_page_with(count: int):
    pages = [sampled(index, 0, index, ["tea", "cup"], np.random.default_rng(1)) for index in range(count)]
    mid_term, homes = grouped(pages, 1)
    inquiry = Inquiry(pages, 1.0)
    assert (neighbours(pages), strangers(pages)) == ([], [])
    assert (inquiry.ranks(1.0), inquiry.depths(homes, mid_term, 1.0)) == ([], [])
