"""Chinese expressions of time: 2023年5月8日, 上周五, 去年五月, 三天前, 2023年8月14日之前的那个周末.

Chinese counts weeks and years, so 上周五 is the Friday of the week before and has one reading.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from memoryos.language.calendar import HAN_NUMBER, han_number
from memoryos.language.holidays import CHINESE_HOLIDAY, holiday
from memoryos.language.period import (
    CENTURY,
    Grain,
    Period,
    beside,
    day_of,
    decade_of,
    latest_decade,
    month_of,
    shifted,
    span,
    week_of,
    weekday_beside,
    year_of,
)
from memoryos.language.rule import absolute, fixed, relative

_UNITS = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "周末": "weekend",
    "月": "month",
    "年": "year",
}
_STEPS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_WEEKDAYS = "一二三四五六日"

_NUMBER = f"(?P<number>{HAN_NUMBER})"
_WEEK = r"(?:周|星期|礼拜)"
_WHICH = r"(?<![晚早上下])(?P<which>上上|下下|[上这本下])个?"
_DAY = rf"(?:(?P<day>{HAN_NUMBER})[日号]?)?"
_YEAR = r"(?:(?<!\d)(?:1[5-9]|20|21)\d\d|[一二][零〇一二三四五六七八九]{3})"
_DATE = rf"(?P<year>{_YEAR})年(?:的?(?P<month>{HAN_NUMBER})月份?{_DAY})?"
_THE = "(?:的?那一?个?|的?一个?|的?上一?个?|的?下一?个?|的?最后一?个?|的?第一个?|的)"


def _named(match: re.Match[str], _today: date) -> Period:
    """The year, month or day that is named in full."""
    return _date(han_number(match["year"]), match)


def _date(year: int, match: re.Match[str]) -> Period:
    if not match["month"]:
        return year_of(date(year, 1, 1))
    month = date(year, han_number(match["month"]), 1)
    return day_of(month.replace(day=han_number(match["day"]))) if match["day"] else month_of(month)


def _between(match: re.Match[str], today: date) -> Period:
    """2023年5月到7月: the year is that of the first date."""
    first = _named(match, today).first
    month = first.replace(day=1, month=han_number(match["last_month"]))
    last = month.replace(day=han_number(match["last_day"])) if match["last_day"] else month_of(month).last
    return Period(first, last)


def _years(match: re.Match[str], _today: date) -> Period:
    """2020到2022年."""
    return Period(
        year_of(date(han_number(match["since"]), 1, 1)).first, year_of(date(han_number(match["until"]), 1, 1)).last
    )


def _beside_date(match: re.Match[str], today: date) -> Period:
    """2023年6月9日前一周: the seven days; 之前的那个周日: the nearest one."""
    unit, side, anchor = match["unit"], "before" if "前" in match["side"] else "after", _named(match, today)
    if unit in _UNITS:
        return beside(_UNITS[unit], side, anchor)
    if unit.endswith("末"):
        return beside(Grain.WEEKEND, side, anchor)
    return weekday_beside(_weekday(unit[-1]), side, anchor)


def _weekday(name: str) -> int:
    return _WEEKDAYS.index(name.replace("天", "日"))


def _ago(match: re.Match[str], today: date) -> Period:
    return shifted(_UNITS[match["unit"]], -han_number(match["number"]), today)


def _span(match: re.Match[str], today: date) -> Period:
    """最近两周: up to today."""
    return span(_UNITS[match["unit"]], han_number(match["number"]), today)


def _named_day(match: re.Match[str], today: date) -> Period:
    return day_of(week_of(today).first + timedelta(weeks=_STEPS[match["which"]], days=_weekday(match["weekday"])))


def _weekend(match: re.Match[str], today: date) -> Period:
    return shifted(Grain.WEEKEND, _STEPS[match["which"]], today)


def _beside(match: re.Match[str], today: date) -> Period:
    return shifted("month" if match["unit"] == "月" else "week", _STEPS[match["which"]], today)


def _day_of_month(match: re.Match[str], today: date) -> Period:
    """上个月5号."""
    month = shifted(Grain.MONTH, _STEPS[match["which"]], today).first
    return day_of(month.replace(day=han_number(match["day"])))


def _month_of_year(match: re.Match[str], today: date) -> Period:
    return _date(today.year + _YEARS[match["which"]], match)


def _holiday_of_year(match: re.Match[str], _today: date) -> Period:
    """2022年圣诞节."""
    return _days_of(match, han_number(match["year"]))


def _holiday(match: re.Match[str], today: date) -> Period:
    """去年圣诞节."""
    return _days_of(match, today.year + _YEARS[match["which"]])


def _days_of(match: re.Match[str], year: int) -> Period:
    month, first, last = holiday(match["holiday"])
    return Period(date(year, month, first), date(year, month, last))


def _decade(match: re.Match[str], today: date) -> Period:
    """1990年代, 二十世纪九十年代; 90年代 is the latest that has begun."""
    number = han_number(match["decade"])
    if number >= CENTURY:
        return decade_of(number)
    if match["past"]:
        return decade_of((today.year // CENTURY - 1) * CENTURY + number)
    return (
        decade_of((han_number(match["century"]) - 1) * CENTURY + number)
        if match["century"]
        else latest_decade(number, today)
    )


CHINESE = (
    absolute(
        rf"(?:(?:(?P<century>{HAN_NUMBER})|(?P<past>上个?))世纪)?(?P<decade>{_YEAR}(?<=[0〇零])|(?<!\d)[1-9]0|[二三四五六七八九]十)年代",
        _decade,
    ),
    absolute(
        rf"(?:从|自)?{_DATE}[到至和与—–-](?P<last_month>{HAN_NUMBER})月份?(?:(?P<last_day>{HAN_NUMBER})[日号]?)?(?:之间|期间)?",
        _between,
    ),
    absolute(rf"(?P<since>{_YEAR})[到至—–-](?P<until>{_YEAR})年(?!的?{HAN_NUMBER}月)", _years),
    absolute(
        rf"{_DATE}的?(?P<side>之前|以前|前|之后|以后|后){_THE}"
        rf"(?P<unit>{_WEEK}末|{_WEEK}[一二三四五六日天]|{_WEEK}|月|年|天)(?!气)",
        _beside_date,
    ),
    absolute(rf"(?P<year>{_YEAR})年的?(?P<holiday>{CHINESE_HOLIDAY})", _holiday_of_year),
    absolute(_DATE, _named),
    relative("大前天", fixed("day", -3)),
    relative("(?<![目之以])前天(?!气)", fixed("day", -2)),
    relative("昨[天晚日]晚?", fixed("day", -1)),
    relative("今[天晚早日]晚?", fixed("day", 0)),
    relative("明[天晚早日]", fixed("day", 1)),
    relative("大后天", fixed("day", 3)),
    relative("(?<![之以])后天(?!天)", fixed("day", 2)),
    relative(f"(?:最近|过去|近)的?{_NUMBER}个?(?P<unit>天|周|星期|礼拜|月|年)", _span),
    relative(
        f"{_NUMBER}个?(?P<unit>天|周|星期|礼拜|(?<=[个两])月|年)(?:之前|以前|前)(?!天)", _ago
    ),  # 五月之前: before May
    relative(f"{_WHICH}{_WEEK}(?P<weekday>[一二三四五六日天])", _named_day),
    relative(f"{_WHICH}{_WEEK}末", _weekend),
    relative(f"{_WHICH}月份?的?(?P<day>{HAN_NUMBER})[日号]", _day_of_month),
    relative(f"{_WHICH}(?P<unit>月|{_WEEK})(?![一二三四五六日天末饼球亮])", _beside),
    relative(rf"(?P<which>前年|去年|今年|明年|后年)的?(?P<month>{HAN_NUMBER})月份?{_DAY}(?!\d)", _month_of_year),
    relative(rf"(?P<which>前年|去年|今年|明年|后年)的?(?P<holiday>{CHINESE_HOLIDAY})", _holiday),
    *(relative(word, fixed("year", years)) for word, years in _YEARS.items()),
)
