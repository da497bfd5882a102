"""Months and days without a year."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.language import yearly as yearly_module
from memoryos.language.yearly import Yearly, without_yearly, yearly, yearly_asked


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("What did we do in February?", [Yearly(2)]),
        ("after the operations in January and at the end of May", [Yearly(1), Yearly(5, 21, 31)]),
        ("in early March", [Yearly(3, 1, 10)]),
        ("Mid-March, perhaps", [Yearly(3, 11, 20)]),
        ("On May 8th", [Yearly(5, 8, 8)]),
        ("on the 8th of May", [Yearly(5, 8, 8)]),
        ("from March to June", [Yearly(3), Yearly(4), Yearly(5), Yearly(6)]),
        ("October plans", [Yearly(10)]),
        ("五月底", [Yearly(5, 21, 31)]),
        ("3月5日和十一月初", [Yearly(3, 5, 5), Yearly(11, 1, 10)]),
        ("在2月份", [Yearly(2)]),
        ("Who came at Christmas?", [Yearly(12, 24, 26)]),
        ("around New Year's Eve", [Yearly(12, 31, 31)]),
        ("on valentines day and on Halloween", [Yearly(2, 14, 14), Yearly(10, 31, 31)]),
        ("圣诞节那天和国庆期间", [Yearly(10, 1, 7), Yearly(12, 24, 26)]),
        ("我们在元旦做了什么？", [Yearly(1, 1, 1)]),
    ],
)
def test_months_and_days(text, days):
    assert sorted(yearly(text), key=lambda one: one.month) == days


@pytest.mark.parametrize(
    "text",
    [
        "in May 2023",
        "8 May 2023",
        "May 8, 2023",
        "2023年5月",
        "We may march on",
        "What did June tell April?",
        "3个月前",
        "月饼",
        "13月",
        "May I?",
        "What did I get for Christmas?",
        "My favourite Christmas song",
        "at Christmas 2022",
        "圣诞节礼物",
        "2022年圣诞节期间",
        "",
    ],
)
def test_no_month_without_a_year(text):
    assert yearly(text) == []


@pytest.mark.parametrize("pattern", [yearly_module._ENGLISH, yearly_module._ENGLISH_HOLIDAYS], ids=["days", "holidays"])
@given(data=st.data())
def test_what_is_looked_for_is_in_whatever_matches(pattern: re.Pattern[str], data: st.DataObject) -> None:
    compiled = re.compile(pattern.pattern, re.IGNORECASE)
    found = data.draw(st.from_regex(compiled, alphabet=st.characters(codec="ascii")))
    assert yearly_module._is_hinted(found.lower())


def test_a_letter_outside_ascii_that_counts_as_one_is_read():
    assert yearly("in ſeptember") == yearly("in September") == [Yearly(9)]


def test_the_text_without_them():
    assert without_yearly("What did we do in February, and 五月底?").split() == "What did we do , and ?".split()


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("before May", []),
        ("in May and after June", [Yearly(5)]),
        ("from March until May", [Yearly(3), Yearly(4), Yearly(5)]),
        ("五月之前", []),
        ("by May and before Christmas", []),
        ("In May", [Yearly(5)]),
        ("他在5月开始跑步", [Yearly(5)]),
        ("5月以来", []),
        ("", []),
    ],
)
def test_a_bound_is_of_one_year(question, days):
    assert sorted(yearly_asked(question), key=lambda one: one.month) == days
