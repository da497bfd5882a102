"""Phones: telephone numbers, by the numbering plans of `phonenumbers`.

A number with a country code counts wherever it stands. A national one counts in a form that is used for little else
(US numbers in three groups, Chinese mobile numbers and area codes), or behind a word such as "call" or 电话.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryos.regex import regex

_EDGE, _END = r"(?<![\w.+-]{0})(?<!\d[ /]{0})", r"(?![\w-]|[./]\d)"
_ABROAD = regex(r"(?<![\w+])(?:\+|00)[1-9][\d ()./-]{6,20}\d" + _END, re.ASCII)
_US = regex(
    r"(?<![\w.+(-])(?:\+?1[-. ])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}" + _END,
    re.ASCII,
)
_CN_MOBILE = regex("1" + _EDGE.format("1") + r"[3-9]\d([ -]?)\d{4}\1\d{4}" + _END, re.ASCII)
_CN_BARE = regex(r"1(?<![\w.+-]1)[3-9]\d{9}(?![\w-]|\.\d)", re.ASCII)  # may stand beside other numbers
_CN_LAND = regex(
    r"[(0]" + _EDGE.format("[(0]") + r"(?:(?<=\()0\d{2,3}\) ?|(?<=0)\d{2,3}[- ])\d{7,8}(?:-\d{1,5})?" + _END, re.ASCII
)
_ANY = regex(r"[(\d]" + _EDGE.format(r"[(\d]") + r"(?:(?<=\()\d)?[\d ()/.-]{5,17}\d" + _END, re.ASCII)
_CUE = regex(
    r"(?:\b(?:phone|tel|telephone|telefon|mobile|cell|handy|call|fax|text (?:me|us|him|her|them)|whatsapp|reach me"
    r"|dial|sms)\b|电话|手机|座机|致电|拨打|传真|联系方式)"
    r"(?![^\d\n]*(?:order|invoice|ticket|case|account|serial|ref|单|票|编号|账号))[^\d\n]{0,24}$",
    re.IGNORECASE,
)
_DATE = regex(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
_CUE_CHARS = 40
_REGIONS = ("US", "CN", "DE", "GB", "FR", "IN", "JP", "AU", "AT", "CH", "ES", "IT")


def phone_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each telephone number; they may overlap."""
    for found in _ABROAD.finditer(text):
        number = found[0] if found[0].startswith("+") else f"+{found[0][2:]}"
        yield from _longest(found.start(), found[0], number, None)
    for pattern, region in ((_US, "US"), (_CN_MOBILE, "CN"), (_CN_BARE, "CN"), (_CN_LAND, "CN")):
        for found in pattern.finditer(text):
            if _is_valid(found[0], region):
                yield found.span()
    for found in _ANY.finditer(text):
        is_announced = _CUE.search(text, max(0, found.start() - _CUE_CHARS), found.start())
        if is_announced and not _DATE.match(found[0]) and any(_is_valid(found[0], region) for region in _REGIONS):
            yield found.span()


def _longest(start: int, found: str, number: str, region: str | None) -> Iterator[tuple[int, int]]:
    """The longest valid beginning that ends with a group: another number may follow it."""
    while True:
        if _is_valid(number, region):
            yield start, start + len(found)
            return
        cut = re.match(r"(.*\d)[ ()./-]+\d+$", found)
        if cut is None:
            return
        number, found = number[: len(number) - (len(found) - len(cut[1]))], cut[1]


def _is_valid(number: str, region: str | None) -> bool:
    import phonenumbers

    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False
