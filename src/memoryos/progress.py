"""Progress: the callback by which a long call reports how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]  #: a function that is called with the numbers of steps done and of all steps
