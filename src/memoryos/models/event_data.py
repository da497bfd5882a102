"""Event data: what the events of a stream carry, found in its bytes as they arrive.

Lines that carry nothing (empty ones, comments, unknown fields) are skipped many at once: a server may send millions.
"""

from __future__ import annotations

from collections.abc import Iterator

from memoryos.regex import regex

_LINE = regex(
    rb"(?m)^(?:data(?::[ ]?([^\n]*))?\n|event:[ ]{0,9}(?i:error)[ ]{0,9}\n|\n+)"
)  # what adds to an event, or ends it


class EventData:
    """The data of each event of one stream, in the parts in which the stream arrives."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []  # the last line, while its end has not come
        self._data: list[bytes] = []  # the lines of an event, while its end has not come
        self.is_error = False  #: whether the event that ended last has the type "error"
        self._was_return = False  # whether a line feed would end the same line once more

    def ended(self, part: bytes) -> Iterator[bytes]:
        """Yield the data of each event that ends in the next part of the stream."""
        for line in _LINE.finditer(self._lines(part)):
            if line.group().startswith(b"data"):
                self._data.append(line[1] or b"")
            elif line.group().startswith(b"event"):
                self.is_error = True
            elif self._data:
                event, self._data = b"\n".join(self._data), []
                yield event
                self.is_error = False

    def _lines(self, part: bytes) -> bytes:
        """The lines that end in the part; what is behind them waits for more."""
        lines, end, begun = self._plain(part).rpartition(b"\n")
        if end:
            lines = b"".join((*self._begun, lines, end))
            self._begun.clear()
        self._begun.append(begun)
        return lines

    def _plain(self, part: bytes) -> bytes:
        """The part, its lines ended by line feeds."""
        if self._was_return:
            part = part.removeprefix(b"\n")
        self._was_return = part.endswith(b"\r")
        return part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
