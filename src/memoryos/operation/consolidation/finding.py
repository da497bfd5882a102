"""Finding: what an extractor learned from pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryos.cube import Fact, ProfileField, Trait
from memoryos.kinds import SemanticType


@dataclass(frozen=True, slots=True)
class Finding:
    """Something learned from pages, not yet a memory."""

    payload: Fact | Trait | ProfileField
    pages: tuple[str, ...]  #: ids of the pages that support it
    event_at: datetime  #: when it was last said; of a home, when one moved there if that was long before
    semantic_type: SemanticType
    is_over: bool = False  #: of a profile field: it no longer holds; an empty value stands for whichever did
    moments: tuple[datetime, ...] = ()  #: when each of the pages said it; `event_at` for all when left out
