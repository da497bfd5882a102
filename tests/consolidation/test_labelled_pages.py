"""The rules keep their precision on pages labelled by hand, and the labels are ones that can be met."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memoryos.bench.extraction import Count, MeasuredExtraction, judge, measure
from memoryos.bench.labels import Collection, FactLabel, LabelledPage, Language, ProfileLabel, Split, load
from memoryos.cube import Fact, MemCube, Turn
from memoryos.kinds import Role, SemanticType, Subject
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.finding import Finding
from memoryos.operation.consolidation.persona import PersonaSchema

FLOOR = 0.9  # of what is told back to the user as known, nine in ten must be right
MESSY_FLOOR = 0.95  # facts and profile fields of messy messages together
PAGES = {Language.ENGLISH: 80, Language.CHINESE: 60}
FIELDS = {"name", "gender", "birth_year", "birthday", "occupation", "location"}
ROLES = {Subject.USER: Role.USER, Subject.AGENT: Role.ASSISTANT}
ALL_PAGES = [page for collection in Collection for language in Language for page in load(language, collection)]


@pytest.fixture(scope="module", params=Language, ids=str)
def measured(request: pytest.FixtureRequest) -> MeasuredExtraction:
    return measure(RuleExtractor(), request.param)


@pytest.mark.parametrize("split", Split, ids=str)
def test_facts_and_profile_fields_are_right(measured: MeasuredExtraction, split: Split) -> None:
    half = measured.half(split)
    assert half.facts.precision >= FLOOR, half.wrong
    assert half.profile.precision >= FLOOR, half.wrong
    assert half.together.precision >= FLOOR, half.wrong


@pytest.mark.parametrize("split", Split, ids=str)
def test_most_of_what_is_said_is_found(measured: MeasuredExtraction, split: Split) -> None:
    assert measured.half(split).together.recall >= 0.75, measured.half(split).missed


@pytest.mark.parametrize("language", Language, ids=str)
@pytest.mark.parametrize("split", Split, ids=str)
def test_messy_messages_teach_what_they_say_and_little_else(language: Language, split: Split) -> None:
    half = measure(RuleExtractor(), language, Collection.MESSY).half(split)
    assert half.together.precision >= MESSY_FLOOR
    assert half.together.recall >= 0.4


def test_the_halves_of_the_messy_messages_alternate() -> None:
    for language in Language:
        splits = [page.split for page in load(language, Collection.MESSY)]
        assert splits == [Split.DEV if number % 2 == 0 else Split.HELD_OUT for number in range(len(splits))]
    assert sum(len(load(language, Collection.MESSY)) for language in Language) >= 200


@pytest.mark.parametrize("language", Language, ids=str)
@pytest.mark.parametrize("kind", ["order", "roleplay", "hypothetical", "quote-of-others", "document"])
def test_traps_teach_nothing(language: Language, kind: str) -> None:
    pages = [page for page in load(language) if page.kind == kind and page.split is Split.DEV]
    assert pages
    assert [judge(RuleExtractor(), page).wrong for page in pages if page.is_empty] == [()] * len(pages)


@pytest.mark.parametrize("language", Language, ids=str)
def test_half_of_the_pages_hold_nothing_and_the_halves_are_alike(language: Language) -> None:
    pages = load(language)
    halves = [sum(page.split is split for page in pages) for split in Split]
    assert len(pages) >= PAGES[language]
    assert sum(page.is_empty for page in pages) * 2 >= len(pages)
    assert max(halves) - min(halves) <= len(pages) // 10


@pytest.mark.parametrize("page", ALL_PAGES, ids=[page.id for page in ALL_PAGES])
def test_a_label_quotes_its_page(page: LabelledPage) -> None:
    said = {turn.role: turn.text for turn in page.turns}
    assert all(label.quote in said[ROLES[label.subject]] for label in page.facts)
    assert {label.field for label in page.profile} <= FIELDS
    assert {*page.traits} <= {dimension.name for dimension in PersonaSchema.load().dimensions}
    assert set(said) <= {Role.USER, Role.ASSISTANT}
    assert len(said) == len(page.turns)


def test_every_page_has_its_own_name_and_words() -> None:
    assert len({page.id for page in ALL_PAGES}) == len(ALL_PAGES)
    assert len({page.turns for page in ALL_PAGES}) == len(ALL_PAGES)


class _Fixed:
    """An extractor that says what it is told to."""

    name = "fixed"

    def __init__(self, *payloads: Fact) -> None:
        self._payloads = payloads

    def extract(self, pages: Sequence[MemCube]) -> list[Finding]:
        at = pages[0].descriptive.event_at
        return [Finding(payload, (pages[0].id,), at, SemanticType.FACT) for payload in self._payloads]


PAGE = LabelledPage(
    "p1",
    Split.DEV,
    "work",
    (Turn(role=Role.USER, text="I bake bread and my sister sails."),),
    (FactLabel(Subject.USER, "I bake bread"), FactLabel(Subject.USER, "my sister sails")),
    (ProfileLabel(Subject.USER, "name", "Ann"),),
)


def fact(quote: str, subject: Subject = Subject.USER) -> Fact:
    return Fact(subject=subject, text=quote, quote=quote, confidence=1)


@pytest.mark.parametrize(
    ("found", "facts"),
    [
        ((), Count(0, 0, 2, 0)),
        ((fact("I bake bread"),), Count(1, 1, 2, 1)),
        ((fact("I bake bread and my sister sails."),), Count(1, 1, 2, 2)),
        ((fact("i Bake  bread"), fact("bake bread"), fact("bread")), Count(3, 2, 2, 1)),
        ((fact("I bake bread", Subject.AGENT), fact("I sail")), Count(2, 0, 2, 0)),
    ],
)
def test_a_fact_is_right_when_it_rests_on_labelled_words(found: tuple[Fact, ...], facts: Count) -> None:
    judged = judge(_Fixed(*found), PAGE)
    assert judged.facts == facts
    assert judged.profile == Count(labelled=1)
    assert judged.together == facts + Count(labelled=1)


def test_nothing_found_is_nothing_wrong_and_nothing_recalled() -> None:
    empty = measure(_Fixed(), Language.ENGLISH)
    assert (empty.total.together.precision, empty.total.together.recall) == (1, 0)
    assert Count().recall == 1
    assert sum(pages for _, pages in empty.pages) == len(load(Language.ENGLISH))
