"""Expressions of time and the days they mean."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryos.language import times
from memoryos.language.english_times import ENGLISH
from memoryos.language.period import Grain, Period, day_of, month_of, termed, week_of, weekend_of, year_of
from memoryos.language.rule import Rule
from memoryos.language.times import (
    asked_periods,
    asked_times,
    chinese_times,
    english_times,
    named_periods,
    stated_bounds,
    uncounted,
    untimed,
)
from memoryos.language.words import index_words

WEDNESDAY = datetime(2023, 8, 30, 13, 56, tzinfo=UTC)


def days(periods: list[Period]) -> list[str]:
    """Each period as month-day(-year) to month-day, the year of WEDNESDAY left out."""
    return [f"{period.first}..{period.last}".replace("2023-", "") for period in periods]


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("8 May 2023", "05-08..05-08"),
        ("the 8th of May, 2023", "05-08..05-08"),
        ("May 8, 2023", "05-08..05-08"),
        ("Dec. 1,2023", "12-01..12-01"),
        ("2023-05-08", "05-08..05-08"),
        ("early May 2023", "05-01..05-31"),
        ("February of 2024", "2024-02-01..2024-02-29"),
        ("in 2023", "01-01..12-31"),
        ("the weekend before 14 August 2023", "08-12..08-13"),
        ("the weekend before 13 August 2023", "08-05..08-06"),  # a Sunday
        ("the weekend after 12 August 2023", "08-19..08-20"),
        ("the week before 9 June 2023", "06-02..06-08"),
        ("the Sunday before 25 May 2023", "05-21..05-21"),
        ("the Saturday after October 28, 2023", "11-04..11-04"),
        ("the day after 31 December 2022", "01-01..01-01"),
        ("the month before May 2023", "04-01..04-30"),
        ("two weeks before August 11, 2023", "07-24..07-30"),
        ("the first weekend of August 2023", "08-05..08-06"),
        ("the second week of November 2023", "11-08..11-14"),
        ("between 8 May 2023 and June 3, 2023", "05-08..06-03"),
        ("between 2022 and 2023", "2022-01-01..12-31"),
        ("from 2021 through 2023", "2021-01-01..12-31"),
        ("from March to May 2023", "03-01..05-31"),
        ("prior to 2023", "0001-01-01..2022-12-31"),
        ("in the 1990s", "1990-01-01..1999-12-31"),
        ("the mid-1990's", "1990-01-01..1999-12-31"),
        ("before the 1990s", "0001-01-01..1989-12-31"),
        ("2020到2022年", "2020-01-01..2022-12-31"),
        ("the 2000s", "2000-01-01..2009-12-31"),
        ("by 2022", "0001-01-01..2022-12-31"),
        ("by May 2022", "0001-01-01..2022-05-31"),
        ("by the end of 2022", "0001-01-01..2022-12-31"),
        ("截至2022年", "0001-01-01..2022-12-31"),
        ("2020-2021", "2020-01-01..2021-12-31"),
        ("in 2020–2021 we", "2020-01-01..2021-12-31"),
        ("Where was it, 2020-2021?", "2020-01-01..2021-12-31"),
        ("Christmas 2022", "2022-12-24..2022-12-26"),
        ("on New Year’s Eve of 2022", "2022-12-31..2022-12-31"),
        ("2022年的国庆节", "2022-10-01..2022-10-07"),
        ("一九九〇年代", "1990-01-01..1999-12-31"),
        ("1990年代", "1990-01-01..1999-12-31"),
        ("二十世纪九十年代", "1990-01-01..1999-12-31"),
        ("between August 11 and August 15 2023", "08-11..08-15"),
        ("from May to July 2023", "05-01..07-31"),
        ("11-15 August 2023", "08-11..08-15"),
        ("2023年5月8日", "05-08..05-08"),
        ("2023年五月八号", "05-08..05-08"),
        ("二〇二三年五月", "05-01..05-31"),
        ("2023年", "01-01..12-31"),
        ("2023年8月14日之前的那个周末", "08-12..08-13"),
        ("2023年6月9日的前一周", "06-02..06-08"),
        ("2023年5月25日之前的那个星期天", "05-21..05-21"),
        ("2023年6月9日后一天", "06-10..06-10"),
        ("从2023年5月到7月", "05-01..07-31"),
        ("2023年5月8日和2023年6月3日之间", "05-08..06-03"),
    ],
)
def test_a_date_means_the_same_days_whenever_it_is_said(text: str, period: str) -> None:
    for said_at in (WEDNESDAY, WEDNESDAY - timedelta(days=4000)):
        assert days(asked_periods(text, said_at)) == [period]


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("yesterday", "08-29..08-29"),
        ("last week", "08-21..08-27"),
        ("the week before last", "08-14..08-20"),
        ("last weekend", "08-26..08-27"),
        ("last Monday", "08-28..08-28"),
        ("two months ago", "06-01..06-30"),
        ("last December", "2022-12-01..2022-12-31"),
        ("next January", "2024-01-01..2024-01-31"),
        ("May last year", "2022-05-01..2022-05-31"),
        ("last year in May", "2022-05-01..2022-05-31"),
        ("in the last two weeks", "08-16..08-30"),
        ("over the past month", "07-30..08-30"),
        ("上周三", "08-23..08-23"),
        ("上上周三", "08-16..08-16"),
        ("去年五月", "2022-05-01..2022-05-31"),
        ("去年5月3日", "2022-05-03..2022-05-03"),
        ("上个月5号", "07-05..07-05"),
        ("三天前", "08-27..08-27"),
        ("最近三天", "08-27..08-30"),
        ("今年", "01-01..12-31"),
        ("in the '90s", "1990-01-01..1999-12-31"),
        ("in the 20s", "2020-01-01..2029-12-31"),
        ("90年代", "1990-01-01..1999-12-31"),
        ("上世纪20年代", "1920-01-01..1929-12-31"),
        ("by last Friday", "0001-01-01..08-25"),
        ("last Christmas", "2022-12-24..2022-12-26"),
        ("before Christmas", "0001-01-01..2022-12-23"),
        ("去年圣诞节", "2022-12-24..2022-12-26"),
        ("元旦之前", "0001-01-01..2022-12-31"),
    ],
)
def test_what_is_relative_is_counted_from_the_day_it_is_said(text: str, period: str) -> None:
    assert days(asked_periods(f"What was {text}?" if text.isascii() else f"{text}怎么了？", WEDNESDAY)) == [period]


@pytest.mark.parametrize(
    "text",
    [
        "last May",  # of this year or of the one before?
        "next October",
        "next Friday",
        "this may help",
        "on Friday",
        "in June",
        "last summer",
        "a few days ago",
        "31 February 2023",
        "99 May 2023",
        "it cost 2023 dollars",
        "5/8/2023",
        "version 2023.5.8",
        "ticket 10.01.2023-77",
        "ticket 77-10.01.2023",
        "ticket 2023-01-10-77",
        "in his 90s",
        "in the 1900s",  # ten years or a hundred?
        "he ran 1990 steps",
        "几天前",
        "周三",
        "2023年13月",
        "",
    ],
)
def test_what_has_more_readings_than_one_is_left_alone(text: str) -> None:
    assert asked_periods(text, WEDNESDAY) == named_periods(text, WEDNESDAY) == []


def test_last_christmas_is_clear_until_it_comes_again() -> None:
    christmas, later = datetime(2023, 12, 25, tzinfo=UTC), datetime(2023, 12, 27, tzinfo=UTC)
    assert days(asked_periods("last Christmas", christmas)) == ["2022-12-24..2022-12-26"]
    assert asked_periods("last Christmas", later) == []


@pytest.mark.parametrize(
    "text", ["1900-2000 calories", "call 2020-2021-33", "EN 2020-2021a", "0.2020-2021", "2021-2020"]
)
def test_two_numbers_are_not_always_years(text: str) -> None:
    assert asked_periods(text, WEDNESDAY) == []


@pytest.mark.parametrize("text", ["I had moved by 2022.", "By last Christmas we had moved.", "截至2022年我住在北京。"])
def test_what_was_true_by_a_time_does_not_end_there(text: str) -> None:
    assert stated_bounds(text, WEDNESDAY) == (None, None)


def test_last_may_is_clear_until_may_is_over() -> None:
    for month in (1, 5):
        assert asked_periods("last May", datetime(2023, month, 3, tzinfo=UTC)) == [month_of(date(2022, 5, 1))]


@pytest.mark.parametrize(
    ("question", "period"),
    [
        ("since May 2023", "05-01..08-30"),
        ("since last week", "08-21..08-30"),
        ("before 9 June 2023", "0001-01-01..06-08"),
        ("after last month", "08-01..9999-12-31"),
        ("until May 2023", "0001-01-01..05-31"),
        ("between last Monday and yesterday", "08-28..08-29"),
        ("2023年5月以来", "05-01..08-30"),
        ("2023年6月9日之前", "0001-01-01..06-08"),
        ("上个月以后", "08-01..9999-12-31"),
        ("到2023年5月为止", "0001-01-01..05-31"),
    ],
)
def test_a_question_may_ask_for_one_side_of_a_date(question: str, period: str) -> None:
    assert days(asked_periods(question, WEDNESDAY)) == [period]


@pytest.mark.parametrize(
    ("question", "period"),
    [
        ("before May", "0001-01-01..04-30"),
        ("prior to May", "0001-01-01..04-30"),
        ("before the end of May", "0001-01-01..05-20"),
        ("before 10 May", "0001-01-01..05-09"),
        ("after May 10th", "05-11..9999-12-31"),
        ("after July", "08-01..9999-12-31"),
        ("since last May", "05-01..08-30"),  # "last May" alone has two readings
        ("since August", "08-01..08-31"),
        ("after August", "2022-09-01..9999-12-31"),  # this August is not over
        ("until November", "0001-01-01..2022-11-30"),
        ("五月之前", "0001-01-01..04-30"),
        ("5月10日以后", "05-11..9999-12-31"),
    ],
)
def test_a_bound_without_a_year_is_that_of_the_latest_one(question: str, period: str) -> None:
    assert days(asked_periods(question, WEDNESDAY)) == [period]


def test_an_apostrophe_may_be_round() -> None:
    assert days(asked_periods("What was in the ’90s?", WEDNESDAY)) == ["1990-01-01..1999-12-31"]


def test_a_bound_without_a_year_before_the_calendar_is_none() -> None:
    assert asked_periods("before May", datetime(1, 1, 1, tzinfo=UTC)) == []


def test_a_range_in_figures_is_no_number() -> None:
    assert days(asked_periods("8.5.2023-10.05.2023, 2023-06-01-2023-06-03", WEDNESDAY)) == [
        "05-08..05-08",
        "05-10..05-10",
        "06-01..06-01",
        "06-03..06-03",
    ]


def test_a_number_glued_to_a_date_is_kept_as_it_is_written() -> None:
    assert set(index_words("ticket 10.01.2023-77")) == {"ticket", "10", "01", "2023", "77"}


def test_a_turn_speaks_of_the_date_it_names_and_not_of_all_time() -> None:
    assert days(named_periods("I live here since May 2023, before last week elsewhere", WEDNESDAY)) == [
        "05-01..05-31",
        "08-21..08-27",
    ]


DAYS = st.dates(date(1000, 1, 1), date(9000, 1, 1))
EXPRESSIONS = st.sampled_from(
    """yesterday|tomorrow|last week|next week|last weekend|last Friday|two weeks ago|the last three days
    |昨天|大前天|上周|上周三|下周末|两周前|最近三天""".replace("\n    ", "").split("|")
)


@given(EXPRESSIONS, DAYS, st.integers(-500, 500))
def test_what_is_relative_moves_with_the_day_by_whole_weeks(text: str, day: date, weeks: int) -> None:
    step = timedelta(weeks=weeks)
    (here,) = asked_periods(text, datetime(day.year, day.month, day.day, tzinfo=UTC))
    there_day = day + step
    (there,) = asked_periods(text, datetime(there_day.year, there_day.month, there_day.day, tzinfo=UTC))
    assert there == Period(here.first + step, here.last + step, here.grain)


PIECES = """
    the last next this week weekend month year May Friday before after since until between and from to 8 31 2023
    14 August two days ago yesterday of in , 2023年 5月 8日 上 下 周 三 之前 以后 的 那个 周末 前 天 去年 最近 个月 到
