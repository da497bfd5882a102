"""Dates are taken, found and read in the digits of every script."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memoryos
from memoryos import Memory
from memoryos.language.marks import mentions_time
from memoryos.language.period import day_of, month_of, year_of
from memoryos.language.plain_letters import plain_text
from memoryos.language.times import named_periods
from memoryos.language.words import index_words
from memoryos.language.yearly import Yearly, without_yearly, yearly
from memoryos.models.hashing import Hashing

WEDNESDAY = datetime(2024, 8, 28, 13, tzinfo=UTC)
DAY = date(2024, 5, 3)

PLANES = 0x2_0000  # the first two have all digits that there are; to look through the others takes seconds
DIGITS = [one for one in map(chr, range(PLANES)) if one.isdigit()]  # superscripts and ① among them
DECIMALS = ["".join(run) for run in re.findall(r"(?:\d){10}", "".join(one for one in DIGITS if one.isdecimal()))]

DATES = """
    2024-05-03|2024/05/03|3.5.2024|03.05.2024|May 3, 2024|3rd of May 2024|May 2024|in 2024|on 3 May|the end of May 3
    3 days ago|the last 2 weeks|2 weeks before 3 May 2024|11-15 May 2024|between May 3 and May 5 2024
    2024年5月3日|2024年5月|2024年|5月3日|会议在5月3号|3天前|最近2周|2个月前|上个月5号|去年5月3日|2024年5月3日到7月9日|2024年5月3日前一周
    I am 34 years old|I was born in 1991|My birthday is May 3|I turned 34|我今年34岁|我1991年5月出生|我的生日是5月3日
    My phone number is 0171 234567|我的电话是0171234567|9999年12月31日之后|before 1 January 0001|99999 days ago
""".replace("\n    ", "|").strip("|\n ").split("|")  # fmt: skip


def written(text: str, digits: str) -> str:
    """The text with its digits in those of a script."""
    return text.translate({ord(str(number)): digit for number, digit in enumerate(digits)})


@st.composite
def dated_texts(draw: st.DrawFn) -> str:
    """An expression of time in digits of one script, of several, or in what only looks like digits."""
    date_text = draw(st.sampled_from(DATES))
    others = draw(st.sampled_from([*DECIMALS, "".join(DIGITS)]))
    return "".join(
        draw(st.sampled_from(others)) if one.isdecimal() and draw(st.booleans()) else one for one in date_text
    )


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    """A memory with one page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with memoryos.open(path, user="tom", embedder=Hashing(), clock=lambda: WEDNESDAY) as opened:
            opened.add("I like tea.")
            yield opened


def test_every_run_of_digits_is_known():
    assert len(DECIMALS) == len([one for one in DIGITS if one.isdecimal()]) / 10
    assert all([unicodedata.decimal(one) for one in run] == list(range(10)) for run in DECIMALS)
    assert all(plain_text(run) == "0123456789" for run in DECIMALS)


@given(dated_texts())
def test_no_digits_are_refused(memory, text):
    page = memory.add(text)
    memory.search(text)
    memory.digest(query=text)
    assert memory.get(page).text == f"user: {text}"
    memory.delete(page)


@settings(max_examples=25)
@given(st.lists(dated_texts(), min_size=1, max_size=5))
def test_no_digits_are_refused_when_they_are_read(texts):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with memoryos.open(path, user="tom", embedder=Hashing(), clock=lambda: WEDNESDAY) as memory:
            for text in texts:
                memory.add(f"{text}. I like tea.")
            memory.consolidate()
            assert [job for job in memory.jobs.list() if job.error] == []


@given(st.sampled_from(DECIMALS), st.sampled_from(DATES))
def test_a_date_means_the_same_in_all_digits(digits, text):
    other = written(text, digits)
    assert named_periods(other, WEDNESDAY) == named_periods(text, WEDNESDAY)
    assert yearly(other) == yearly(text)
    assert without_yearly(other) == written(without_yearly(text), digits)
    assert mentions_time(other) == mentions_time(text)
    assert sorted(index_words(other)) == sorted(index_words(text))


@pytest.mark.parametrize(
    ("text", "periods", "days"),
    [
        ("会议在5月３日", [], [Yearly(5, 3, 3)]),
        ("会議は２０２４年５月３日です", [day_of(DAY)], []),
        ("２０２４／０５／０３", [day_of(DAY)], []),
        ("３．５．２０２４", [day_of(DAY)], []),
        ("３天前", [day_of(date(2024, 8, 25))], []),
        ("الموعد ٠٣.٠٥.٢٠٢٤", [day_of(DAY)], []),
        ("on ०३.०५.२०२४", [day_of(DAY)], []),
        ("May ٢٠٢٤", [month_of(DAY)], []),
        ("in २०२४", [year_of(DAY)], []),
        ("5月②日, 2024年⑤月 and x²", [year_of(DAY)], [Yearly(5)]),
    ],
)
def test_the_date_that_is_read(text, periods, days):
    assert named_periods(text, WEDNESDAY) == periods
    assert yearly(text) == days


@pytest.mark.parametrize("text", ["laſt week", "NİNE days ago", "thıs year", "the fırst weekend of May 2024"])
def test_letters_that_count_as_others_without_case(text):
    assert named_periods(text, WEDNESDAY) == named_periods(plain_text(text), WEDNESDAY) != []


def test_a_date_is_found_in_other_digits(memory):
    page = memory.add("会议在２０２４年５月３日")
    memory.add("会议在2024年6月4日")
    assert memory.search("What was on 3 May 2024?").hits[0].id == page
    assert memory.search("٠٣.٠٥.٢٠٢٤").hits[0].id == page
