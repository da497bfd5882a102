"""Token counts for budgets, by MiniLM's word pieces: close to what chat models count.

What has no word pieces (a run of emoji, most Thai, a word of more than a hundred characters) counts by its characters,
at rates measured with the tokenizers o200k_base and cl100k_base.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil

from memoryos.models.word_pieces import UNKNOWN, Piece, word_pieces
from memoryos.regex import regex
from memoryos.text_cache import short_text_cache, text_cache

# What stands between blanks, and each Chinese character, is cut into pieces for itself: counts add up.
_CHUNK = regex(r"[\u4e00-\u9fff]|[^ \t\r\n\u4e00-\u9fff]+")
_REMEMBERED = 32_768  # chunks, mostly words; some 5 MB
_LONG = 32  # characters: a longer chunk hardly comes again
_ALIKE = regex("[!-~]+|[^!-~]+")  # ASCII, or none of it

# The first character of each range, and how many hundredths of a token each of its characters counts.
_RATES = (
    (0x0000, 100),  # ASCII, accents and the alphabets of Europe and the Near East
    (0x0900, 75),  # India's scripts
    (0x0E00, 60),  # Thai
    (0x0E80, 200),  # Lao, Tibetan
    (0x1000, 100),  # Burmese, Georgian, Hangul
    (0x1200, 200),  # Ethiopic, and rare scripts
    (0x1780, 100),  # Khmer
    (0x1800, 200),
    (0x1E00, 100),  # Latin and Greek letters with two signs, and marks
    (0x2070, 200),  # arrows, boxes, symbols
    (0x2800, 300),  # Braille
    (0x2900, 200),
    (0x3000, 80),  # kana, and Chinese marks
    (0x3100, 100),
    (0x3400, 300),  # rare Chinese characters
    (0x4E00, 100),  # Chinese
    (0xA000, 300),
    (0xAC00, 100),  # Hangul
    (0xD800, 200),
    (0xFE00, 100),  # marks, and wide forms
    (0x10000, 400),
    (0x1D000, 200),  # letters for mathematics, emoji
    (0x20000, 400),  # rare Chinese characters
    (0xE0000, 200),
)
_FIRST = [first for first, _ in _RATES]


@short_text_cache(2_048)  # lines of the texts for models, which come again
def count_tokens(text: str) -> int:
    """The number of tokens without special ones; the count of two lines is the sum of both."""
    return sum(map(_pieces, _CHUNK.findall(text)))


def _pieces(chunk: str) -> int:
    return _known(chunk) if len(chunk) <= _LONG else _counted(chunk)


def _counted(chunk: str) -> int:
    """The tokens of a chunk: its word pieces, and an estimate for parts without any."""
    is_plain = chunk.isascii() and chunk.isprintable()  # the tokenizer drops none of it
    if is_plain and (number := word_pieces().number(chunk)) is not None:  # nearly all of English
        return number
    pieces = list(word_pieces().cut(chunk))
    unknown = [chunk[piece.start : piece.end] for piece in pieces if piece.id == UNKNOWN]
    if not unknown and is_plain:
        return len(pieces)
    return len(pieces) - len(unknown) + sum(map(_without_pieces, unknown)) + _left_out(chunk, pieces)


def _without_pieces(part: str) -> int:
    """The estimated tokens of a part without word pieces."""
    if len(part) > _LONG:
        return sum(_known(part[start : start + _LONG]) for start in range(0, len(part), _LONG))
    parts = _ALIKE.findall(part)
    return sum(map(_known, parts)) if len(parts) > 1 else max(1, _by_characters(part))


def _left_out(chunk: str, pieces: Iterable[Piece]) -> int:
    """The estimated tokens of signs that the tokenizer drops: 0 while there are fewer than those it reads."""
    dropped = "".join("".join(_between(chunk, pieces)).split())
    return _by_characters(dropped) if 2 * len(dropped) > len(chunk) else 0


def _between(chunk: str, pieces: Iterable[Piece]) -> Iterator[str]:
    end = 0
    for piece in pieces:
        yield chunk[end : piece.start]
        end = max(end, piece.end)
    yield chunk[end:]


def _by_characters(text: str) -> int:
    return ceil(sum(count * _rate(character) for character, count in Counter(text).items()) / 100)


def _rate(character: str) -> int:
    return _RATES[bisect_right(_FIRST, ord(character)) - 1][1]


_known = text_cache(_REMEMBERED)(_counted)
