"""Spelling: tokens as text while they come. A character of several tokens waits for the last of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_AGAIN = 32  # tokens that are decoded anew with each next one, at most
_UNFINISHED = "\ufffd"  # what stands for a part of a character

Decode = Callable[[Sequence[int]], str]


class Spelling:
    """Turns tokens into pieces of text, and ends before a stop text."""

    def __init__(self, decode: Decode, stop: Sequence[str]) -> None:
        self._decode = decode
        self._stop = [one for one in stop if one]
        self._held = max((len(one) for one in self._stop), default=1) - 1  # characters that may begin a stop text
        self._ids: list[int] = []
        self._from = 0  # where the part of the tokens begins that is decoded anew
        self._told = ""  # the text of that part, as far as it came
        self._waiting = ""
        self.is_over = False  #: a stop text came

    def take(self, token: int) -> str:
        """Return the text that is certain after one more token; it may be empty."""
        self._ids.append(token)
        text = self._decode(self._ids[self._from :])
        if text.endswith(_UNFINISHED):
            return ""
        new, self._told = text[len(self._told) :], text
        if len(self._ids) - self._from > _AGAIN:
            self._from = len(self._ids) - 1
            self._told = self._decode(self._ids[self._from :])
        return self._certain(new)

    def rest(self) -> str:
        """Return what waits, after the last token."""
        text = "" if self.is_over else self._waiting + self._decode(self._ids[self._from :])[len(self._told) :]
        self._waiting = ""
        return text

    def _certain(self, new: str) -> str:
        text = self._waiting + new
        ends = [place for one in self._stop if (place := text.find(one)) >= 0]
        if ends:
            self.is_over, self._waiting = True, ""
            return text[: min(ends)]
        settled = len(text) - self._held if self._held else len(text)
        settled = max(settled, 0)
        self._waiting = text[settled:]
        return text[:settled]
