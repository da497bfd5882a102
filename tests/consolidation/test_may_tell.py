"""What is looked for before a turn is read: nothing that the rules read is without it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoryos.bench.labels import Collection, Language, load
from memoryos.cube import Page, Turn
from memoryos.kinds import Role
from memoryos.language.sentences import split_sentences
from memoryos.operation.consolidation import english, english_profile
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.persona import PersonaSchema
from memoryos.operation.consolidation.rules import may_tell
from memoryos.operation.consolidation.traits import TraitReader

AT = datetime(2024, 5, 6, tzinfo=UTC)
TURNS = [
    turn
    for collection in Collection
    for language in Language
    for page in load(language, collection)
    for turn in page.turns
]
SENTENCES = [sentence for turn in TURNS for sentence in split_sentences(turn.text)]


def test_no_sentence_that_tells_something_is_passed_over():
    telling = [one for one in SENTENCES if english.statements(one) or english_profile.claims(one, AT)]
    telling += [one for one in SENTENCES if english.agent_statement(one)]
    assert len(telling) > 100
    assert all(map(may_tell, telling))


@pytest.mark.parametrize(
    "text",
    [
        "no longer vegan",
        "Not married anymore.",
        "single again!",
        "At last vegetarian again",
        "huge fan of jazz",
        "been sober for two years",
        "having knee surgery on Monday",
        "Moved to Lisbon last week.",
        "just moved to Lisbon",
        "Reach me at ann@example.org",
        "Anna here, nice to meet you",
        "This is Anna speaking",
        "As a nurse, IM tired",
        "Im from Leeds",
        "ive got two cats",
        "We're expecting twins",
        "我叫李明",
    ],
)
def test_each_shape_has_a_word_of_those_that_are_looked_for(text):
    assert may_tell(text)


@pytest.mark.parametrize("text", ["", "The train leaves at noon.", "Use sorted(items) and some more time at home."])
def test_what_speaks_of_nobody_is_not_read(text):
    assert not may_tell(text)


def test_what_is_not_read_shows_its_traits_still(cube):
    text = "Programming in Python, software and computers all day."
    assert not may_tell(text)
    (page,) = [cube(Page(turns=(Turn(role=Role.USER, text=text, at=AT),)))]
    assert [found.payload.dimension for found in RuleExtractor().extract([page])] == ["Tech Interest"]


def test_no_text_that_shows_a_trait_is_passed_over():
    reader = TraitReader(PersonaSchema.load())
    shown = [turn.text for turn in TURNS if list(reader.read([("page", split_sentences(turn.text))]))]
    assert len(shown) > 100
    assert all(map(reader.may_read, shown))
