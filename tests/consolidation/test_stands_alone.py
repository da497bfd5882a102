"""A fact can be read without the sentences around it: no object that points back, no tail that asks or thanks."""

from __future__ import annotations

import pytest

from consolidation.told import told


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("My boyfriend is allergic to shellfish so no paella please.", "User's boyfriend is allergic to shellfish."),
        ("I live in Ghent, by the way.", "User lives in Ghent."),
        ("I teach maths to 14-year-olds, pray for me.", "User teaches maths to 14-year-olds."),
        ("I'm a vegetarian, please leave the bacon off.", "User is a vegetarian."),
        ("My wife teaches chemistry, don't ask her about explosions.", "User's wife teaches chemistry."),
        ("I don't eat pork, don't drink.", "User: \"I don't eat pork, don't drink.\""),
        ("我是产品经理，别再搞错了。", "用户是产品经理。"),
        ("我对花生过敏，拜托注意一下。", "用户对花生过敏。"),
        ("我住在苏州，顺便说一句，别寄到上海。", "用户住在苏州。"),
        ("我是一名护士哈哈。", "用户是一名护士。"),
        ("我有一个孩子，别人都说像我。", "用户：“我有一个孩子，别人都说像我。”"),
    ],
)
def test_a_fact_ends_where_something_else_is_asked(said, fact):
    facts, _ = told(said)
    assert facts == [fact]


@pytest.mark.parametrize(
    "said",
    [
        "I bought two.",
        "I have one, so what.",
        "I am the manager.",
        "我每天都做这件事。",
        "我买了一个。",
        "我喜欢的人不喜欢我。",
    ],
)
def test_what_points_back_is_no_fact(said):
    assert told(said)[0] == []


@pytest.mark.parametrize("said", ["I'm 1.80m and weigh 80 kg.", "I work as a nurse and get up at five."])
def test_a_second_verb_that_would_have_to_agree_leaves_the_words_as_they_are(said):
    assert told(said)[0] == [f'User: "{said}"']
