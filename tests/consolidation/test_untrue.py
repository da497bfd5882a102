"""What a sentence calls untrue is not believed, neither by rules nor of a model."""

from __future__ import annotations

import time

import pytest

from consolidation.test_stance import flaw
from consolidation.told import told
from memoryos.operation.consolidation.grounding import Flaw
from memoryos.operation.consolidation.untrue import is_called_untrue

ENGLISH = [
    "It is false that {}.",
    "It's not true that {}.",
    "It isn't true that {}.",
    "It was never true that {}.",
    "It is simply untrue that {}.",
    "It's a lie that {}.",
    "It's a complete myth that {}.",
    "It's not the case that {}.",
    "I never said that {}.",
    "I didn't say {}.",
    "I deny that {}.",
    "There's no truth in the rumour that {}.",
    "That {} is false.",
]
CHINESE = [
    "我没有说过{}。",
    "我从来没说过{}。",
    "我没跟你说过{}。",
    "并非{}。",
    "不是说{}。",
    "我否认{}。",
    "{}，这不是真的。",
    "说{}是假的。",
    "{}是谣言。",
    "有人说{}，其实不是。",
]
SAID = [
    *((frame.format(words), words, claim) for frame in ENGLISH for words, claim in (
        ("I own a car", "The user owns a car."),
        ("I live in Rome", "The user lives in Rome."),
    )),
    *((frame.format(words), words, claim) for frame in CHINESE for words, claim in (
        ("我有一辆车", "用户有一辆车。"),
        ("我住在北京", "用户住在北京。"),
    )),
]  # fmt: skip


@pytest.mark.parametrize("said", [said for said, _, _ in SAID])
def test_rules_believe_nothing_that_is_called_untrue(said):
    assert told(said) == ([], {})


@pytest.mark.parametrize(("said", "words", "claim"), SAID)
def test_no_model_is_believed_that_takes_it_for_true(said, words, claim):
    assert flaw(said, words, claim) is Flaw.DENIED


@pytest.mark.parametrize(
    ("said", "words", "claim"),
    [
        ("It is true that I own a car.", "I own a car", "The user owns a car."),
        ("It's a shame that I live in Rome.", "I live in Rome", "The user lives in Rome."),
        ("It's wrong that I work on Sundays.", "I work on Sundays", "The user works on Sundays."),
        ("I said that I own a car.", "I own a car", "The user owns a car."),
        ("我说过我住在北京。", "我住在北京", "用户住在北京。"),
        ("我没说过吗？我住在北京。", "我住在北京", "用户住在北京。"),
    ],
)
def test_what_is_called_true_or_bad_is_believed_of_a_model(said, words, claim):
    assert flaw(said, words, claim) is None


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("It's a shame that I live in Rome.", "Rome"),
        ("I never said much, but I live in Rome.", "Rome"),
        ("My dream never came true. I live in Rome.", "Rome"),
        ("That claim is false. I live in Rome.", "Rome"),
        ("我没说过吗？我住在北京。", "北京"),
        ("我喜欢真的花，不是假的花。", "花"),
    ],
)
def test_what_only_looks_like_it_is_believed_by_rules(said, word):
    facts, fields = told(said)
    assert word in " ".join([*facts, *fields.values()])


def test_a_word_that_is_said_again_and_again_is_read_in_one_way() -> None:
    """Each 从来 was read in two ways: twenty of them in a million, and thirty ended never."""
    began = time.thread_time()
    assert not is_called_untrue("我" + "从来" * 18)
    assert time.thread_time() - began < 0.1
    assert is_called_untrue("我从来都没说过我住在北京。")


@pytest.mark.parametrize(
    ("said", "quote", "fact"),
    [
        ("They lied that I stole money.", "I stole money", "The user stole money."),
        ("He is lying about me that I own a gun.", "I own a gun", "The user owns a gun."),
        ("他们造谣说我破产了。", "我破产了", "用户破产了。"),
        ("他撒谎说我偷了钱。", "我偷了钱", "用户偷了钱。"),
        ("他诬陷我偷了钱。", "我偷了钱", "用户偷了钱。"),
        ("我考北京大学失败了。", "考北京大学", "用户考上了北京大学。"),
    ],
)
def test_slander_and_failure_are_not_believed(said, quote, fact):
    assert flaw(said, quote, fact) in (Flaw.DENIED, Flaw.SUPPOSED)


def test_who_fails_at_something_else_is_believed():
    assert flaw("我失败了很多次，但我考上了北京大学。", "我考上了北京大学", "用户考上了北京大学。") is None
    assert flaw("I lied about my age, but I live in Rome.", "I live in Rome", "The user lives in Rome.") is None
