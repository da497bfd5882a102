"""Text caches: what is remembered of stored text is forgotten when something is erased."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from threading import Event, Thread

import pytest

import memoryos
from forked import fork
from memoryos.language.words import stem
from memoryos.models.hashing import Hashing
from memoryos.models.remembered import Remembered
from memoryos.text_cache import forget_texts, short_text_cache, text_cache

WITHOUT_TEXT = {  # modules of the library with a cache of what no memory says
    "environment.py": 1,  # names of environment variables
    "infrastructure/vault/key_part.py": 1,  # rows of API keys
    "language/looks.py": 3,  # single characters, and tags of our own
    "language/quotation.py": 1,  # the same
    "operation/consolidation/rules.py": 1,  # for the time of one call
    "operation/consolidation/traits.py": 2,  # schemas of personas
    "operation/hierarchy/page_entries.py": 1,  # days
    "operation/index/beside.py": 1,  # threads of a process
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


def test_of_long_texts_nothing_is_kept():
    read = []
    cached = short_text_cache(2, longest=3)(lambda text: read.append(text) or text.upper())
    assert [cached(text) for text in ("abc", "abcd", "abc", "abcd")] == ["ABC", "ABCD", "ABC", "ABCD"]
    assert read == ["abc", "abcd", "abcd"]
    forget_texts()
    assert (cached("abc"), read[3:]) == ("ABC", ["abc"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_forgets_texts_whatever_other_threads_did():
    """A lock that one of them held would stay locked in the child."""
    is_over = Event()

    def use() -> None:
        while not is_over.is_set():
            forget_texts()
            text_cache(2)(str.upper)("a")

    threads = [Thread(target=use) for _ in range(2)]
    for one in threads:
        one.start()
    try:
        assert [ended(child) for child in [forgetting() for _ in range(10)]] == [0] * 10
    finally:
        is_over.set()
        for one in threads:
            one.join()


def forgetting() -> int:
    """A child that forgets texts, and is killed if it does not end."""
    child = fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # pytest has one of its own
        signal.alarm(60)
        forget_texts()
        text_cache(2)(str.upper)("a")
        os._exit(0)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_no_other_cache_has_texts():
    folder = Path(memoryos.__file__).parent
    found = {
        str(path.relative_to(folder)): len(re.findall(r"\blru_cache\(", path.read_text()))
        for path in folder.rglob("*.py")
    }
    assert {name: count for name, count in found.items() if count and not name.startswith("bench/")} == WITHOUT_TEXT
