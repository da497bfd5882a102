"""Portion: new pages that are read together, and what of them and of their segment a model is shown.

What has expired is shown to no model while it waits for the sweep, which a hold puts off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoryos.cube import MemCube, Segment
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.operation.consolidation.model_reader import SummaryTarget
from memoryos.operation.hierarchy.mid_term import segment_of
from memoryos.operation.hierarchy.told_topics import told_topics


@dataclass(frozen=True)
class Portion:
    """New pages of a segment, or of STM, that are read together, for the job that asked for it."""

    job: Job
    segment: MemCube | None  #: or the page that was corrected; None when it is gone, or the pages are of STM
    pages: Sequence[MemCube]
    ends_job: bool  #: whether nothing of it is left to read after it
    early: frozenset[str] = frozenset()  #: of the pages, those that were read while they were in STM
    later: Sequence[str] = ()  #: the unread pages of the segment that are left after these
    expired: frozenset[str] = frozenset()  #: of the pages, those that no model may be shown
    summary: str = ""  #: what the segment says, without the words of pages that have expired

    @property
    def unread(self) -> list[MemCube]:
        """The pages that nobody has read."""
        return [page for page in self.told if page.id not in self.early]

    @property
    def told(self) -> list[MemCube]:
        """The pages that have not expired."""
        return [page for page in self.pages if page.id not in self.expired]

    @property
    def noted(self) -> frozenset[str]:
        """The pages that were read, or never will be."""
        return self.early | self.expired

    @property
    def is_of_stm(self) -> bool:
        """Whether the pages have not joined a segment."""
        return self.job.kind == JobKind.READ_RECENT

    @property
    def target(self) -> SummaryTarget | None:
        """The segment with its new pages; None for pages that are read alone, or if none is told."""
        segment = self.segment
        if segment is None or not isinstance(segment.payload, Segment) or not self.told:
            return None
        return SummaryTarget(segment.id, self.summary, self.told)


def told_summary(reader: Reader, segment: MemCube) -> str:
    """What a segment says, without the words of pages that have expired."""
    told = told_topics(reader, [segment])
    return segment_of(told[0]).summary if told else ""
