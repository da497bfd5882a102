from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.operation.consolidation.dates import DateMention, chinese_dates, english_dates, insert_dates

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
FRIDAY = datetime(2023, 5, 12, tzinfo=UTC)
SATURDAY = datetime(2023, 5, 13, tzinfo=UTC)


def labels(mentions: list[DateMention]) -> list[str]:
    return [mention.label for mention in mentions]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("today", "8 May 2023"),
        ("tonight", "8 May 2023"),
        ("this morning", "8 May 2023"),
        ("yesterday", "7 May 2023"),
        ("last night", "7 May 2023"),
        ("the day before yesterday", "6 May 2023"),
        ("Tomorrow", "9 May 2023"),
        ("the day after tomorrow", "10 May 2023"),
        ("3 days ago", "5 May 2023"),
        ("two weeks ago", "week of 24 April 2023"),
        ("a month ago", "April 2023"),
        ("six months ago", "November 2022"),
        ("ten years ago", "2013"),
        ("last week", "week of 1 May 2023"),
        ("next month", "June 2023"),
        ("this year", "2023"),
        ("last year", "2022"),
        ("last Friday", "5 May 2023"),
        ("last Sunday", "7 May 2023"),
        ("last Monday", "1 May 2023"),
        ("this Friday", "12 May 2023"),
        ("last weekend", "weekend of 6 May 2023"),
    ],
)
def test_english(text: str, label: str) -> None:
    assert labels(english_dates(f"It was {text}, I think", MONDAY)) == [label]


@pytest.mark.parametrize(
    ("text", "said_at", "expected"),
    [
        ("next Friday", MONDAY, []),  # this week's or next week's?
        ("next Friday", FRIDAY, ["19 May 2023"]),
        ("next Monday", FRIDAY, ["15 May 2023"]),
        ("this Monday", FRIDAY, []),  # past or coming?
        ("this weekend", MONDAY, []),
        ("this weekend", SATURDAY, ["weekend of 13 May 2023"]),
        ("last weekend", SATURDAY, ["weekend of 6 May 2023"]),
        ("next weekend", MONDAY, []),
        ("on Friday", MONDAY, []),
        ("a few days ago", MONDAY, []),
        ("over the last week", MONDAY, []),
        ("the last month of school", MONDAY, []),
        ("since last year", MONDAY, []),
        ("next-week", MONDAY, []),
        ("yesterday and last week", MONDAY, ["7 May 2023", "week of 1 May 2023"]),
    ],
)
def test_english_resolves_only_what_has_one_reading(text: str, said_at: datetime, expected: list[str]) -> None:
    assert labels(english_dates(text, said_at)) == expected


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("今天", "2023年5月8日"),
        ("昨天", "2023年5月7日"),
        ("昨晚", "2023年5月7日"),
        ("前天", "2023年5月6日"),
        ("大前天", "2023年5月5日"),
        ("明天", "2023年5月9日"),
        ("后天", "2023年5月10日"),
        ("三天前", "2023年5月5日"),
        ("两周前", "2023年4月24日当周"),
        ("十二年前", "2011年"),
        ("6个月前", "2022年11月"),
        ("上周五", "2023年5月5日"),
        ("上个星期天", "2023年5月7日"),
        ("下周一", "2023年5月15日"),
        ("上周末", "2023年5月6日周末"),
        ("上周", "2023年5月1日当周"),
        ("下个月", "2023年6月"),
        ("去年", "2022年"),
        ("去年十一月", "2022年11月"),
        ("前年", "2021年"),
        ("明年", "2024年"),
    ],
)
def test_chinese(text: str, label: str) -> None:
    assert labels(chinese_dates(f"我{text}去的", MONDAY)) == [label]


@pytest.mark.parametrize("text", ["目前天气好", "几天前", "晚上周围很静", "以后天天见", "去年十三月"])
def test_chinese_leaves_other_words_alone(text: str) -> None:
    assert chinese_dates(text, MONDAY) == []


def test_insert_puts_each_date_behind_its_expression() -> None:
    text = "I ran yesterday and last week."
    assert insert_dates(text, english_dates(text, MONDAY), (" (", ")")) == (
        "I ran yesterday (7 May 2023) and last week (week of 1 May 2023)."
    )


@pytest.mark.parametrize("said_at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)])
def test_what_lies_outside_the_calendar_is_left_alone(said_at: datetime) -> None:
    ends = (
        "yesterday last week last month last year" if said_at.year == 1 else "tomorrow next week next month next year"
    )
    assert english_dates(ends, said_at) == []
    assert chinese_dates("昨天去年上个月" if said_at.year == 1 else "明天明年下个月", said_at) == []


@given(st.text(max_size=100), st.datetimes(timezones=st.just(UTC)))
def test_mentions_lie_in_the_text(text: str, said_at: datetime) -> None:
    for mention in [*english_dates(text, said_at), *chinese_dates(text, said_at)]:
        assert 0 <= mention.start < mention.end <= len(text)
