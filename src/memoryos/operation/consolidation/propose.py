"""Proposals: changes to what is known that somebody has to decide on.

An update from a trusted source is compared with what is known, and where it contradicts, proposed rather than made
(MemOS paper, section 7, knowledge evolution). A proposal is a fact that waits in the archive: no search, context or
profile shows it. Accepted, it takes the place of what it contradicts; rejected, it is kept as that, so that it does
not come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from memoryos.cube import Fact, MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import AccessMode, Kind, Origin, SemanticType, Subject, Tier
from memoryos.lifecycle import CubeMark
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.knowledge.lesson import Lesson
from memoryos.operation.knowledge.long_term import LongTerm
from memoryos.plain import Plain, plain
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Proposal(Plain):
    """A change that waits for an answer."""

    cube: MemCube  #: the fact as it would be
    replaces: tuple[MemCube, ...]  #: what would give way; none when that is gone by now

    def to_dict(self) -> dict[str, Any]:
        """The fact as it would be, who proposes it, and what would give way."""
        return {**self.cube.to_dict(), "source": self.source, "replaces": plain(self.replaces)}

    @property
    def id(self) -> str:
        """Under which it is accepted or rejected."""
        return self.cube.id

    @property
    def source(self) -> str | None:
        """Who proposes it: a trusted source, or what read the pages it rests on."""
        return self.cube.descriptive.derived_by


def proposals(reader: Reader) -> list[Proposal]:
    """What waits for an answer, oldest first."""
    return [
        _proposal(reader, cube) for cube in reader.cubes(Kind.FACT, tiers=[Tier.ARCHIVE], marks=[CubeMark.PROPOSED])
    ]


def accept(writer: Writer, scope: Scope, promoter: Promoter, proposal_id: str) -> MemCube:
    """Make the change; what gave way stays readable. Raises NotFound."""
    cube = _waiting(writer, proposal_id)
    long_term = LongTerm(writer, scope, promoter.settings, promoter.clock())
    long_term.accept(cube)
    long_term.settle()
    long_term.flush(writer)
    return writer.get([proposal_id])[proposal_id]


def reject(writer: Writer, proposal_id: str) -> MemCube:
    """Keep what is known. Raises NotFound."""
    cube = replace(_waiting(writer, proposal_id), mark=CubeMark.REJECTED)
    writer.update([Entry(cube)], Operation.REFRESH)
    return cube


def published(promoter: Promoter, texts: Sequence[str], source: str, subject: Subject) -> list[Lesson]:
    """What a trusted source says now, as lessons."""
    now = promoter.clock()
    vectors = promoter.embedder.embed(texts)
    return [
        Lesson(
            payload=Fact(subject=subject, text=text),
            pages=(),
            event_at=now,
            semantic_type=SemanticType.FACT,
            origin=Origin.IMPORT,
            derived_by=source,
            vector=vector,
            mode=AccessMode.READ_ONLY,
            is_published=True,
        )
        for text, vector in zip(texts, vectors, strict=True)
    ]


def _waiting(reader: Reader, proposal_id: str) -> MemCube:
    cube = reader.get([proposal_id]).get(proposal_id)
    if cube is None or cube.kind is not Kind.FACT or cube.mark is not CubeMark.PROPOSED:
        raise NotFound(f"there is no proposal {proposal_id!r} in this scope")
    return cube


def _proposal(reader: Reader, cube: MemCube) -> Proposal:
    replaced = [link.target for link in reader.targets([cube.id], LinkKind.SUPERSEDES)]
    found = reader.get(replaced)
    return Proposal(cube, tuple(found[one] for one in replaced if one in found))
