"""The index of the turns has each id once, however many passages a page has."""

from __future__ import annotations

import numpy as np

from memoryos.infrastructure.vault.records import StoredPassage
from memoryos.operation.index.turns import TurnIndex

VECTOR = np.ones(2, "<f2").tobytes()


def test_the_id_of_a_page_is_in_memory_once_for_all_its_passages():
    index = TurnIndex(2)
    pages = [f"page {number // 50}" for number in range(100)]  # an object each, as the store reads them
    assert len({id(page) for page in pages}) == 100
    index.put(
        [
            StoredPassage(page, number // 50, number % 50 + 1, "mtm", None, 0, None, 0, "word", VECTOR)
            for number, page in enumerate(pages)
        ]
    )
    assert [index.page_of(row) for row in range(100)] == pages
    assert len({id(index.page_of(row)) for row in range(100)}) == 2
