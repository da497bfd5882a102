"""Dialogue chains: which page continues the one before it (MemoryOS paper, equation 1), without a model.

A page continues its predecessor when both belong to the same talk and either the words are close or
little time has passed. The chain's summary grows by what each page adds to it.
"""

from __future__ import annotations

import math

from memoryos.cube import MemCube, Page
from memoryos.explained import altered
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Role
from memoryos.language.summary import extended

# Unrelated pages of one talk have a cosine of about 0.3 with MiniLM, neighbouring ones of about 0.5. So an immediate
# reply continues the chain from a cosine of 0.4 on, and a page after a long pause only when it is close to a repeat.
CHAIN_THRESHOLD = 0.7
PAUSE_WEIGHT = 0.3  # what an immediate reply counts beside the cosine
PAUSE_SECONDS = 1800.0  # after half an hour, the bonus is a third
SUMMARY_CHARS = 280  # one or two sentences, as the paper's meta information, beside what a model wrote


def continues(previous: Entry, page: Entry) -> bool:
    """Whether `page` continues the chain that `previous` ends."""
    before, after = previous.cube, page.cube
    if before.scope.session != after.scope.session or not _same_speakers(before, after):
        return False
    return closeness(previous, page) > CHAIN_THRESHOLD


def closeness(previous: Entry, page: Entry) -> float:
    """Cosine of the two pages plus a bonus that decays with the pause between them."""
    pause = (page.cube.descriptive.event_at - previous.cube.descriptive.event_at).total_seconds()
    return float(previous.known_vector @ page.known_vector) + PAUSE_WEIGHT * math.exp(-abs(pause) / PAUSE_SECONDS)


def summarised(previous: MemCube | None, page: Page) -> Page:
    """The page with the summary of the chain that ends with it; `previous` is the page it continues.

    A summary that a model wrote for the chain stays and is extended.
    """
    before = previous.payload if previous and isinstance(previous.payload, Page) else None
    earlier, written = (before.chain_summary, before.chain_written) if before else ("", "")
    said = (turn.words for turn in page.turns)
    summary = extended(earlier, said, limit_chars=SUMMARY_CHARS, written=written)
    return altered(page, chain_summary=summary, chain_written=written)


def _same_speakers(before: MemCube, after: MemCube) -> bool:
    """Whether the people named in the two pages overlap; an unnamed speaker may be anyone."""
    first, second = _people(before), _people(after)
    return not first or not second or bool(first & second)


def _people(cube: MemCube) -> set[str]:
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    return {turn.speaker for turn in turns if turn.speaker and turn.role in (Role.USER, Role.ASSISTANT)}
