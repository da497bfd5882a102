"""Introduced: words behind a lead that makes them a text, a line or an example, and no statement of the speaker's own.

A lead may end in a colon: "her status: ...", "write to him: ...", "an example of the passive: ..."; or in a verb: "a
sign that says I ...". What any other lead introduces is the speaker's own: "the truth is: ...", "I told her: ...".
Only words that speak of a first person are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryos.operation.consolidation import chinese_leads, english_leads
from memoryos.regex import regex

_LEAD_CHARS = 120  # before a colon, so much is looked at
_SUBJECT_CHARS = 40  # before a verb of saying

_COLON = regex(r":(?=\s)|：|(?<=[\u3400-\u9fff]):")
_STOPS = regex(r"[.!?\n。！？;；]")
_LINE = regex(r"[^\n]*")
_SENTENCE = regex(r"[^.!?\n。！？]{0,300}")
_QUOTED = regex(r"\s{0,4}(?:\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|«[^»\n]*»)")
_SAYS_I = regex(r"\bI\b|\b[Mm]y\b|我")
_GREETS = regex(r"\s{0,4}(?:(?:Hi|Hello|Hey|Dear)\b|你好|您好|喂|嗨)")
_MINE = regex(r"\b(?:I|we)\b[^,.!?;:]{0,20}$", re.IGNORECASE)  # "I kept shouting ..."


def introduced(plain: str) -> Iterator[tuple[int, int]]:
    """Where the words begin and end that a text, with straight apostrophes, introduces as no statement of its own."""
    yield from _behind_colons(plain)
    for said in english_leads.NO_COLON.finditer(plain):
        if not (said["loud"] and _MINE.search(plain, max(0, said.start() - _SUBJECT_CHARS), said.start())):
            yield said.end(), _end(_SENTENCE, plain, said.end())
    for said in chinese_leads.NO_COLON.finditer(plain):
        yield said.end(), _end(_SENTENCE, plain, said.end())
    for mail in (*english_leads.MAIL.finditer(plain), *chinese_leads.MAIL.finditer(plain)):
        yield mail.end(), _end(_LINE, plain, mail.end())


def may_introduce(plain: str) -> bool:
    """A quick check whether words may be introduced without a colon."""
    return any(one.search(plain) for leads in (english_leads, chinese_leads) for one in (leads.NO_COLON, leads.MAIL))


def _behind_colons(plain: str) -> Iterator[tuple[int, int]]:
    end = 0
    for colon in _COLON.finditer(plain):
        if colon.start() < end or not _says_i(plain, colon.end()):
            continue
        lead = _STOPS.split(plain[max(0, colon.start() - _LEAD_CHARS) : colon.start()])[-1]
        if _leads_to_others(lead):
            end = _end_behind(plain, colon.end())
            yield colon.end(), end


def _leads_to_others(lead: str) -> bool:
    return any(leads.LEADS_TO_OTHERS.search(lead) for leads in (english_leads, chinese_leads))


def _says_i(text: str, start: int) -> bool:
    """Whether the sentence that begins there speaks of a first person, or greets somebody."""
    return bool(_GREETS.match(text, start) or _SAYS_I.search(text, start, _end(_SENTENCE, text, start)))


def _end_behind(text: str, start: int) -> int:
    """Where the words behind a colon end: with their closing quotation mark, or else with the line."""
    quoted = _QUOTED.match(text, start)
    return quoted.end() if quoted else _end(_LINE, text, start)


def _end(shape: re.Pattern[str], text: str, start: int) -> int:
    found = shape.match(text, start)
    return found.end() if found else start
