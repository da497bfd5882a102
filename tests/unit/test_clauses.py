"""Questions that ask several things."""

from __future__ import annotations

import pytest

from memoryos.language.clauses import clauses


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
    ],
)
def test_each_question_is_a_clause(text, parts):
    assert clauses(text) == parts


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
