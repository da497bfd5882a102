"""Segments: the topics of MTM and of the archive."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.recall import overview
from memoryos.operation.recall.overview import SegmentView


@door
class Segments(Noun):
    """The segments of one owner."""

    def list(self, *, archive: bool = False) -> Sequence[SegmentView]:
        """The segments with their heat at this moment, hottest first."""
        with self._engine.settled(self._scope) as reader:
            return overview.segments(reader, self._engine.settings, self._engine.clock(), archive=archive)
