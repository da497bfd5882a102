"""A question that somebody asks about themselves and answers at once: "Do you know where I live? In Oslo."."""

from __future__ import annotations

import re

from memoryos.regex import regex

_ASKS = regex(
    r"(?:.*\b(?:do you know|guess|know|wanna know|want to know|did I tell you|you know|can you guess)\W+)?"
    r"(?P<what>where I(?: now| currently)? (?P<verb>live|work|teach|study)(?: now| these days)?|what my name is"
    r"|how old I am|where (?:I'm|I am) from)\W*\?\W*",
    re.IGNORECASE,
)
_PLACE = regex(
    r"(?:(?i:in|at|near) (?:the )?)?(?!(?:Yes|No|Nope|Maybe|Probably|Sure|Well|Guess|You|Who|Why|Nowhere|Somewhere)\b)"
    r"[A-Z]\w{2,}(?:[ ,]+[A-Z]\w+){0,3}\W*"
)
_AGE = regex(r"\d{1,3}\W*")
_NAME = regex(r"[A-Z]\w+(?: [A-Z]\w+)?\W*")
_ZH_ASKS = regex(
    r"(?:你)?(?:们)?(?:猜猜?|知道|晓得)(?P<who>我)(?:现在)?(?P<verb>住|在|来自|叫)(?:在)?(?:哪[里儿]?|什么(?:名字|地方)?)[吗呢]?[?？]"
)
_ZH_ANSWER = regex(r"(?:在|住在)?(?P<value>[\u4e00-\u9fff]{2,6})[。！!]?")


def answered(question: str, following: str) -> str:
    """The statement that a question and the answer behind it make together; empty when they make none."""
    if found := _ZH_ASKS.fullmatch(question.strip()):
        value = _ZH_ANSWER.fullmatch(following.strip())
        verb = "住在" if found["verb"] in ("住", "在") else found["verb"]
        return f"我{verb}{value['value']}。" if value else ""
    found = _ASKS.fullmatch(question.strip().replace("’", "'"))
    return _statement(found, following.strip()) if found else ""


def _statement(asked: re.Match[str], answer: str) -> str:
    what, said = asked["what"].lower(), answer.rstrip(" .!")
    if what.startswith("how old"):
        return f"I am {said}." if _AGE.fullmatch(answer) else ""
    if what.startswith("what my name"):
        return f"My name is {said}." if _NAME.fullmatch(answer) else ""
    if not _PLACE.fullmatch(answer):
        return ""
    if what.endswith("from"):
        return f"I am from {said}."
    has_preposition = re.match(r"(?:in|at|near)\b", said, re.IGNORECASE)
    where = f"{said[:1].lower()}{said[1:]}" if has_preposition else f"in {said}"
    return f"I {asked['verb'].lower()} {where}."
