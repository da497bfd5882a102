"""Times of calls, and their percentiles."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np


def milliseconds(call: Callable[[], object]) -> float:
    """The wall-clock time of one call, ms."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def percentiles(times: Sequence[float], *wanted: int) -> dict[str, float]:
    """The wanted percentiles by name, such as {"p50": 1.0}; between two times, linear."""
    return {f"p{percent}": float(np.percentile(times, percent)) for percent in wanted}


def median_ms(calls: Iterable[Callable[[], object]]) -> float:
    """The median time of the calls, ms."""
    return float(np.median([milliseconds(call) for call in calls]))