""".split()


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(["", " "]), st.datetimes(timezones=st.just(UTC)))
def test_every_period_is_in_order_and_every_expression_in_the_text(pieces: list[str], gap: str, at: datetime) -> None:
    text = gap.join(pieces)
    for period in [*asked_periods(text, at), *named_periods(text, at)]:
        assert period.first <= period.last
    for find in (english_times, chinese_times):
        found = find(text, at.date())
        assert all(0 <= mention.start < mention.end <= len(text) for mention in found)
        assert all(one.end <= other.start for one, other in pairwise(found))


@given(DAYS)
def test_a_day_lies_in_its_week_month_and_year(day: date) -> None:
    for period in (day_of(day), week_of(day), month_of(day), year_of(day)):
        assert period.first <= day <= period.last
        assert {Grain.DAY: [1], Grain.WEEK: [7], Grain.MONTH: [28, 29, 30, 31], Grain.YEAR: [365, 366]}[
            period.grain
        ].count((period.last - period.first).days + 1)
    weekend = weekend_of(day)
    assert (weekend.first.weekday(), weekend.last.weekday()) == (5, 6)


@given(DAYS, st.integers(0, 1000))
def test_a_period_is_read_back_from_its_term(day: date, more: int) -> None:
    period = Period(day, day + timedelta(days=more))
    assert termed(period.term) == period
    assert termed("2023") is termed("may") is None


def test_a_period_cannot_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match="before"):
        Period(date(2023, 5, 2), date(2023, 5, 1))


@pytest.mark.parametrize("text", ["yesterday ", "昨天", "8 May 2023 ", "between 2023 and ", "may ", "the last ", "5月"])
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    started = thread_time()
    named_periods(text * (100_000 // len(text)), WEDNESDAY)
    asked_periods(text * (10_000 // len(text)), WEDNESDAY)
    index_words(text * (100_000 // len(text)))
    assert thread_time() - started < 10


@pytest.mark.parametrize("rule", ENGLISH[:-1], ids=range(len(ENGLISH) - 1))  # the last stands behind a word only
@settings(max_examples=settings.default.max_examples // 3)
@given(data=st.data())
def test_whatever_a_rule_matches_has_one_of_its_marks(rule: Rule, data: st.DataObject) -> None:
    found = data.draw(st.from_regex(rule.pattern, alphabet=st.characters(codec="ascii")))
    assert rule.may_match(found.lower())


def test_the_times_of_a_question_are_read_once() -> None:
    text = "What did I do last week, in May 2023 and before June?"
    before = times._known.cache_info().misses
    left = uncounted(text, WEDNESDAY), untimed(text, WEDNESDAY)
    assert len(asked_times(text, WEDNESDAY)) == 3  # it adds a bound to those that it was told
    assert (uncounted(text, WEDNESDAY), untimed(text, WEDNESDAY)) == left
    assert times._known.cache_info().misses == before + 1


TIME_WORDS = (
    "the last this next past over in during between from to until and before after of a day days week weekend month "
    "year years ago yesterday today tonight tomorrow night morning MAY March friday two 3 8th 2023 2023-05-08 2023/5/8"
)


@given(text=st.lists(st.sampled_from(TIME_WORDS.split()), max_size=9).map(" ".join))
def test_a_rule_is_left_out_only_where_it_matches_nothing(text: str) -> None:
    unread = [rule.pattern.pattern for rule in ENGLISH if not rule.may_match(text.lower())]
    assert not [pattern for pattern in unread if re.search(pattern, text, re.IGNORECASE)]
