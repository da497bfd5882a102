"""Progress: the callback by which a long call reports how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]  # called with (done, total)
