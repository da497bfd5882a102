"""MiniLM's word pieces, and token counts for budgets: close to what chat models count for English text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILE = Path(__file__).parent / "minilm" / "tokenizer.json"


def count_tokens(text: str) -> int:
    """How many word pieces the text has, without special tokens."""
    return len(word_pieces().encode(text, add_special_tokens=False).ids)


@cache
def word_pieces() -> Tokenizer:
    """Cuts texts of any length into word pieces."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
