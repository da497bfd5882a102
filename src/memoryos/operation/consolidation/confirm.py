"""Confirmation: what of a model's findings still stands after pages changed or went, without asking it again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from memoryos.about import About
from memoryos.cube import Fact, MemCube, ProfileField
from memoryos.kinds import Origin
from memoryos.models.embedder import Embedder
from memoryos.operation.consolidation.grounding import Evidence, flaw_of_stance, flaw_of_value
from memoryos.operation.knowledge.lesson import Learned, Lesson


def confirmed(
    derived: Iterable[MemCube],
    pages: Mapping[str, MemCube],
    changed: Collection[str],
    embedder: Embedder,
    *,
    rules: str,
) -> Iterator[Lesson]:
    """What was derived otherwise than by `rules`, with the support it still has among these pages.

    A page that did not change supports it as before; one that did, only when it still says the quoted words, and means
    them.
    """
    for cube in derived:
        found = cube.descriptive
        if found.derived_by in (None, rules) or found.origin is not Origin.INFERENCE:
            continue
        support = [page for page in found.provenance if page in pages and _stands(cube, pages[page], changed)]
        if support and isinstance(cube.payload, Learned):
            yield Lesson(
                payload=cube.payload,
                pages=tuple(support),
                event_at=max(pages[page].descriptive.event_at for page in support),
                semantic_type=found.semantic_type,
                origin=found.origin,
                derived_by=found.derived_by,
                vector=embedder.embed([cube.text])[0] if isinstance(cube.payload, Fact) else None,
                about=About(found.tags, sensitivity=cube.governance.sensitivity),
            )


def _stands(cube: MemCube, page: MemCube, changed: Collection[str]) -> bool:
    if page.id not in changed:
        return True
    payload = cube.payload
    if not isinstance(payload, Fact | ProfileField) or not (source := Evidence.of([page]).quoted(payload.quote)):
        return False
    if isinstance(payload, Fact):
        return flaw_of_stance(payload.text, payload.quote, source) is None
    return flaw_of_value(payload.value, payload.quote, source) is None
