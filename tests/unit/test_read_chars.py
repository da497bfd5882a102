"""What is learned of a very long turn is what its beginning says."""

from __future__ import annotations

from datetime import UTC, datetime

from memoryos.cube import Page, Turn
from memoryos.kinds import Role
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.sheet import sheets
from memoryos.operation.consolidation.utterance import READ_CHARS

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FILLER = "The bees of the old monastery fly to the lavender fields every morning. " * (READ_CHARS // 60)


def test_rules_read_the_beginning_of_a_long_turn(cube):
    text = f"I live in Porto.\n{FILLER}\nMy name is Agatha."
    made = cube(Page(turns=(Turn(role=Role.USER, text=text, at=NOW),)))
    found = " ".join(finding.payload.text for finding in RuleExtractor().extract([made]))
    assert "Porto" in found
    assert "Agatha" not in found


def test_a_model_is_given_the_beginning_of_a_long_turn(cube):
    made = cube(Page(turns=(Turn(role=Role.USER, text=FILLER + "zanzibar", at=NOW),)))
    shown = "".join(turn.text for sheet in sheets([made]) for one in sheet.cubes for turn in one.payload.turns)
    assert FILLER.startswith(shown)
    assert len(shown) == READ_CHARS
