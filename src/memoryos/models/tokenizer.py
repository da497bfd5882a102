"""MiniLM's word pieces, and token counts for budgets: close to what chat models count for English text."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILE = Path(__file__).parent / "minilm" / "tokenizer.json"

# What stands between blanks, and each Chinese character, is cut into pieces for itself: counts add up.
_CHUNK = re.compile(r"[\u4e00-\u9fff]|[^ \t\r\n\u4e00-\u9fff]+")
_REMEMBERED = 32_768  # chunks, mostly words; some 5 MB
_LONG = 32  # characters: a longer chunk hardly comes again


def count_tokens(text: str) -> int:
    """How many word pieces the text has, without special tokens; of two lines, the sum of both."""
    return sum(map(_pieces, _CHUNK.findall(text)))


def _pieces(chunk: str) -> int:
    return _known(chunk) if len(chunk) <= _LONG else _counted(chunk)


def _counted(chunk: str) -> int:
    return len(word_pieces().encode(chunk, add_special_tokens=False).ids)


_known = lru_cache(_REMEMBERED)(_counted)


@cache
def word_pieces() -> Tokenizer:
    """Cuts texts of any length into word pieces."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
