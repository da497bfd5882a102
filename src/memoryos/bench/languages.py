"""A talk with an assistant in eight languages, and questions about it in other words than the answers use.

Each language has the same 24 exchanges, 10 questions and 10 more that were held out while the embedder was chosen, but
for the stems of Arabic and Russian and what Arabic has of E5; all were written before anything was measured on them. A
page is found when it is the first of the search, or among three.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.config import Settings
from memoryos.memory import Memory
from memoryos.memory_os import open as open_memory
from memoryos.models.embedder import load_embedder
from memoryos.operation.recall.hit import Strategy

FILE = Path(__file__).parent / "languages.json"
SETS = ("questions", "held_out")
TOP = 3  # pages

_START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_ASKED = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LanguageHits:
    """How many of the questions found their page."""

    first: int
    top: int
    asked: int


@dataclass(frozen=True, slots=True)
class LanguagesReport:
    """The results by language, set of questions and strategy."""

    languages: Mapping[str, Mapping[str, Mapping[Strategy, LanguageHits]]]
    embedder: str


def measure_languages(
    strategies: Sequence[Strategy], settings: Settings, progress: Progress = unwatched
) -> LanguagesReport:
    """Ask every question in every language, each in a store that is gone afterwards."""
    talks = json.loads(FILE.read_text("utf-8"))
    embedder = load_embedder(settings.embedder, settings)
    found: dict[str, Mapping[str, Mapping[Strategy, LanguageHits]]] = {}
    for number, (language, talk) in enumerate(talks.items(), 1):
        with (
            TemporaryDirectory(prefix="memoryos-bench-") as folder,
            open_memory(
                Path(folder) / "language.db", user="ann", settings=settings, embedder=embedder, clock=lambda: _ASKED
            ) as memory,
        ):
            pages = _told(memory, talk["exchanges"])
            found[language] = {
                name: {strategy: _found(memory, pages, talk[name], strategy) for strategy in strategies}
                for name in SETS
            }
        progress("asking", number, len(talks))
    return LanguagesReport(found, embedder.name)


def _told(memory: Memory, exchanges: Sequence[Sequence[str]]) -> list[str]:
    """One exchange a day; the ids of their pages."""
    return [memory.add(said, answer, at=_START + timedelta(days=day)) for day, (said, answer) in enumerate(exchanges)]


def _found(memory: Memory, pages: Sequence[str], questions: Sequence[Any], strategy: Strategy) -> LanguageHits:
    places = []
    for text, answer in questions:
        hits = memory.search(text, strategy=strategy).hits
        places.append(next((place for place, hit in enumerate(hits) if hit.id == pages[answer]), len(pages)))
    return LanguageHits(places.count(0), sum(place < TOP for place in places), len(places))
