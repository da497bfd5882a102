"""What an adapter for another back end needs; docs/explanation/mounts.md has one in forty lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import NAMESPACE_URL, uuid5

from memoryos import arguments, expected
from memoryos.about import About
from memoryos.cube import MemCube, Turn
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Origin
from memoryos.models.embedder import Embedder
from memoryos.operation.intake.ingest import embedded, page_cube, paginate
from memoryos.operation.mounts.adapter import MemoryAdapter, OpenAdapter
from memoryos.operation.recall.offer import Found, Totals, Wanted
from memoryos.scope import Scope

__all__ = ["Embedder", "Entry", "Found", "MemoryAdapter", "OpenAdapter", "Origin", "Totals", "Wanted", "entries_of"]

_PAGES = uuid5(NAMESPACE_URL, "memoryos:pages of adapters")


def entries_of(
    dialogues: Iterable[Sequence[Turn]],
    scope: Scope,
    embedder: Embedder,
    *,
    now: datetime,
    origin: Origin = Origin.IMPORT,
    tags: Sequence[str] = (),
) -> list[Entry]:
    """Return pages of dialogues, or of texts as single turns, for `Found.of`. Each turn needs its time.

    The id of a page is made from its scope, its turns and the number of equal pages before it, so it is the same in
    each query. Raises InvalidInput.
    """
    expected.scope(scope)
    arguments.part("embedder", embedder)
    about = About(arguments.sequence("tags", tags, str))
    cubes: list[MemCube] = []
    seen: Counter[str] = Counter()
    for dialogue in _checked(dialogues):
        for page in paginate(dialogue):
            content = repr((scope, [(turn.source_id, turn.role, turn.words, turn.at) for turn in page.turns]))
            name = str(uuid5(_PAGES, f"{content} {seen[content]}"))
            seen[content] += 1
            cubes.append(replace(page_cube(page, scope, now=now, origin=origin, about=about), id=name))
    return embedded(cubes, embedder)


def _checked(dialogues: Iterable[Sequence[Turn]]) -> Iterator[Sequence[Turn]]:
    if not isinstance(dialogues, Iterable):
        raise InvalidInput("dialogues", f"expected a list, got {type(dialogues).__name__}", "Pass lists of Turn")
    return (arguments.sequence("dialogue", one, Turn) for one in dialogues)
