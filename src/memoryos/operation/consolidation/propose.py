"""Proposals: changes of facts that somebody has to decide on.

An update from a trusted source is compared with the known facts. A contradiction is proposed, not made (MemOS paper,
section 7, knowledge evolution). A proposal is a fact that waits in the archive: no search, context or profile shows it.
Once accepted, it replaces what it contradicts. Once rejected, it is kept so that it is not proposed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from memoryos.caller import Action
from memoryos.cube import Fact, MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import AccessMode, Kind, Origin, SemanticType, Subject, Tier
from memoryos.lifecycle import CubeMark
from memoryos.operation.calls.permission import changeable, check_stored
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.knowledge.lesson import Lesson
from memoryos.operation.knowledge.long_term import LongTerm
from memoryos.operation.scheduler.step import Step, take
from memoryos.plain import Plain, plain
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Proposal(Plain):
    """A proposed change of a fact."""

    cube: MemCube  #: the proposed fact
    replaces: tuple[MemCube, ...]  #: the facts that it would replace; empty if they are gone

    def to_dict(self) -> dict[str, Any]:
        """Return the proposed fact, its source, and the facts that it would replace."""
        return {**self.cube.to_dict(), "source": self.source, "replaces": plain(self.replaces)}

    @property
    def id(self) -> str:
        """The id for `accept` and `reject`."""
        return self.cube.id

    @property
    def source(self) -> str | None:
        """The source of the proposal: a trusted source, or the extractor that read its pages."""
        return self.cube.descriptive.derived_by


def proposals(reader: Reader) -> list[Proposal]:
    """Return the proposals that wait for a decision, oldest first."""
    return [
        _proposal(reader, cube) for cube in reader.cubes(Kind.FACT, tiers=[Tier.ARCHIVE], marks=[CubeMark.PROPOSED])
    ]


def publish(promoter: Promoter, home: Scope, lessons: Sequence[Lesson]) -> None:
    """Learn the facts of a trusted source, some in each transaction; what contradicts known facts is proposed."""
    promoter.learn(home, lessons, promoter.verdicts(home, lessons))


def accept(promoter: Promoter, home: Scope, proposal_id: str) -> MemCube:
    """Make the proposed change; the replaced facts stay readable. Raises NotFound, PermissionDenied."""
    with promoter.vault.view(home) as reader:
        replaced = [link.target for link in reader.targets([proposal_id], LinkKind.SUPERSEDES)]
        check_stored(promoter.vault, home, reader, replaced, Action.WRITE)
    accepted: dict[str, MemCube] = {}

    def plan(reader: Reader) -> Step:
        known = changeable(promoter.vault, home, reader)
        long_term = LongTerm(known, home, promoter.settings, promoter.clock())
        long_term.accept(_waiting(known, proposal_id))
        long_term.settle()
        return long_term.step(end=lambda writer: accepted.update(writer.get([proposal_id])))

    take(promoter.vault, home, plan)
    return accepted[proposal_id]


def reject(writer: Writer, proposal_id: str) -> MemCube:
    """Reject the proposed change. Raises NotFound."""
    cube = replace(_waiting(writer, proposal_id), mark=CubeMark.REJECTED)
    writer.update([Entry(cube)], Operation.REFRESH)
    return cube


def published(promoter: Promoter, texts: Sequence[str], source: str, subject: Subject) -> list[Lesson]:
    """The facts of a trusted source as lessons."""
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
        raise NotFound(f"there is no proposal {proposal_id!r} of this user and agent")
    return cube


def _proposal(reader: Reader, cube: MemCube) -> Proposal:
    replaced = [link.target for link in reader.targets([cube.id], LinkKind.SUPERSEDES)]
    found = reader.get(replaced)
    return Proposal(cube, tuple(found[one] for one in replaced if one in found))
