"""Chinese statements that say several things with commas between them: 我叫李雷，住在北京，是一名医生.

The subject is left out after the first clause. It is still 我 only where nobody and nothing else came into it
(我养了一只猫，喜欢吃鱼 tells of the cat), and a clause may depend on the one before it (我住在北京，住了三年). So a
statement is taken apart only when each of its clauses introduces the speaker or says what they like.
"""

from __future__ import annotations

from itertools import pairwise

from memoryos.kinds import SemanticType
from memoryos.operation.consolidation.chinese import KIN, PROFESSION_END, shape_of, statement
from memoryos.operation.consolidation.statement import PLAIN, Statement
from memoryos.regex import regex

_COMMA = regex(r"[，,；;]")
_OWN_SUBJECT = regex(r"[^我]{0,6}我(?!们)")
_INTRODUCTION = regex(
    r"(?:现在|目前|今年)?我(?:现在|目前|今年|也|已经|从小)*(?:(?:名?叫|的名字[是叫])\w{2,8}|\d{1,3}岁"
    r"|(?:来自|住在|定居|出生[于在]|毕业于|就职于|任职于)\w{2,12}"
    r"|在\w{2,12}(?:工作|上班|上学|读书|念书|生活|居住|长大)"
    rf"|是(?:一?[名个位])?\w{{0,8}}{PROFESSION_END})"
)
_OTHERS = regex(rf"{KIN}|[他她它你您咱]|们|(?<!我)的")


def statements(sentence: str) -> list[Statement]:
    """What the sentence states about its speaker: a statement for each clause that stands by itself, otherwise one."""
    whole = statement(sentence)
    if whole is None:
        return []
    parts = [part.strip() for part in _COMMA.split(whole.quote.rstrip("。！!.～~，, "))]
    kinds = [_kind(part) for part in parts]
    if len(parts) < 2 or not all(_is_followed(*pair) for pair in pairwise(zip(parts, kinds, strict=True))):
        return [whole]
    return [_stated(part, kind, whole) for part, kind in zip(parts, kinds, strict=True) if kind]


def _kind(part: str) -> SemanticType | None:
    """The kind of statement about the speaker; None if it may concern others or depends on another clause."""
    told = _with_subject(part)
    if _OTHERS.search(told):
        return None
    if _INTRODUCTION.fullmatch(told):
        return SemanticType.FACT
    shape = shape_of(told)
    return shape[0] if shape and shape[0] is SemanticType.PREFERENCE else None


def _is_followed(first: tuple[str, SemanticType | None], second: tuple[str, SemanticType | None]) -> bool:
    """Whether both stand by themselves: who is liked may be the subject of what follows."""
    (_, kind), (part, following) = first, second
    if kind is None or following is None:
        return False
    return kind is SemanticType.FACT or following is kind or _OWN_SUBJECT.match(part) is not None


def _stated(part: str, kind: SemanticType, whole: Statement) -> Statement:
    told = _with_subject(part)
    return Statement(part, kind, PLAIN) if told == part else Statement(whole.quote, kind, PLAIN, clause=told)


def _with_subject(part: str) -> str:
    return part if _OWN_SUBJECT.match(part) else f"我{part}"
