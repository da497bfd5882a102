"""Reads every page of a store again and again, while another process moves them, until a line comes in.

    python -m crash.cold_reader STORE PAGES

Looks five times at least, however busy the machine is. Ends with an error when one page is missing or cannot be read;
tells in how many of how many looks some were cold.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from threading import Thread

from crash.stores import OWNER, cold_settings, open_store, unique_word
from memoryos import Memory
from memoryos.caller import SYSTEM, acting

LOOKS = 5  # at least


def look(memory: Memory, pages: int) -> bool:
    """Read every page; whether one was cold."""
    with memory._engine.vault.read(OWNER) as reader:
        ids = [passage.page for passage in reader.passages()]
        is_cold = bool(reader.cold(ids))
        memory._engine.vault.packs._held.clear()
        assert len(reader.get(ids)) == pages
    return is_cold


def main(path: Path, pages: int) -> None:
    told = Thread(target=sys.stdin.readline, daemon=True)
    told.start()
    looks = seen_cold = 0
    with open_store(path, settings=cold_settings(path)) as memory:
        print("reading", flush=True)  # noqa: T201 - to the test
        while told.is_alive() or looks < LOOKS:
            seen_cold += acting(SYSTEM, partial(look, memory, pages))
            found = memory.search(unique_word(0), strategy="bm25", cold=True).hits
            assert len(found) == 1
            looks += 1
    print(seen_cold)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
