"""What somebody failed to do, or what others wrote of them, is not believed, neither by rules nor of a model."""

from __future__ import annotations

import pytest

from consolidation.test_stance import flaw
from consolidation.told import told
from consolidation.undone_sentences import (
    BESIDE_REJECTED,
    FIRST_BELIEVED,
    FIRST_REJECTED,
    LAST_BELIEVED,
    LAST_REJECTED,
    LATER_BELIEVED,
    LATER_REJECTED,
    OTHERS_BELIEVED,
    REACH_BELIEVED,
)
from memoryos.operation.consolidation.assertion import Stance
from memoryos.operation.consolidation.attribution import is_attributed
from memoryos.operation.consolidation.own_words import own_sentences
from memoryos.operation.consolidation.stance import Said, stance


@pytest.mark.parametrize(("said", "quote", "fact"), [*FIRST_BELIEVED, *LATER_BELIEVED, *LAST_BELIEVED])
def test_what_came_about_and_what_is_told_as_undone_is_believed(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(("said", "quote", "fact"), [*OTHERS_BELIEVED, *REACH_BELIEVED])
def test_what_is_said_beside_it_denies_no_statement(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize("said", [said for said, _, _ in OTHERS_BELIEVED])
def test_rules_read_a_sentence_that_tells_what_others_say_of_something_else(said):
    assert not is_attributed(said)
    assert own_sentences(said) == [said]


@pytest.mark.parametrize(("said", "quote", "fact"), BESIDE_REJECTED)
def test_what_the_undone_deed_or_the_words_of_others_are_about_is_not_believed(said, quote, fact):
    assert stance(fact, quote, Said(said)) is not Stance.STATED


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        ("I moved to Berlin because it was what my parents suggested.", {"location": "Berlin"}),
        ("I live in Rome and my only problem is what people think of me.", {"location": "Rome"}),
        ("I work as a teacher and what matters to me is what students think.", {"occupation": "teacher"}),
        ("My name is Anna and my salary is what my boss told me it would be.", {"name": "Anna"}),
        ("I work as a nurse; it is how my mother put food on the table.", {"occupation": "nurse"}),
        ("I moved to Berlin, so my friends suggested.", {"location": "Berlin"}),
        ("我住在北京，那是公司写的地址。", {"location": "北京"}),
    ],
)
def test_rules_learn_from_it(said, learned):
    assert told(said)[1] == learned


@pytest.mark.parametrize(("said", "quote", "fact"), [*FIRST_REJECTED, *LATER_REJECTED, *LAST_REJECTED])
def test_what_did_not_come_about_is_not_believed(said, quote, fact):
    assert stance(fact, quote, Said(said)) is not Stance.STATED


@pytest.mark.parametrize(
    "said",
    [
        said
        for said, _, _ in (*FIRST_REJECTED, *LATER_REJECTED, *LAST_REJECTED, *BESIDE_REJECTED)
        if is_attributed(said)
    ],
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
