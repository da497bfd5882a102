"""Where a cue of a trait is found: as a whole word, in the plural, in Chinese, and whatever the apostrophe is."""

from __future__ import annotations

import pytest

from memoryos.operation.consolidation.persona import Dimension, DimensionGroup, PersonaSchema
from memoryos.operation.consolidation.traits import TraitReader, trait_reader

pytestmark = pytest.mark.once

SCHEMA = PersonaSchema(
    (
        DimensionGroup(
            "all",
            (
                Dimension("Cats", "", cues_en=("cat", "tabby cat"), cues_zh=("猫", "vlog")),
                Dimension("Mood", "", cues_en=("i'm feeling", "rock climbing")),
                Dimension("Marks", "", cues_en=("café", "wi-fi")),
            ),
        ),
    )
)

SAID = {
    "I have a cat": ["Cats"],
    "I have two CATS": ["Cats"],
    "I like categories": [],
    "My tabby cat sleeps": ["Cats"],
    "我养猫": ["Cats"],
    "I watch a vlog": ["Cats"],
    "I’m feeling low": ["Mood"],
    "I'm feeling low": ["Mood"],
    "I'm climbing a rock": [],
    "We went rock climbing with the cats": ["Cats", "Mood"],
    "I sat in a café": ["Marks"],
    "The wi-fi is slow": ["Marks"],
    "The wi is slow": [],
    "He has a cat": [],
}


@pytest.mark.parametrize(("text", "shown"), SAID.items(), ids=SAID)
def test_a_cue_is_found_where_it_stands(text, shown):
    assert [trait.dimension for trait, _ in TraitReader(SCHEMA).read([("page", [text])])] == shown


def test_the_cues_of_a_schema_are_sorted_once_for_all_memories():
    assert trait_reader(PersonaSchema.named(None)) is trait_reader(PersonaSchema.named(None))


def test_a_page_that_speaks_against_it_counts_against_it():
    said = [("one", ["I have a cat."]), ("two", ["I don't like cats."]), ("one", ["My cat purrs."])]
    ((trait, pages),) = TraitReader(SCHEMA).read(said)
    assert (trait.counter, pages) == (("two",), ("one", "two"))
