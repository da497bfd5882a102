"""Stated values: "change my city to Trondheim" as the statement that people make of it, from which facts are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoryos.regex import regex

_OWN = r"\A(?:my|our) (?:(?:home|current|present|new) )?"
_ENGLISH = (
    (regex(rf"{_OWN}(?:city|town|location|residence|place of residence|country)\Z", re.IGNORECASE), "I live in {} now"),
    (regex(rf"{_OWN}(?:employer|company|workplace)\Z", re.IGNORECASE), "I work at {} now"),
    (regex(rf"{_OWN}age\Z", re.IGNORECASE), "I am {} years old"),
    (regex(rf"{_OWN}diet\Z", re.IGNORECASE), "I am {} now"),
)
_MARKS = ".!?。！？ "
_COURTESY = regex(r",? (?:please|thanks|thank you)[\s.!]*\Z", re.IGNORECASE)
_JOB = regex(rf"{_OWN}(?:job|occupation|profession|job title|role)\Z", re.IGNORECASE)
_CHINESE = (
    (regex(r"我们?的?(?:现在的?)?(?:所在)?(?:城市|居住地|所在地|住处|国家)\Z"), "我现在住在{}"),
    (regex(r"我们?的?(?:现在的?)?(?:公司|单位|雇主)\Z"), "我现在在{}工作"),
    (regex(r"我们?的?(?:现在的?)?(?:工作|职业|职位|岗位)\Z"), "我是{}"),
    (regex(r"我们?的?年龄\Z"), "我{}岁"),
)


def english_value(field: str, value: str) -> str:
    """The statement that a field of the user has a value: "my city", "Oslo" gives "I live in Oslo now"."""
    value = _COURTESY.sub("", value)
    if _JOB.match(field) and value[:1].islower():
        return f"I am {'an' if value[0] in 'aeiou' else 'a'} {re.sub('^(?:an?|the) ', '', value.rstrip(_MARKS))}"
    return _stated(_ENGLISH, field, value[:1].upper() + value[1:]) or f"{field} is {value}"


def chinese_value(field: str, value: str) -> str:
    """The same in Chinese."""
    return _stated(_CHINESE, field, value) or f"{field}是{value}"


def _stated(forms: Sequence[tuple[re.Pattern[str], str]], field: str, value: str) -> str | None:
    form = next((form for named, form in forms if named.match(field)), None)
    return form.format(value.rstrip(_MARKS)) if form else None
