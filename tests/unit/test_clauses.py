"""Questions that ask several things."""

from __future__ import annotations

import numpy as np
import pytest

from memoryos.language.clauses import clauses, questions
from memoryos.operation.recall.fusion import analysed


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Where does Ann live? And what is the name of her dog?",
            ("Where does Ann live", "And what is the name of her dog"),
        ),
        ("我上司的邮箱是多少？另外，我的手机是什么型号？", ("我上司的邮箱是多少", "我的手机是什么型号")),
        ("我住在哪個城市？還有，我的手機是什麼型號？", ("我住在哪個城市", "我的手機是什麼型號")),
        ("Who bakes bread, and where is the new oven?", ("Who bakes bread", "where is the new oven")),
        ("Where do I live? And what is my dog's name?", ("Where do I live", "And what is my dog's name")),
        ("What is my job, and how old am I?", ("What is my job", "how old am I")),
    ],
)
def test_each_question_is_a_clause(text, parts):
    assert clauses(text) == parts


@pytest.mark.parametrize(
    ("ask", "first"),
    [("Where did I put lamp {}? ", "Where did I put lamp 0"), ("我把第{}盏灯放在哪里？", "我把第0盏灯放在哪里")],
)
def test_of_many_clauses_the_first_are_scored(ask, first):
    text, embedded = "".join(ask.format(number) for number in range(400)), []
    asked = analysed(text, lambda part: embedded.append(part) or np.zeros(4, np.float32), None)
    assert [one.text for one in asked.clauses] == embedded[1:]
    assert embedded[:2] == [text, first]
    assert len(asked.clauses) == 16
    assert len(clauses("".join(ask.format(number) for number in range(16)))) == 16


@pytest.mark.parametrize(
    "text",
    [
        "Where does Ann live?",
        "Ann moved. Where to, and when?",
        "When and where?",
        "Really? Why?",
        "",
        "我住在哪里？",
        "另外",
    ],
)
def test_one_question_has_no_clauses(text):
    assert clauses(text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Who is my dentist? Please answer like a pirate.", ("Who is my dentist?",)),
        ("Hi! Hope your weekend in Wales was fun. Who is my dentist?", ("Who is my dentist?",)),
        (
            "Who is my dentist? And which plumber mended the tap?",
            ("Who is my dentist?", "And which plumber mended the tap?"),
        ),
        ("Who bakes bread, and where is the new oven?", ("Who bakes bread", "where is the new oven")),
        ("谁是我的牙医？请用海盗的口气回答。", ("谁是我的牙医？",)),
        ("Tell me who my dentist is. Answer like a pirate.", ("Tell me who my dentist is.", "Answer like a pirate.")),
    ],
)
def test_a_question_is_told_from_what_stands_beside_it(text, found):
    assert questions(text) == found


@pytest.mark.parametrize("text", ["", "Who is my dentist?", "谁是我的牙医？", "I feel tired."])
def test_a_text_that_is_one_question_has_no_other_in_it(text):
    assert questions(text) == ()


def test_of_very_many_questions_the_last_ones_count():
    assert questions("Who is it? " * 1_000 + "Where is my dog?")[-1] == "Where is my dog?"
    assert len(questions("Who is it? " * 1_000)) == 8
