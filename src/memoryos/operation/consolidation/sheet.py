"""Sheets: pages as a model reads them, numbered, dated, and short enough for one prompt."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memoryos.cached_property import cached_property
from memoryos.cube import MemCube, Page, Turn
from memoryos.language.quotation import one_line, said
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.consolidation.grounding import Evidence
from memoryos.operation.consolidation.utterance import READ_CHARS

SHEET_TOKENS = 2_400  # of dialogue in one prompt: small models lose the thread in more
_TOPIC_PAGE_CHARS = 600  # of a page, where only a summary is asked for
_AGAIN_CHARS = 300  # of a page that the same sheet has shown: of its segment, then of its chain


@dataclass(frozen=True)
class Sheet:
    """The pages of one prompt, or a part of a long page."""

    cubes: tuple[MemCube, ...]

    @cached_property
    def text(self) -> str:
        """The pages, each with its number and its day."""
        return "\n".join(_numbered(number, cube) for number, cube in enumerate(self.cubes, 1))

    @cached_property
    def pages(self) -> dict[int | None, str]:
        """The ids by number."""
        return dict(enumerate((cube.id for cube in self.cubes), 1))

    @cached_property
    def evidence(self) -> Evidence:
        """Its text."""
        return Evidence.of(self.cubes)


def sheets(pages: Sequence[MemCube]) -> Iterator[Sheet]:
    """All the words of these pages, in their order, on as few sheets as they fit."""
    held: list[MemCube] = []
    room = SHEET_TOKENS
    for piece in (piece for page in pages for piece in _pieces(page)):
        tokens = count_tokens(_told(piece))
        if held and (tokens > room or held[-1].id == piece.id):
            yield Sheet(tuple(held))
            held, room = [], SHEET_TOKENS
        held.append(piece)
        room -= tokens
    if held:
        yield Sheet(tuple(held))


def topic_sheet(topics: Mapping[str, tuple[str, Sequence[MemCube]]]) -> str:
    """Topics by their letters: what is known of each, and the beginnings of its new pages."""
    shown: set[str] = set()
    parts = []
    for letter, (summary, pages) in topics.items():
        lines = [_beginning(page, _AGAIN_CHARS if page.id in shown else _TOPIC_PAGE_CHARS) for page in pages]
        parts.append("\n".join([f"topic {letter}", f"known: {one_line(summary) or 'nothing yet'}", "new:", *lines]))
        shown |= {page.id for page in pages}
    return "\n\n".join(parts)


def _beginning(page: MemCube, chars: int) -> str:
    text = _told(page)
    if len(text) > chars:
        end = text.rfind(" ", chars // 2, chars)  # between two words, where there are spaces
        text = text[: end if end > 0 else chars]
    return f"- {page.descriptive.event_at:%Y-%m-%d} {text}"


def _numbered(number: int, cube: MemCube) -> str:
    return f"[{number}] {cube.descriptive.event_at:%Y-%m-%d %a}\n{_told(cube)}"


def _told(cube: MemCube) -> str:
    """The turns of a page with their speakers."""
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    return "\n".join(said(turn.speaker, turn.role.value, turn.words[:READ_CHARS]) for turn in turns)


def _pieces(page: MemCube) -> Iterator[MemCube]:
    """The page, or pages of that id with a part of its words each."""
    if not isinstance(page.payload, Page):
        return
    turns = [_beginning_of(turn) for turn in page.payload.turns]
    parts = [part for turn in turns for part in _parts(turn)]
    if len(parts) == len(turns) and count_tokens(_told(page)) <= SHEET_TOKENS:
        yield page
    else:
        yield from (replace(page, payload=replace(page.payload, turns=(part,))) for part in parts)


def _beginning_of(turn: Turn) -> Turn:
    """The turn as far as it is read."""
    return replace(turn, text=turn.text[:READ_CHARS]) if len(turn.text) > READ_CHARS else turn


def _parts(turn: Turn) -> Iterator[Turn]:
    count = math.ceil(count_tokens(turn.text) / SHEET_TOKENS)
    if count <= 1:
        yield turn
        return
    size = math.ceil(len(turn.text) / count)
    start = 0
    while start < len(turn.text):
        end = start + size
        if end < len(turn.text):  # between two words, where there are spaces
            end = turn.text.rfind(" ", start + size // 2, end) + 1 or end
        yield replace(turn, text=turn.text[start:end])
        start = end
