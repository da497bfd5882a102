"""Tongue: the language of a text, where it is one whose words are compared by more than their letters."""

from __future__ import annotations

from enum import StrEnum

from memoryos.language.foreign import language_of, latin_language
from memoryos.language.stopwords import ENGLISH
from memoryos.language.words import HAN, words
from memoryos.regex import regex

_KANA = regex(r"[\u3040-\u30ff]")
_LATIN_WORD = regex(r"[A-Za-z\u00c0-\u024f]+")
_LETTER = regex(r"[^\W\d_]")
_OTHER = regex(r"[^\W\d_\u0000-\u024f]")  # a letter that is not Latin
_SHARE = 0.1  # of the words in English text, code and lists included, are function words; elsewhere some 4 %

_SIMPLIFIED = frozenset("们这个么说时过会对来后还给书学开关问间现样经进发见话车东长点电气买卖爱岁")
_TRADITIONAL = frozenset("們這個麼說時過會對來後還給書學開關問間現樣經進發見話車東長點電氣買賣愛歲")


class Tongue(StrEnum):
    """A language with stems or a dictionary of its own; Chinese by its script, for words differ between the two."""

    ENGLISH = "english"
    CHINESE = "chinese"  # in either script
    SIMPLIFIED = "simplified"
    TRADITIONAL = "traditional"

    @property
    def is_chinese(self) -> bool:
        """Whether it is Chinese."""
        return self is not Tongue.ENGLISH

    def may_be(self, other: Tongue | None) -> bool:
        """Whether texts of the two would use the same words for the same."""
        if other is None or Tongue.CHINESE not in (self, other):
            return self is other
        return self.is_chinese and other.is_chinese


def tongue(text: str) -> Tongue | None:
    """The language of most of a text; None for one that is not known here, and for a text without words."""
    if _is_mostly_han(text):
        return None if _KANA.search(text) else _script(text)
    found = list(words(text))
    has_function_words = found and sum(map(ENGLISH.__contains__, found)) >= _SHARE * len(found)
    return Tongue.ENGLISH if has_function_words and latin_language(text) == "en" else None


def is_foreign(text: str, to: Tongue) -> bool:
    """Whether a text is in another script than this language; Latin letters occur in all of them."""
    if text.isascii():
        return False
    if _is_mostly_han(text):
        return _KANA.search(text) is not None or not to.may_be(_script(text))
    return 2 * len(_OTHER.findall(text)) > len(_LETTER.findall(text))


def is_other(text: str, than: Tongue) -> bool:
    """Whether a text is surely in another language."""
    code = language_of(text)
    if code == "en":  # or in none that could be told
        return than.is_chinese and tongue(text) is Tongue.ENGLISH
    return code != ("zh" if than.is_chinese else "en")


def _is_mostly_han(text: str) -> bool:
    """Whether a text has at least as many Chinese characters as words in Latin letters."""
    found = 0 if text.isascii() else len(HAN.findall(text))
    return found > 0 and found >= len(_LATIN_WORD.findall(text))


def _script(text: str) -> Tongue:
    """The script of Chinese text, where its characters tell."""
    traditional = sum(text.count(character) for character in _TRADITIONAL)
    simplified = sum(text.count(character) for character in _SIMPLIFIED)
    if traditional == simplified:
        return Tongue.CHINESE
    return Tongue.TRADITIONAL if traditional > simplified else Tongue.SIMPLIFIED
