"""FormLog: what the scheduler did to the forms of memories: KV built or removed, adapters trained or removed, and why.

It is a note where the KV or the adapter lies, and goes with it: names, ids and numbers, no question and no content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import Field, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import AwareDatetime, TypeAdapter

from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.operation.placement.form_moves import FormMove, MoveGrounds, MoveReason
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.plain import EVERY_FIELD, Plain

MOST_DECISIONS = 64  # that are known of an owner
MOST_SOURCES = 64  # of one decision; more are counted
MOST_TOLD = 16  # decisions that a plan tells


@dataclass(frozen=True, slots=True)
class FormDecision(Plain):
    """A change of form that the scheduler ordered."""

    at: AwareDatetime  #: when it was decided
    name: str  #: name of the KV cache or adapter
    before: MemoryForm  #: the form that its memories had
    after: MemoryForm  #: the form that they get
    reason: MoveReason  #: why the form changes
    grounds: MoveGrounds  #: the numbers behind it
    sources: tuple[str, ...]  #: ids of its memories, as far as they are there; 64 at most
    plan: int | None = None  #: number of the plan behind which it was decided; None: `forms.cool` was called
    memories: int = 0  #: how many it was decided of

    @classmethod
    def of(
        cls, move: FormMove, name: str, sources: Sequence[str], at: datetime, plan: int | None = None
    ) -> FormDecision:
        """The decision to carry out a change that is due."""
        kept, count = tuple(sources[:MOST_SOURCES]), len(sources)
        return cls(at, name, move.before, move.after, move.reason, move.grounds, kept, plan, count)


FORM_LOG = Note("placement_forms", as_json(tuple[FormDecision, ...]))

_LOG = TypeAdapter(tuple[FormDecision, ...])


def log_form(writer: Writer, decision: FormDecision) -> None:
    """Write a decision before the others; the oldest may go for it. What was decided already is not written again."""
    known = FORM_LOG.of(writer) or ()
    if not any(_is_same(one, decision) for one in known):
        kept = (decision, *known)[:MOST_DECISIONS]
        writer.write_note(FORM_LOG.key, _LOG.dump_json(kept, context=EVERY_FIELD).decode())


def _is_same(known: FormDecision, decision: FormDecision) -> bool:
    """Whether it was decided to remove the same KV or adapter, which has not been made or used anew since."""
    since = decision.at - timedelta(days=decision.grounds.unused_days)
    told = [(one.name, one.before, one.after) for one in (known, decision)]
    return decision.after is MemoryForm.TEXT and told[0] == told[1] and known.at > since


def logged_forms(reader: Reader) -> Iterator[FormDecision]:
    """The decisions, newest first, of which memories are left; to who sees less than all, if every one is there."""
    return told(reader, FORM_LOG.of(reader) or ())


class _OfMemories(Protocol):
    """A decision on memories, as it is logged."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def sources(self) -> tuple[str, ...]: ...

    @property
    def memories(self) -> int: ...


_Logged = TypeVar("_Logged", bound=_OfMemories)


def told(reader: Reader, known: Sequence[_Logged]) -> Iterator[_Logged]:
    """The decisions whose memories are left, in part; for a caller who sees less, those whose memories it sees all."""
    ids = {source for one in known for source in one.sources}
    there, seen = reader.whole.kinds(ids), reader.kinds(ids)
    for one in known:
        left = tuple(source for source in one.sources if source in there)
        is_whole = len(seen.keys() & one.sources) == max(one.memories, len(one.sources))
        if left and (reader.view is None or is_whole):
            yield replace(one, sources=left)
