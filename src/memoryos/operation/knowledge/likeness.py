"""Likeness: whether two facts say the same.

Vectors find what is close, words decide: "likes tea" and "does not like tea" have nearly one vector, and so have 2019
and 2020. A near repeat says nothing that the other does not say: its content words are among the other's, in their
order, and no name, number, negation or word that turns the meaning ("used to", "only", a question) is another. So
"works at Google" and "works for Google" are one fact. Of two pages that are made one without a person who looks, the
other words and the tenses count, too ("before", "with", "has been"), except for those that say nothing by themselves
("the", "really"). What is close but worded otherwise is left to a judge, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np

from memoryos.infrastructure.vault.records import Vector
from memoryos.language.plain_letters import plain_text
from memoryos.language.segmenter import tagged
from memoryos.language.stopwords import FUNCTION_WORDS
from memoryos.language.words import HAN, stem, words
from memoryos.regex import regex
from memoryos.text_cache import text_cache

NEAR = 0.85  # cosine from which words are asked whether it is a repeat
DOUBTFUL = 0.75  # cosine from which a judge is asked, if the words say that it is none
_LEADING = 2  # content words that must be the same: of whom, and what of them
_SHARED = 0.5  # of the longer fact's content words that the shorter one has, at least

_NEGATION = regex(
    r"\b(?:not|no|never|none|nor|without|neither|nobody|nothing|stopped|quit|longer|former|ex|hardly"
    r"|nichts?|kein\w{0,2}|niemals|nie|niemand|ohne|weder|nunca|jam[aá]s|sin|nadie|nada|tampoco)\b",
    re.IGNORECASE,
)
_NEGATION_HAN = regex("[不没无未非别戒]|停止|放弃")
# Words that turn what is said without denying it: it was once, it may be, it is so only then, it is asked.
_TURN = regex(
    r"\b(?:used to|would|could|might|may|maybe|perhaps|possibly|probably|almost|nearly|rarely|barely|seldom|scarcely"
    r"|refus(?:e|es|ed|ing) to|fail(?:s|ed|ing)? to|forg(?:et|ets|ot) to|if|unless|except|only|at most|at least"
    r"|more than|less than|fewer than|up to|above|below|few|previously|formerly|once)\b|\?",
    re.IGNORECASE,
)
_TURN_HAN = regex(
    "以前|从前|曾经?|过去|原来|差一?点|几乎|可能|也许|或许|大概|如果|要是|假如|除非|除了|仅|只[有能要是在会]|最多|最少|至多|至少|以上|以下"
    "|超过|很少|偶尔|拒绝|忘了?|想|打算|[吗？]"
)
_NUMBER = regex(
    r"\d+|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|first|second|third|both|half)\b"
    r"|[零一二两三四五六七八九十百千万半]+",
    re.IGNORECASE,
)
# A number that names a thing: rule 1 is no later state of rule 0.
_DESIGNATION = regex(
    r"\b(?:rule|section|article|chapter|step|paragraph|clause|item|point|question|case|room|building|unit|phase|appendix"
    r"|table|figure|page|line|gate|platform|floor|ticket|order|invoice|policy|patient|customer|group|class|part|task"
    r"|issue|bug|machine|server|lot|batch|module|lesson|exercise|annex|principle|requirement|guideline|fact|entry)\s*"
    r"(?:no\.?|number|#|nr\.?)?\s*(\d[\w.-]*)|§+\s*(\d[\w.-]*)|第\s*([\d零一二两三四五六七八九十百]+)\s*[条章节款步号项]",
    re.IGNORECASE,
)
_SHORT = (  # how what is written in short is written in full
    (regex(r"\bcan(?:'t|not)\b", re.IGNORECASE), "can not"),
    (regex(r"\bwon't\b", re.IGNORECASE), "will not"),
    (regex(r"\bshan't\b", re.IGNORECASE), "shall not"),
    (regex(r"n't\b", re.IGNORECASE), " not"),
    (regex(r"\bI'm\b", re.IGNORECASE), "I am"),
    (regex(r"'re\b", re.IGNORECASE), " are"),
    (regex(r"'ve\b", re.IGNORECASE), " have"),
    (regex(r"'ll\b", re.IGNORECASE), " will"),
    (regex(r"\bby the way\b", re.IGNORECASE), " "),
)
# Function words that may be there or not. Others relate ("before", "her", "has been"), and change what is said.
_LIGHT = frozenset(
    """
    a also an and anyway awesome hello hey hi however just now of oh ok okay please pretty quite rather really so such
    sure thank thanks that the totally very well which wow yeah yep yes
    的 是 也 就 很 真 真的 真是 非常 吗 呢 吧 啊 呀 哦 嗯 哈 哈哈 嘛 啦 着 得 地 等 等等 嗎 著 現在 现在
    """.split()
)
_NAME = regex(r"(?<=\s)(?<!\d\s)[\"'(]?([A-Z][\w-]*)")
_OWNER = regex(r"'s\b|的|\b(?:my|his|her|their)\b", re.IGNORECASE)
_NAME_TAGS = ("nr", "ns", "nt", "nz")  # people, places, organisations, other names


class Verdict(StrEnum):
    """The relation of a new fact to an old one."""

    SAME = "same"  # says the same in other words
    UPDATES = "updates"  # holds in its place
    DIFFERENT = "different"  # both hold


Pair = tuple[str, str]  # the old text and the new one
Verdicts = Mapping[Pair, Verdict]


class Judge(Protocol):
    """Compares facts that are close in meaning, where words cannot tell."""

    def compare(self, pairs: Sequence[Pair]) -> Mapping[Pair, Verdict]:
        """The relation of the new fact to the old one for each pair; without a verdict both are valid."""
        ...


class _Word(NamedTuple):
    form: str
    is_content: bool


@dataclass(frozen=True, slots=True)
class _Words:
    content: tuple[str, ...]  # stems, in order
    said: tuple[_Word, ...]  # all words that count, in order
    names: frozenset[str]
    numbers: tuple[str, ...]
    designations: frozenset[str]  # as they are written: "rule 1"
    negations: int
    turns: tuple[str, ...]
    owners: int

    @property
    def marks(self) -> tuple[object, ...]:
        """What is the same in two texts that say the same, whatever their other words."""
        return self.names, self.numbers, self.negations, self.turns, self.owners


def says_the_same(old: str, new: str) -> bool:
    """Whether one of the two says nothing that the other does not, by its words with content and those that turn it."""
    mine, yours = _read(old), _read(new)
    if mine.marks != yours.marks:
        return False
    short, long = sorted((mine.content, yours.content), key=len)
    if len(short) < _LEADING or len(short) < _SHARED * len(long) or short[:_LEADING] != long[:_LEADING]:
        return False
    left = iter(long)
    return all(word in left for word in short)


def repeats(old: str, new: str) -> bool:
    """Whether one of the two says nothing that the other does not, by its tenses and the words that relate, too."""
    short, long = sorted((_read(old).said, _read(new).said), key=len)
    return says_the_same(old, new) and _is_within(short, long)


def _is_within(short: Sequence[_Word], long: Sequence[_Word]) -> bool:
    """Whether the longer text has the words of the shorter one, in their order, and between them words with content."""
    left, at = [], 0
    for word in long:
        if at == len(short) or word != short[at]:
            left.append(word)
        elif _adds_nothing_but_relations(left):
            return False
        else:
            left, at = [], at + 1
    return at == len(short) and not _adds_nothing_but_relations(left)


def _adds_nothing_but_relations(words_between: Sequence[_Word]) -> bool:
    return bool(words_between) and not any(word.is_content for word in words_between)


def more_specific(old: str, new: str) -> str:
    """The one of two that say the same that says more; the old one when neither does."""
    return new if len(_read(new).content) > len(_read(old).content) else old


def differs_in_detail(old: str, new: str) -> bool:
    """Whether two texts speak of the same and differ in a number or a negation: the marks of an update.

    Other names, or other words to begin with, tell two things: "Parcels to Norway ..." and "... to Spain ...".
    """
    mine, yours = _read(old), _read(new)
    if mine.designations != yours.designations or _is_of_another_thing(mine, yours):
        return False
    if len(set(mine.content) & set(yours.content)) < _SHARED * max(len(mine.content), len(yours.content), 1):
        return False
    return mine.numbers != yours.numbers or mine.negations != yours.negations


def _is_of_another_thing(mine: _Words, yours: _Words) -> bool:
    """Whether each has a name, or a first word that is no number, which the other has not."""
    if mine.names - yours.names and yours.names - mine.names:
        return True
    firsts = [next((word for word in one.content if not _NUMBER.match(word)), "") for one in (mine, yours)]
    return firsts[0] not in yours.content and firsts[1] not in mine.content


class Nearest:
    """The facts of one subject by the likeness of their vectors."""

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._rows = {cube_id: row for row, cube_id in enumerate(vectors)}
        self._matrix = np.stack(list(vectors.values())) if vectors else np.zeros((0, 0), np.float32)

    def put(self, cube_id: str, vector: Vector) -> None:
        """Take in a fact, or its new vector."""
        row = self._rows.setdefault(cube_id, len(self._rows))
        if row >= len(self._matrix):  # room for as many again, so that adding stays cheap
            room = np.zeros((max(16, len(self._matrix)), len(vector)), np.float32)
            self._matrix = np.concatenate([self._matrix.reshape(-1, len(vector)), room])
        self._matrix[row] = vector

    def to(self, vector: Vector) -> list[tuple[str, float]]:
        """The facts with a cosine from DOUBTFUL on, the closest first."""
        if not self._rows:
            return []
        cosines = np.vecdot(self._matrix[: len(self._rows)], vector)
        ids = list(self._rows)
        found = [(ids[row], float(cosines[row])) for row in np.flatnonzero(cosines >= DOUBTFUL)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def judged(judge: Judge | None, pairs: Iterable[Pair]) -> dict[Pair, Verdict]:
    """The verdicts on these pairs; none without a judge."""
    wanted = list(dict.fromkeys(pairs))
    return dict(judge.compare(wanted)) if judge and wanted else {}


@text_cache(4096)
def _read(text: str) -> _Words:
    plain = _in_full(plain_text(text.replace("’", "'")))
    said = [word for word in words(plain) if word not in _LIGHT]
    content = [word for word in said if word not in FUNCTION_WORDS]
    return _Words(
        tuple(map(stem, content)),
        tuple(_word(word) for word in said),
        frozenset(_names(plain)),
        tuple(sorted(found.casefold() for found in _NUMBER.findall(plain))),
        frozenset(" ".join(found.group().casefold().rstrip(".:-").split()) for found in _DESIGNATION.finditer(plain)),
        len(_NEGATION.findall(plain)) + len(_NEGATION_HAN.findall(plain)),
        tuple(sorted(found.casefold() for found in (*_TURN.findall(plain), *_TURN_HAN.findall(plain)))),
        len(_OWNER.findall(plain)),
    )


def _in_full(plain: str) -> str:
    for short, full in _SHORT if "'" in plain or "cannot" in plain.lower() or "by the" in plain.lower() else ():
        plain = short.sub(full, plain)
    return plain


def _word(word: str) -> _Word:
    """A word as it counts: what is over ("worked") is not what is ("works")."""
    if word in FUNCTION_WORDS:
        return _Word(word, is_content=False)
    form = stem(word)
    return _Word(f"{form} -ed" if word.endswith("ed") and form != word else form, is_content=True)


def _names(plain: str) -> Sequence[str]:
    found = [name.casefold() for name in _NAME.findall(plain)]
    if HAN.search(plain):
        found += [word for word, tag in tagged(plain) if tag.startswith(_NAME_TAGS)]
    return found
