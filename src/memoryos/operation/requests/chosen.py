"""Chosen: which of the memories that a search found a topic means.

A search finds what bears on a question. What is to be removed or frozen must say all words of the topic. Inflected
forms count: "allergies" means "allergic". "My old job" is not meant by who tells of an old car and a new job, and
"I like tea" is not meant by "I do not like tea".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from memoryos.cube import MemCube
from memoryos.kinds import Kind, Role
from memoryos.language.sentences import split_sentences
from memoryos.language.words import HAN, index_words, stem, words
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import Hit
from memoryos.operation.requests.request_slots import KIN, asked_slot
from memoryos.regex import regex

NEAR = 5  # memories that are named as near
_ALIKE = 5  # first letters that forms of one word share
_BEARS = 0.4  # relevance of what is near; that of what shares nothing reaches 0.35 where much of the rest fits
_SAID_CHARS = 5_000  # of a turn in which statements are looked for
_BESIDE = 3  # words after "old" of which one may be what is old

_SAYS_NOTHING = regex(
    r"['’](?:s|m|re|ve|ll|d)\b|\A(?:i|we) said (?:that )?|\b(?:named|called)\b|\A我说过?|(?:[这那]件?)?事情?\Z",
    re.IGNORECASE,
)
_LIST = regex(r",? and |、|，?(?:和|以及|还有|跟)(?=我)", re.IGNORECASE)
_OWN = regex(r"\s*(?:my|our)\b|\s*我", re.IGNORECASE)
# A thing of somebody else, with its owner.
_OTHERS = regex(
    r"\b(?:(?!(?:user|it|that|there|what|here|who|how|let)'s)\w+['’]s|his|her|their|your)"
    r"(?: (?!(?:my|our|I|me)\b)[\w-]+){1,3}"
    rf"|(?:[他她]们?|{KIN})[^，。！？；我的]{{0,4}}的[^，。！？；我]{{1,4}}",
    re.IGNORECASE,
)
_CONTRASTS = frozenset(map(stem, ("old", "new", "former", "previous", "current", "first", "second", "last", "next")))
_CONTRAST_HAN = regex(r"([旧新老前])的?([\u4e00-\u9fff]{2})")
_DENIED = regex(r"\b(?:not|never|no longer|cannot)\b|n['’]t\b|不(?![错久同过仅但管论])|没|从未", re.IGNORECASE)
_STATEMENT = regex(
    r"\A(?:i|we)\b|\A(?:my|the)\b.*\b(?:is|are|was|were)\b"
    r"|\A我们?(?:喜欢|爱|讨厌|恨|想|会|要|有|是|在|能|吃|喝|住|养|对|觉得|打算|需要|认为|相信|懂|怕)",
    re.IGNORECASE,
)


def chosen(topic: str, found: Sequence[Hit], kinds: Collection[Kind]) -> tuple[list[MemCube], list[MemCube]]:
    """The memories of these kinds that the topic means, and others that have some of its words or bear on it.

    "My rent and my cat" means those of each, if there are some of each.
    """
    parts = [_meant(part, [hit for hit in found if hit.cube.kind in kinds]) for part in _parts(topic)]
    taken = list({one.id: one for part in parts for one in part}.values()) if all(parts) else []
    known = {one.id for one in taken}
    others = [hit for hit in found if hit.cube.id not in known]
    wanted = _wanted(_SAYS_NOTHING.sub(" ", topic).strip())
    near = [hit.cube for hit in others if wanted and _share(wanted, hit.cube.text) > 0]
    near += [hit.cube for hit in others if (hit.relevance or 0) >= _BEARS and hit.cube not in near]
    # Of Chinese, the relevance of what shares no word is not known: the best of the rest may bear on the topic.
    is_known = any(one.kind is Kind.PAGE for one in taken) and HAN.search(topic) is None
    return taken, near if near or is_known else [hit.cube for hit in others]


def _parts(topic: str) -> list[str]:
    """The topics that one is a list of: "my rent and my cat"; itself, if it is none."""
    parts = _LIST.split(topic)
    return parts if all(_OWN.match(part) for part in parts) else [topic]


def _meant(topic: str, found: Sequence[Hit]) -> list[MemCube]:
    said, slot = _SAYS_NOTHING.sub(" ", topic).strip(), asked_slot(topic)
    wanted = _wanted(said)
    is_own = _OWN.match(topic) is not None and _OTHERS.search(topic) is None  # "my job" is not "my sister's job"
    return [
        hit.cube
        for hit in found
        if _says_all(said, wanted, _OTHERS.sub(" ", hit.cube.text) if is_own else hit.cube.text)
        or (slot and slot.is_filled_by(_own_sentences(hit.cube)))
    ]


def _says_all(topic: str, wanted: frozenset[str], text: str) -> bool:
    """Whether a text has all words of the topic, and is about the same thing."""
    return bool(wanted) and _share(wanted, text) == 1.0 and _is_meant(topic, text)


def _own_sentences(cube: MemCube) -> list[str]:
    """What the user said in a page, or what a fact says."""
    turns = turns_of(cube)
    said = [turn.text for turn in turns if turn.role is Role.USER] if turns else [cube.text]
    is_telling = turns or cube.kind is Kind.FACT
    return [sentence for text in said for sentence in split_sentences(text[:_SAID_CHARS])] if is_telling else []


def _wanted(topic: str) -> frozenset[str]:
    """The words of the topic, by which a memory must be found; of Chinese the words, and not their characters."""
    whole = set(words(topic))
    return frozenset(stem(word) for word in index_words(topic) if word in whole or not HAN.fullmatch(word))


def _share(wanted: frozenset[str], text: str) -> float:
    """The part of the words of the topic that a text has."""
    said = frozenset(map(stem, index_words(text)))
    return sum(_is_said(word, said, text) for word in wanted) / len(wanted)


def _is_said(word: str, said: Iterable[str], text: str) -> bool:
    return word in said or _is_like_any(word, said) or bool(HAN.search(word) and word in text)


def _is_like_any(word: str, said: Iterable[str]) -> bool:
    if len(word) < _ALIKE or not word.isascii():
        return False
    head = word[: max(_ALIKE, len(word) - 2)]
    return any(one.startswith(head) and len(one) <= len(word) + 2 for one in said)


def _is_meant(topic: str, text: str) -> bool:
    """Whether a text with all words of the topic is about the same thing, and says the same of it."""
    return all(_says_beside(text, *pair) for pair in _contrasts(topic)) and _agrees(topic, text)


def _contrasts(topic: str) -> list[tuple[str, str]]:
    """What is told apart, with the word that does: ("old", "job")."""
    told = list(map(stem, words(topic)))
    pairs = [(one, after) for one, after in pairwise(told) if one in _CONTRASTS]
    return pairs + [(found[1], found[2]) for found in _CONTRAST_HAN.finditer(topic)]


def _says_beside(text: str, mark: str, thing: str) -> bool:
    if HAN.match(mark):
        return re.search(f"{mark}[^旧新老前，。！？；]{{0,{_BESIDE}}}{thing}", text) is not None
    told = list(map(stem, words(text)))
    return any(
        _is_said(thing, _until_contrast(told[place + 1 :][:_BESIDE]), "")
        for place, one in enumerate(told)
        if one == mark
    )


def _until_contrast(told: Sequence[str]) -> Sequence[str]:
    ends = [place for place, one in enumerate(told) if one in _CONTRASTS]
    return told[: ends[0]] if ends else told


def _agrees(topic: str, text: str) -> bool:
    """Whether a text denies what the topic denies, and states what it states; "my job" states nothing."""
    is_denied = _DENIED.search(topic) is not None
    if not is_denied and not _STATEMENT.search(topic):
        return True
    wanted = _wanted(topic)
    telling = [one for one in split_sentences(text) if _share(wanted, one) == 1.0]
    return any((_DENIED.search(one) is not None) is is_denied for one in telling or [text])
