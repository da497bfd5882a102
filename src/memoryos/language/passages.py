"""Passages of a text: pieces of about a hundred words, cut at the boundaries of the text.

A text is cut at blank lines and code fences, then at line ends (list items, table rows), then at sentences, and a text
without any of these at white space, or between characters. Small pieces are joined again, unless a thousand blanks are
between them; a heading, a line that ends with a colon and the head of a table stay with what they lead in.

Sizes are counted in tokens, estimated without a tokenizer: over the turns of eight data sets in English and Chinese,
code and tables among them, the sum is within 3 % of MiniLM's word pieces. A word of another alphabet counts as one of
English would, and not by its letters, as MiniLM counts it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from string import ascii_letters

from memoryos.language.sentences import sentence_bounds
from memoryos.regex import regex

TARGET = 128  # tokens of a passage, about
LONGEST = 200  # tokens of a passage, at most; a text that is no longer is one passage
SMALL = 32  # tokens; what is smaller is joined to a neighbour even beyond the target

Bounds = tuple[int, int]  # where a piece of a text begins, and where it ends

_WIDE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = regex(
    rf"""[A-Za-z]{{1,9}} | [0-9]{{1,2}}
       | [{_WIDE}]                              # scripts without spaces, and Hangul
       | [^\W\d_A-Za-z{_WIDE}]{{1,6}}           # other letters
       | [^\w\s] | _ | \d""",
    re.VERBOSE,
)
_PLAIN = f"{ascii_letters} \t\n\r".encode()
_FENCE = regex(
    r"^[ \t]*(```+|~~~+)[^\n`]*$(?:.*?^[ \t]*\1[`~]*[ \t]*$|.*\Z)",  # one that nothing closes goes on to the end
    re.MULTILINE | re.DOTALL,
)
_BLANK = regex(r"\n\s*\n|\r\s*\r")
_VOID_CHARS = 1_000  # of white space; what has fewer has no void
_VOID = regex(rf"(?<!\s)\s{{{_VOID_CHARS},}}")
_BREAK = regex(r"[\r\n]+")
_LEADS_IN = regex(
    r"""\s*(?: \#{1,6}\s.*                # a heading
            | (\*\*|__).*\1              # a line in bold
            | .*[:：][\s*_]*              # "as follows:"
            | \|?[ \t:|]*-[ \t:|-]+ )""",  # the rule under the head of a table
    re.VERBOSE,
)
_LONGEST_LEAD = 200  # characters of a line that leads in
_MOST_LEADS = 3  # a heading, one below it, and a line with a colon


def passage_bounds(text: str) -> list[Bounds]:
    """The bounds of the passages of a text: in order, without overlap, and complete except for white space."""
    if len(text) >= _VOID_CHARS and len(parts := _parts(text)) > 1:
        return [
            (start + first, start + last) for start, end in parts for first, last in passage_bounds(text[start:end])
        ]
    if len(text) <= LONGEST or _is_surely_short(text) or estimated_tokens(text) <= LONGEST:
        return [(0, len(text))]
    return _Cutter(text, [token.start() for token in _TOKEN.finditer(text)]).passages()


def _parts(text: str) -> list[Bounds]:
    """What stands between the voids of a text."""
    return [part for part in _between(_VOID, text, (0, len(text))) if part[0] < part[1]]


def estimated_tokens(text: str) -> int:
    """The approximate number of tokens of a text."""
    return len(_TOKEN.findall(text))


def _is_surely_short(text: str) -> bool:
    """Whether ASCII text cannot have more than LONGEST tokens: a bound in a tenth of the time that counting takes.

    Each mark or digit is a token at most, and ends a word at most; a word has one more token for each nine letters.
    """
    if not text.isascii():
        return False
    marks = len(text.encode().translate(None, _PLAIN))
    return 2 * marks + len(text.split()) + len(text) // 9 <= LONGEST


class _Cutter:
    """Cuts one text; `starts` says where its tokens begin."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self._text = text
        self._starts = starts

    def passages(self) -> list[Bounds]:
        """The passages of the text."""
        found: list[Bounds] = []
        for extent in self._joined(self._pieces((0, len(self._text)), 0)):
            if found and self._is_left_over(found[-1], extent):
                found[-1] = (found[-1][0], extent[1])
            else:
                found.append(extent)
        return found

    def _pieces(self, extent: Bounds, level: int) -> Iterator[Bounds]:
        """What the extent is cut into, as coarse as the longest passage allows."""
        for piece in _LEVELS[level](self._text, extent):
            start, end = _trimmed(self._text, piece)
            if start == end:
                continue
            if self._size(start, end) <= LONGEST:
                yield start, end
            elif level + 1 < len(_LEVELS):
                yield from self._pieces((start, end), level + 1)
            else:
                yield from self._slices(start, end)

    def _slices(self, start: int, end: int) -> Iterator[Bounds]:
        """What nothing divides, in parts of about the same size, cut at white space where there is some near."""
        while (size := self._size(start, end)) > LONGEST:
            parts = -(-size // TARGET)
            cut = self._gap(bisect_left(self._starts, start), -(-size // parts))
            yield _trimmed(self._text, (start, cut))
            start = cut
        yield _trimmed(self._text, (start, end))

    def _gap(self, first: int, tokens: int) -> int:
        """Where to cut after so many tokens from the first one on, or a little earlier, at white space."""
        for token in range(first + tokens, first + tokens // 2, -1):
            if self._text[self._starts[token] - 1].isspace():
                return self._starts[token]
        return self._starts[first + tokens]

    def _joined(self, pieces: Iterable[Bounds]) -> Iterator[Bounds]:
        """The pieces, as many in one as the target allows; what leads in goes with what follows."""
        group: list[Bounds] = []
        for piece in pieces:
            if group and not self._goes_on(group, piece):
                led = self._leading(group, piece)
                kept = group[: len(group) - led]
                yield kept[0][0], kept[-1][1]
                group = group[len(group) - led :]
            group.append(piece)
        if group:
            yield group[0][0], group[-1][1]

    def _goes_on(self, group: Sequence[Bounds], piece: Bounds) -> bool:
        """Whether the piece goes into the same passage: there is room, or nothing else to follow a heading."""
        size = self._size(group[0][0], piece[1])
        return size <= TARGET or (len(group) == 1 and size <= LONGEST and self._leads_in(group[0]))

    def _leading(self, group: Sequence[Bounds], piece: Bounds) -> int:
        """How many pieces at the end of a full group lead in to the piece after it."""
        led = 0
        while led < min(_MOST_LEADS, len(group) - 1) and self._leads_in(group[-1 - led]):
            led += 1
        return led if led and self._size(group[-led][0], piece[1]) <= LONGEST else 0

    def _is_left_over(self, one: Bounds, other: Bounds) -> bool:
        """Whether one of two neighbours is too small for a passage of its own, and they fit together."""
        smaller = min(self._size(*one), self._size(*other))
        return smaller < SMALL and self._size(one[0], other[1]) <= LONGEST

    def _leads_in(self, extent: Bounds) -> bool:
        """Whether the last line says what follows."""
        start = max(self._text.rfind("\n", *extent) + 1, extent[0])
        return extent[1] - start <= _LONGEST_LEAD and bool(_LEADS_IN.fullmatch(self._text, start, extent[1]))

    def _size(self, start: int, end: int) -> int:
        """How many tokens begin there."""
        return bisect_left(self._starts, end) - bisect_left(self._starts, start)


def _blocks(text: str, extent: Bounds) -> Iterator[Bounds]:
    """Paragraphs, and blocks of code as wholes."""
    start = extent[0]
    for fence in _FENCE.finditer(text, *extent):
        yield from _paragraphs(text, (start, fence.start()))
        yield fence.span()
        start = fence.end()
    yield from _paragraphs(text, (start, extent[1]))


def _paragraphs(text: str, extent: Bounds) -> Iterator[Bounds]:
    return _between(_BLANK, text, extent)


def _lines(text: str, extent: Bounds) -> Iterator[Bounds]:
    return _between(_BREAK, text, extent)


def _sentences(text: str, extent: Bounds) -> Iterator[Bounds]:
    start, end = extent
    return ((start + first, start + last) for first, last in sentence_bounds(text[start:end]))


def _between(separator: re.Pattern[str], text: str, extent: Bounds) -> Iterator[Bounds]:
    start = extent[0]
    for match in separator.finditer(text, *extent):
        yield start, match.start()
        start = match.end()
    yield start, extent[1]


def _trimmed(text: str, extent: Bounds) -> Bounds:
    """The extent without the white space around it."""
    piece = text[slice(*extent)]
    start = extent[0] + len(piece) - len(piece.lstrip())
    return start, max(start, extent[0] + len(piece.rstrip()))


_LEVELS: tuple[Callable[[str, Bounds], Iterator[Bounds]], ...] = (_blocks, _paragraphs, _lines, _sentences)
