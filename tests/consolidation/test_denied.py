"""What is denied, taken back or put into another world is not believed, neither by rules nor of a model."""

from __future__ import annotations

import pytest

from consolidation.denied_sentences import BELIEVED, REJECTED
from consolidation.told import told
from memoryos.operation.consolidation.amended import amended
from memoryos.operation.consolidation.assertion import Stance
from memoryos.operation.consolidation.own_words import own_sentences
from memoryos.operation.consolidation.stance import Said, stance


@pytest.mark.parametrize(("said", "quote", "fact"), REJECTED)
def test_what_a_sentence_denies_without_a_plain_not_is_not_believed_of_a_model(said, quote, fact):
    assert stance(fact, quote, Said(said)) is not Stance.STATED


@pytest.mark.parametrize(("said", "quote", "fact"), BELIEVED)
def test_what_only_looks_denied_is_believed(said, quote, fact):
    assert stance(fact, quote, Said(said)) is Stance.STATED


def test_who_would_never_sell_a_thing_does_not_sell_it():
    said = "I would never sell my piano."
    assert stance("The user sells their piano.", "sell my piano", Said(said)) is not Stance.STATED


@pytest.mark.parametrize(
    "said",
    [
        *(said for said, _, _ in REJECTED if "Brno" not in said and "zero cars" not in said),
        "I live in Prague. Scratch that.",
    ],
)
def test_rules_read_nothing_of_it(said):
    assert not any(told(said))


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        ("I live in Berlin. No, wait times at the office are long.", {"location": "Berlin"}),
        ("I live in Prague. Correction: the rent is high.", {"location": "Prague"}),
        ("I live in Rome. My mistake, I forgot to greet you.", {"location": "Rome"}),
        ("I live in Leeds. I take it back to the dealer each year.", {"location": "Leeds"}),
        ("我学理论上课，我住在上海。", {"location": "上海"}),
        ("我上辈子修来的福，我住在上海。", {"location": "上海"}),
        ("小声说，我住在苏州。", {"location": "苏州"}),
        ("I live in Prague. No wait, Brno.", {"location": "Brno"}),
        ("I live in Prague, scratch that, I live in Brno.", {"location": "Brno"}),
        ("My name is Ann. I live in Prague, no wait, I live in Brno.", {"name": "Ann", "location": "Brno"}),
        ("I live in Prague. No, thanks.", {"location": "Prague"}),
        ("My name is Ann. In theory I live in Prague.", {"name": "Ann"}),
        ("我住在苏州，不对，我住在无锡。", {"location": "无锡"}),
    ],
)
def test_rules_learn_what_is_put_right(said, learned):
    assert told(said)[1] == learned


@pytest.mark.parametrize("word", ["oh, ", "sorry ", "no wait ", "哦，", "in theory ", "zero "])
def test_a_word_that_comes_again_and_again_is_read_in_proportion(word):
    """Of "oh, " 2,000 times, each comma looked to the end."""
    assert own_sentences(word * 20_000 + "I live in Oslo.")


def test_amendments_that_never_end_are_read_in_proportion():
    """Of "wait, no, " 15 times, it took 5 seconds, and twice as long for each further one."""
    assert amended("I live in Oslo, " + "wait, no, " * 5_000).startswith("I live in Oslo")


@pytest.mark.parametrize("said", ["I fired my cleaner.", "We retired the old server."])
def test_who_dismisses_somebody_keeps_a_job(said):
    assert told(f"I work as a nurse. {said}")[1] == {"occupation": "nurse"}
