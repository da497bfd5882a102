"""The pace of steps: smaller after a long one, larger again after short ones."""

from __future__ import annotations

from memoryos.infrastructure.vault.pace import Pace, SteadyPace


def test_a_step_is_as_large_as_the_last_ones_allow():
    ticks = iter([0.0, 0.06, 1.0, 1.09, 2.0, 2.03])
    pace = Pace(now=lambda: next(ticks))
    sizes = [pace.of(64)]
    for _ in range(3):  # 60, 90 and 30 ms
        with pace.noted():
            pass
        sizes.append(pace.of(64))
    assert sizes == [32, 16, 8, 8]
    for _ in range(10):
        pace.note(0.001)
    assert pace.of(64) == 32


def test_a_step_always_takes_something_on():
    pace = Pace()
    for _ in range(10):
        pace.note(1.0)
    assert (pace.of(64), pace.of(1), SteadyPace().of(64)) == (8, 1, 64)
