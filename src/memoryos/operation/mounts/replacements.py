"""Replacements: what the pages of a search tell that no longer holds, for the texts that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from memoryos.kinds import Trust
from memoryos.operation.mounts.recaller import Recaller
from memoryos.operation.recall.hit import Recall
from memoryos.operation.recall.replaced import Replaced, by_page
from memoryos.operation.recall.shown import ShownResult
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Replacements:
    """Finds what no longer holds, as the caller may see it."""

    recaller: Recaller
    view: Callable[[], ShownResult | None]  #: what shows memories under the policy of reads

    def of(
        self,
        owner: Scope,
        recalled: Recall,
        *,
        names: frozenset[str] = frozenset(),
        by: datetime | None = None,
        least: Trust | None = None,
        is_narrow: bool = False,
    ) -> Mapping[str, tuple[Replaced, ...]]:
        """What the found pages tell that had given way by then (default: now), by page.

        `names` are memories that the caller has. What holds now may not pass filters that narrow a search; then only
        the end is told.
        """
        moment, trust = by or self.recaller.clock(), least or self.recaller.settings.min_trust
        told = self.recaller.replaced(owner, recalled, names, by=moment, least=trust)
        if is_narrow:
            told = [one.brief for one in told]
        view = self.view()
        return by_page([one.shown(view.cube) for one in told] if view else told)
