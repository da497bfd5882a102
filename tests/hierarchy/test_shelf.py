"""A shelf of segments gives the F_scores that the formula gives for each, whatever came and went."""

from __future__ import annotations

import numpy as np
import pytest

from memoryos.operation.hierarchy.score import Probe, jaccard
from memoryos.operation.hierarchy.shelf import Shelf

pytestmark = pytest.mark.once

_RANDOM = np.random.default_rng(7)
_WORDS = [f"word{number}" for number in range(6_000)]


def _probe() -> Probe:
    drawn = _RANDOM.choice(_WORDS, int(_RANDOM.integers(13)), replace=False)
    return Probe.of(_RANDOM.normal(size=16).astype(np.float32), [str(word) for word in drawn])


def _assert_right(shelf: Shelf, probes: dict[str, Probe]) -> None:
    for text in (_probe(), next(iter(probes.values()))):
        scores = shelf.f_scores(text)
        for row, probe in enumerate(probes.values()):
            assert scores[row].cosine == pytest.approx(float(probe.unit @ text.unit), abs=1e-5)
            assert scores[row].jaccard == jaccard(probe.stems, text.stems)


def test_segments_come_change_and_go() -> None:
    probes = {f"segment-{number}": _probe() for number in range(3)}
    shelf = Shelf(probes)
    for number in range(3, 900):  # more segments and stems than there was room for
        name = f"segment-{number}"
        probes[name] = _probe()
        shelf.put(name, probes[name])
    _assert_right(shelf, probes)
    for name in list(probes)[::7]:
        probes[name] = _probe()
        shelf.put(name, probes[name])
    _assert_right(shelf, probes)
    gone = set(list(probes)[::2])
    shelf.remove(gone)
    probes = {name: probe for name, probe in probes.items() if name not in gone}
    _assert_right(shelf, probes)


def test_a_shelf_that_lost_all_takes_new_ones() -> None:
    shelf = Shelf({"one": _probe()})
    shelf.remove({"one"})
    probes = {"two": _probe(), "three": _probe()}
    for name, probe in probes.items():
        shelf.put(name, probe)
    _assert_right(shelf, probes)
