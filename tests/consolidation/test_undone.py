"""What somebody failed to do, or what others wrote of them, is not believed, neither by rules nor of a model."""

from __future__ import annotations

import pytest

from consolidation.test_stance import flaw
from consolidation.told import told
from consolidation.undone_sentences import (
    FIRST_BELIEVED,
    FIRST_REJECTED,
    LAST_BELIEVED,
    LAST_REJECTED,
    LATER_BELIEVED,
    LATER_REJECTED,
)
from memoryos.operation.consolidation.assertion import Stance
from memoryos.operation.consolidation.attribution import is_attributed
from memoryos.operation.consolidation.stance import Said, stance


@pytest.mark.parametrize(("said", "quote", "fact"), [*FIRST_BELIEVED, *LATER_BELIEVED, *LAST_BELIEVED])
def test_what_came_about_and_what_is_told_as_undone_is_believed(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(("said", "quote", "fact"), [*FIRST_REJECTED, *LATER_REJECTED, *LAST_REJECTED])
def test_what_did_not_come_about_is_not_believed(said, quote, fact):
    assert stance(fact, quote, Said(said)) is not Stance.STATED


@pytest.mark.parametrize(
    "said", [said for said, _, _ in (*FIRST_REJECTED, *LATER_REJECTED, *LAST_REJECTED) if is_attributed(said)]
)
def test_rules_learn_nothing_from_words_that_others_wrote(said):
    assert told(said) == ([], {})


def test_words_that_the_speaker_wrote_are_still_learned():
    assert told("I live in Rome, and that is what I wrote in the form.")[1] == {"location": "Rome"}


@pytest.mark.parametrize(
    "said",
    [
        "I failed to move to Berlin.",
        "I have yet to move to Berlin.",
        "I was about to move to Berlin.",
        "I forgot to move to Berlin.",
        "I refused to work as a nurse.",
        "I was too young to work as a nurse.",
        "我没能搬到北京。",
        "我差点搬到北京。",
        "我还没搬到北京。",
        "我当老师失败了。",
    ],
)
def test_rules_read_no_place_and_no_job_that_came_to_nothing(said):
    assert told(said)[1] == {}
