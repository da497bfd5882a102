"""UnchangedForms: what the scheduler decided to leave in its form, and why: the latest decision of each kind.

It is a note of the owner, and goes with it. A decision that is made again is counted and takes no more room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import AwareDatetime, TypeAdapter

from memoryos.choice import Choice
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.operation.placement.form_log import MOST_SOURCES, told
from memoryos.operation.placement.form_moves import MoveGrounds
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.plain import EVERY_FIELD, Plain


class UnchangedReason(Choice):
    """Why memories keep their form."""

    NOT_PAID = "not_paid"  # reading the texts has not cost as much as building their KV
    NO_ROOM = "no_room"  # the KV would be longer than the context
    NOTHING_NEW = "nothing_new"  # the KV has all that was used
    NO_STORE = "no_store"  # the store has no place for bytes: no file, and no `object_store`
    NOT_COLD = "not_cold"  # it was used lately
    NOT_STABLE = "not_stable"  # it changed lately, or was used too seldom
    SWITCHED_OFF = "switched_off"  # the setting `placement_adapters` is off
    UNUSABLE = "unusable"  # there is KV that is of another model, or has lost its bytes: `activations.build` makes it
    NO_MODEL = "no_model"  # nothing in this process can train the chat model
    NOT_TRAINABLE = "not_trainable"  # nothing is trained of memories of these kinds
    TRAINED = "trained"  # there is an adapter of that name, or one is being trained
    FROZEN = "frozen"  # it is frozen, or all its memories are
    NOT_PERMITTED = "not_permitted"  # the caller may not change it


@dataclass(frozen=True, slots=True)
class UnchangedForm(Plain):
    """A change of form that the scheduler did not order."""

    name: str  #: name of the KV cache or adapter
    before: MemoryForm  #: the form that its memories have, and keep
    after: MemoryForm  #: the form that they do not get
    reason: UnchangedReason  #: why not
    grounds: MoveGrounds  #: the numbers behind the latest of these decisions
    sources: tuple[str, ...]  #: ids of its memories, as far as they are there; 64 at most
    plan: int  #: number of the latest plan behind which it was decided
    at: AwareDatetime  #: when it was decided last
    since: AwareDatetime  #: when it was decided first, with the same reason each time since
    times: int = 1  #: how often it was decided since
    memories: int = 0  #: how many memories it was decided of last


UNCHANGED = Note("placement_unchanged", as_json(tuple[UnchangedForm, ...]))

_UNCHANGED = TypeAdapter(tuple[UnchangedForm, ...])


def log_unchanged(writer: Writer, decisions: Iterable[UnchangedForm]) -> None:
    """Write decisions in the place of those before of the same change."""
    known = {_change(one): one for one in UNCHANGED.of(writer) or ()}
    made = {_change(one): _counted(one, known.get(_change(one))) for one in decisions}
    if made:
        _write(writer, [*{**known, **made}.values()])


def forget_unchanged(writer: Writer, name: str, before: MemoryForm, after: MemoryForm | None = None) -> None:
    """Forget the decisions against a change that is ordered now; without `after`, all that kept this form."""
    known = UNCHANGED.of(writer) or ()
    left = [one for one in known if (one.name, one.before) != (name, before) or after not in (None, one.after)]
    if len(left) < len(known):
        _write(writer, left)


def unchanged(reader: Reader) -> Iterator[UnchangedForm]:
    """The decisions whose memories are left; for a caller who sees less than all, those whose memories it sees."""
    return told(reader, UNCHANGED.of(reader) or ())


def _change(one: UnchangedForm) -> tuple[str, MemoryForm, MemoryForm]:
    return one.name, one.before, one.after


def _counted(one: UnchangedForm, known: UnchangedForm | None) -> UnchangedForm:
    """A decision behind the one before, which counts if it had the same reason; with the first of its memories."""
    cut = replace(one, sources=one.sources[:MOST_SOURCES], memories=len(one.sources))
    if known is None or known.reason is not one.reason:
        return cut
    return replace(cut, since=known.since, times=known.times + 1)


def _write(writer: Writer, decisions: Sequence[UnchangedForm]) -> None:
    text = _UNCHANGED.dump_json(tuple(decisions), context=EVERY_FIELD).decode()
    writer.write_note(UNCHANGED.key, text if decisions else None)
