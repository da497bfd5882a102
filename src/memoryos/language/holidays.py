"""Holidays with a fixed day: Christmas, New Year's Eve, 圣诞节, 元旦. Those of the moon (Easter, 春节) are not read."""

from __future__ import annotations

from collections.abc import Mapping

Days = tuple[int, int, int]  #: the month, and the first and the last day in it


def _plain(name: str) -> str:
    """A name without case, apostrophe and the sign of a feast, with which it may be written or not."""
    return name.lower().translate({ord("'"): None, ord("’"): None}).removesuffix("节")


_ENGLISH: Mapping[str, Days] = {
    "new year's eve": (12, 31, 31),
    "new year's day": (1, 1, 1),
    "christmas eve": (12, 24, 24),
    "christmas day": (12, 25, 25),
    "christmas": (12, 24, 26),
    "boxing day": (12, 26, 26),
    "halloween": (10, 31, 31),
    "valentine's day": (2, 14, 14),
}
_CHINESE: Mapping[str, Days] = {
    "平安夜": (12, 24, 24),
    "圣诞": (12, 24, 26),
    "元旦": (1, 1, 1),
    "跨年夜": (12, 31, 31),
    "万圣节": (10, 31, 31),
    "情人节": (2, 14, 14),
    "劳动节": (5, 1, 1),
    "国庆": (10, 1, 7),
}
HINTS = ("christmas", "halloween")  # the other English ones have a day or a year in their names
ENGLISH_HOLIDAY = "|".join(_ENGLISH).replace("'", "['’]?")  # each before what it begins with
CHINESE_HOLIDAY = rf"(?:{'|'.join(_CHINESE)})节?"
_DAYS = {_plain(name): days for names in (_ENGLISH, _CHINESE) for name, days in names.items()}


def holiday(name: str) -> Days:
    """The days of a holiday that one of the patterns has found."""
    return _DAYS[_plain(name)]
