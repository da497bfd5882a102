"""Text caches: what is remembered of stored text is forgotten when something is erased."""

from __future__ import annotations

import re
from pathlib import Path

import memoryos
from memoryos.language.words import stem
from memoryos.models.hashing import Hashing
from memoryos.models.remembered import Remembered
from memoryos.text_cache import forget_texts, text_cache

WITHOUT_TEXT = {  # modules of the library with a cache of what no memory says
    "infrastructure/vault/key_part.py": 1,  # rows of API keys
    "language/looks.py": 3,  # single characters, and tags of our own
    "language/quotation.py": 1,  # the same
    "operation/consolidation/rules.py": 1,  # for the time of one call
    "operation/consolidation/traits.py": 2,  # schemas of personas
    "operation/hierarchy/page_entries.py": 1,  # days
    "operation/recall/fusion.py": 1,  # threads of a process
    "scope.py": 1,  # namespaces
    "text_cache.py": 1,
}


def test_a_text_is_read_once_until_something_is_erased():
    read = []
    cached = text_cache(2)(lambda text: read.append(text) or text.upper())
    assert (cached("a"), cached("a"), read) == ("A", "A", ["a"])
    forget_texts()
    assert (cached("a"), read) == ("A", ["a", "a"])
    assert stem("walking") == "walk" and stem.cache_info().currsize
    vectors = Remembered(Hashing())
    vectors.vector("a secret")
    forget_texts()
    assert (stem.cache_info().currsize, vectors._embed.cache_info().currsize) == (0, 0)


def test_no_other_cache_has_texts():
    folder = Path(memoryos.__file__).parent
    found = {
        str(path.relative_to(folder)): len(re.findall(r"\blru_cache\(", path.read_text()))
        for path in folder.rglob("*.py")
    }
    assert {name: count for name, count in found.items() if count and not name.startswith("bench/")} == WITHOUT_TEXT
