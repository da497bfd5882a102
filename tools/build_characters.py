"""Write src/memoryos/models/minilm/characters.json: what MiniLM's tokenizer drops, its marks and its signs.

Run it only to change the tokenizer; users get the result as package data. It needs

    pip install tokenizers

The classes are those of Unicode 8, which that library was built with; Python's are newer, and change with each version.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TARGET = Path(__file__).resolve().parents[1] / "src" / "memoryos" / "models" / "minilm" / "characters.json"
SURROGATES = range(0xD800, 0xE000)

CLEANED = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
BARE = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=True, lowercase=False)
WORDS = BertPreTokenizer()


def is_dropped(character: str) -> bool:
    return not CLEANED.normalize_str(character)


def is_mark(character: str) -> bool:
    return not is_dropped(character) and not BARE.normalize_str(character)


def is_sign(character: str) -> bool:
    return [part for part, _ in WORDS.pre_tokenize_str(f"a{character}b")] == ["a", character, "b"]


def ranges(belongs: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    first = last = -2
    for code in range(0x110000):
        if code in SURROGATES or not belongs(chr(code)):
            continue
        if code > last + 1:
            if first >= 0:
                yield first, last
            first = code
        last = code
    yield first, last


def pattern(belongs: Callable[[str], bool]) -> str:
    """A regular expression for one such character."""
    return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges(belongs)) + "]"


def main() -> None:
    patterns = {"dropped": pattern(is_dropped), "marks": pattern(is_mark), "signs": pattern(is_sign)}
    TARGET.write_text(json.dumps(patterns, indent=1) + "\n")


if __name__ == "__main__":
    main()
