"""Transcripts: a talk that somebody pasted, with a line for each that says who speaks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from memoryos.regex import regex

_TIME = r"[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?:\ ?[ap]m)?[\])]?"
_WHO = r"[A-Z][\w.'’-]{0,20}(?:\ [A-Z][\w.'’-]{0,20}){0,2}|me|[\u3400-\u9fff]{1,6}"
_LABEL = regex(
    rf"""^[ \t]*(?P<time>{_TIME}[ ,-]*)?
    (?:<(?P<nick>[\w-]{{1,20}})>\s | (?P<who>{_WHO})(?:\ ?[（(][^()（）\n]{{1,20}}[)）])?(?:\ ?[:：]|\ [-–—]\ )
      | (?P<head>{_WHO})[ ,]+{_TIME}[ \t]*\n)[ \t]*""",
    re.VERBOSE | re.MULTILINE,
)
_OWN = frozenset(("me", "i", "myself", "user", "human", "我", "本人", "自己", "用户"))
_ROLES = frozenset(
    """interviewer interviewee candidate doctor patient nurse teacher student customer agent host guest reporter witness
    judge lawyer clerk client mom mum mother dad father sister brother grandma grandpa 甲 乙 丙 记者 市民 主持人 嘉宾
    医生 患者 病人 老师 学生 客服 顾客 妈妈 爸爸 妈 爸 奶奶 爷爷 哥哥 姐姐 弟弟 妹妹 老板 同事""".split()
)
_FORM = frozenset(("q", "a", "question", "answer", "问", "答", "ps", "note", "update", "edit", "补充", "更新", "备注"))


def said_by_others(text: str) -> Iterator[tuple[int, int]]:
    """Where the words of each other speaker of a pasted talk begin and end; nothing where no talk is."""
    lines = list(_LABEL.finditer(text)) if "\n" in text else []
    if _is_talk(lines):
        ends = [*(line.start() for line in lines[1:]), len(text)]
        for line, end in zip(lines, ends, strict=True):
            if _name(line) not in _OWN | _FORM:
                yield line.end(), end


def _is_talk(lines: Sequence[re.Match[str]]) -> bool:
    """Whether lines with labels are a talk, and not a form that was filled in."""
    names = [name for line in lines if (name := _name(line)) not in _FORM]
    has_nicks = any(line["nick"] or line["head"] or line["time"] for line in lines)
    is_shared = has_nicks or bool(_OWN & {*names}) or max(Counter(names).values(), default=0) > 1
    return len(names) > 1 and (is_shared or len(_ROLES & {*names}) > 0)


def _name(line: re.Match[str]) -> str:
    return (line["nick"] or line["who"] or line["head"]).strip().casefold()
