"""What the page beside another in its session says of how that one is meant.

A game of roles that is announced on a page is played on the next, and "just kidding" on a page takes back what the one
before it said. Which page comes before is asked of the store, so that it does not matter which are read together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from memoryos.cube import MemCube, Page
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind, Origin, Role
from memoryos.language.marked import Marked, marks
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.redescribe import in_order
from memoryos.operation.knowledge.rivals import relatives
from memoryos.regex import regex

_GAME = Marked(
    regex(
        r"\b(?:let's|let us|we(?:'ll)?|can we|shall we|want to|wanna|to|please) (?:\w+ ){0,3}?role-? ?play\b"
        r"|^\W*role-? ?play\b"
        r"|\blet's play (?:pretend|make-believe)\b|\blet's pretend\b"
        r"|\blet's play (?:a )?(?:game|role)\b[^.!?\n]*?\b(?:you|I)(?:'re|'m| are| am|'ll be| be)\b"
        r"|\byou(?:'ll)? play (?:the|an?)\b[^.!?\n]*\bI(?:'ll)? (?:play|am|be)\b"
        r"|[来玩做]\w{0,4}角色扮演|(?:你|我)来?扮演|你[来当]?演\w{1,8}[，,]我",
        re.IGNORECASE,
    ),
    marks("play pretend 演"),
)
_GAME_OVER = regex(
    r"\W*(?:(?:ok(?:ay)?|alright|no)\W+)?(?:stop\b|enough\b|end\b|quit\b|back to\b|out of character|ooc\b"
    r"|in real life"
    r"|for real|seriously|actually|game over|不玩了|好了不玩|说真的|言归正传|说正经|现实[中里])",
    re.IGNORECASE,
)
_KIDDING = regex(
    r"\W*(?:(?:lol|haha\w*|hehe\w*|nah|oh|sorry|hey|ok(?:ay)?|wait)\W+)*"
    r"(?:(?:I'm|I am|im|I was) )?(?:(?:just|only|totally|obviously) )?"
    r"(?:kidding|joking|messing with you|teasing you|pulling your leg)\b(?! (?:about|aside|apart))"
    r"|\W*(?:[哈嘿呵]+\W*)?我?(?:刚才|刚刚|上面|前面|都)?(?:那)?(?:都)?是?[跟和]?你?(?:开个?玩笑|骗你|逗你玩?|瞎说|说着玩)"
    r"(?:的|啦|呢|而已|哈|罢了|\W|$)",
    re.IGNORECASE,
)


def previous_pages(reader: Reader, pages: Iterable[MemCube]) -> dict[str, MemCube]:
    """The page before each of these in its session, by the id of the later one."""
    here = {page.id: page for page in pages if page.kind is Kind.PAGE}
    around = {**reader.get(reader.beside(here) - here.keys()), **here}
    sessions: dict[str | None, list[MemCube]] = {}
    for page in in_order(around):
        sessions.setdefault(page.scope.session, []).append(page)
    pairs = [pair for some in sessions.values() for pair in pairwise(some)]
    return {later.id: earlier for earlier, later in pairs if later.id in here}


def played(previous: Mapping[str, MemCube], pages: Iterable[MemCube]) -> set[str]:
    """The pages that continue a role-playing game."""
    return {
        page.id
        for page in pages
        if page.id in previous and _announces_game(_said(previous[page.id])) and not _GAME_OVER.match(_said(page))
    }


def taken_back(previous: Mapping[str, MemCube], pages: Iterable[MemCube]) -> set[str]:
    """The pages that were a joke, as the one behind each says."""
    return {previous[page.id].id for page in pages if page.id in previous and _KIDDING.match(_said(page))}


def without(reader: Reader, pages: Collection[str], now: datetime) -> tuple[Changes, Sequence[Sequence[MemCube]]]:
    """What withdraws all that was concluded from these pages alone, and the groups of facts to be put in order."""
    changes = Changes(reader)
    found = reader.get(link.source for link in reader.sources(pages, LinkKind.DERIVED_FROM)) if pages else {}
    held = reader.retention.held(found)
    alone = [cube for cube in found.values() if _rests_on(cube, pages)]
    lost = [cube for cube in alone if not (cube.is_frozen or cube.is_withdrawn or cube.id in held)]
    freed = relatives(reader, [cube for cube in lost if cube.kind is Kind.FACT])
    if any(cube.is_frozen for group in freed for cube in group):  # the order of these facts may not change
        return changes, []
    for cube in lost:
        changes.withdraw(cube, now)
    return changes, freed


def _announces_game(said: str) -> bool:
    return _GAME.search(said, said.lower()) is not None


def _rests_on(cube: MemCube, pages: Collection[str]) -> bool:
    """Whether the cube was concluded from these pages and from no other."""
    told = cube.descriptive
    return told.origin is Origin.INFERENCE and set(told.provenance).issubset(pages)


def _said(page: MemCube) -> str:
    """The user's words on a page."""
    turn = page.payload.turn_of(Role.USER) if isinstance(page.payload, Page) else None
    return turn.text.replace("’", "'") if turn else ""
