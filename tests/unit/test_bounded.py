from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from memoryos.bounded import Bounded


def test_the_entry_that_came_first_leaves():
    known = Bounded[str, int](2)
    for number, name in enumerate(("ann", "ben", "ann", "cho")):
        known[name] = number
    assert known == {"ben": 1, "cho": 3}
    assert known.get("ann") is None


def test_threads_share_it():
    known = Bounded[int, int](10)

    def fill(start: int) -> None:
        for number in range(start, start + 2_000):
            known[number] = number

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, range(0, 8_000, 2_000)))
    assert len(known) == 10
    assert all(key == value for key, value in known.items())
