"""Words and keywords of a text, without a model.

Scripts with spaces are split at word characters; Chinese is segmented by jieba's dictionary; kana,
Thai and their like, which have neither spaces nor a dictionary here, become character pairs, and so
do the Chinese characters of Japanese. Two forms of a word are the same keyword when their stems are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Set

from memoryos.language.calendar import dated_words
from memoryos.language.foreign import function_words
from memoryos.language.segmenter import cut
from memoryos.language.snowball import snowball
from memoryos.language.stopwords import FUNCTION_WORDS
from memoryos.regex import regex
from memoryos.text_cache import text_cache

KEYWORD_LIMIT = 10  # keywords of one page: enough for two turns, few enough that Jaccard can be high

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PAIRED = "\u3040-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # kana, Thai, Lao, Burmese, Khmer
_SIGNS = "\u0300-\u036f\u0900-\u0dff"  # accents by themselves, and the vowels of India's scripts: no letters
_RUN = regex(rf"(?P<han>[{_HAN}]+)|(?P<paired>[{_PAIRED}]+)|(?P<word>(?:(?![{_HAN}{_PAIRED}])[\w{_SIGNS}])+)")
_UNSAID = regex("[\u064b-\u065f\u0670\u0640]")  # vowels and length, which Arabic is mostly written without

HAN = regex(rf"[{_HAN}]")  #: a Chinese character
KANA = regex("[\u3041-\u3096\u30a1-\u30fa]")  #: a character of Japanese alone
_ASCII_WORDS = bytes(ord(chr(one).lower()) if re.match(r"\w", chr(one), re.ASCII) else ord(" ") for one in range(256))

_LATIN_END, _GREEK_END, _CYRILLIC_END = "\u024f", "\u03ff", "\u052f"  # the last letters of scripts that have a stemmer
# Letters that Unicode does not take apart, as people write them on a keyboard that has none of them.
_WITHOUT_STROKES = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ħ": "h", "ı": "i"}
)
ARABIC_FIRST, ARABIC_END = "\u0620", "\u06ff"


@text_cache(65_536)
def stem(word: str) -> str:
    """The form under which `word` is compared: Snowball's for its script, and without accents in Latin letters."""
    if word.isascii():
        return snowball(word, "en") if word else word
    if word[0] <= _LATIN_END:
        word = "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
        word = word.translate(_WITHOUT_STROKES)
    language = _language_of_letter(word[0]) if word else None
    return snowball(word, language) if language else word


def _language_of_letter(letter: str) -> str | None:
    """Which language's rules words that begin with a letter follow: the script's largest."""
    if letter <= _LATIN_END:
        return "en"
    if letter <= _CYRILLIC_END:
        return "el" if letter <= _GREEK_END else "ru"
    return "ar" if ARABIC_FIRST <= letter <= ARABIC_END else None


def words(text: str) -> Iterator[str]:
    """The words of `text` in order: lower case, compatibility-normalised, unstemmed."""
    if text.isascii():  # the same, many times faster
        return iter(text.encode().translate(_ASCII_WORDS).decode().split())
    return _words(text)


def _words(text: str) -> Iterator[str]:
    cut_han = _pairs if KANA.search(text) else cut
    for run in _RUN.finditer(_UNSAID.sub("", unicodedata.normalize("NFKC", text).lower())):
        if run["han"]:
            yield from cut_han(run["han"])
        elif run["paired"]:
            yield from _pairs(run["paired"])
        else:
            yield run["word"]


def index_words(text: str) -> tuple[str, ...]:
    """The words under which `text` is found, unstemmed, repeated as often as they occur; function words are left out.

    They are compared by their stems. The words themselves are kept, because only they have a meaning of their own.
    Chinese is found by its words and by their characters: two words for nearly the same often share one. Dates are
    found by the same words however they are written, and May is a function word only where it is not a date.
    """
    text, dates = dated_words(text)
    empty = _empty(text)
    found = [word for word in words(text) if word not in empty]
    if not text.isascii():
        found += [character for word in found for character in HAN.findall(word) if character not in empty]
    return (*found, *dates)


def _empty(text: str) -> Set[str]:
    """The function words that a text may have."""
    foreign = function_words(text)
    return FUNCTION_WORDS | foreign if foreign else FUNCTION_WORDS


def keywords(text: str, limit: int = KEYWORD_LIMIT) -> tuple[str, ...]:
    """The content words of `text`, most frequent first, each stem once in the form seen first."""
    counts: dict[str, int] = {}  # by stem
    surface: dict[str, str] = {}
    empty = function_words(text)
    for word, times in Counter(words(text)).items():
        form = _content_stem(word)
        if not form or word in empty:
            continue
        if form in counts:
            counts[form] += times
        else:
            counts[form], surface[form] = times, word
    frequent = sorted(counts, key=counts.__getitem__, reverse=True)  # stable: those seen first come first
    return tuple([surface[form] for form in frequent[:limit]])


def is_content(word: str) -> bool:
    """Whether a word tells what a text is about."""
    return len(word) > 1 and word not in FUNCTION_WORDS and not word.isdecimal()


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words that tell what a text is about."""
    return frozenset(map(_content_stem, words(text))) - _NO_STEM


@text_cache(65_536)
def _content_stem(word: str) -> str:
    """The stem of a word that tells something; nothing of another one."""
    return stem(word) if is_content(word) else ""


_NO_STEM = frozenset({""})


def stems(keyword_set: Iterable[str]) -> frozenset[str]:
    """The stems of some words."""
    return frozenset(map(stem, keyword_set))


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]
