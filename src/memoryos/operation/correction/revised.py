"""Revised: the next version of a memory, with other words or with those of an earlier version.

A version equal to the one before it is none: nothing is stored then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Protocol

from memoryos.cube import Fact, MemCube, Page, Payload, ProfileField, Segment, Trait
from memoryos.errors import CubeProtected, InvalidInput, NotFound, StaleVersion
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind, Origin, Role, State, UpdateMode
from memoryos.language.words import keywords
from memoryos.operation.correction.united import BY_MERGE, later_value, with_new_lines
from memoryos.operation.hierarchy.page_entries import topic_words

TOPIC_CHARS = 2_000  # of a person's summary of a segment, which each page that joins it writes again


class NextVersion(Protocol):
    """What a memory becomes."""

    @property
    def rests_on_stored(self) -> bool:
        """Whether the version that is stored decides what the memory becomes, or whether it may change."""
        ...

    def of(self, cube: MemCube, now: datetime) -> MemCube:
        """The version after this one. Raises InvalidInput, StaleVersion."""
        ...


@dataclass(frozen=True, slots=True)
class NewWords:
    """New words of a memory: of a page, in the last turn of a role."""

    text: str
    role: Role = Role.USER
    mode: UpdateMode = UpdateMode.OVERWRITE
    expected: int | None = None  #: the number that the stored version must have; None: any
    at: datetime | None = None  #: when the words were said, for a merge; None: now
    checked: Callable[[str], str] = str  #: makes of a text what may be stored

    @property
    def rests_on_stored(self) -> bool:
        """Whether the version that is stored decides what the memory becomes, or whether it may change."""
        return self.mode is not UpdateMode.OVERWRITE or self.expected is not None

    def of(self, cube: MemCube, now: datetime) -> MemCube:
        """The version after this one. Raises InvalidInput, StaleVersion."""
        check_version(cube, self.expected)
        if self._is_as_read(cube):
            return cube
        if self.mode is UpdateMode.MERGE:
            return self._merged(cube, now)
        known, whose = cube.descriptive, cube.descriptive.derived_by
        told = replace(cube, descriptive=replace(known, derived_by=None if whose == BY_MERGE else whose))
        return _after(told, self._payload(cube), now)

    def _is_as_read(self, cube: MemCube) -> bool:
        """Whether this is the whole text of the memory, with the speakers of a page or the name of a field."""
        is_part = isinstance(
            cube.payload, Page | ProfileField | Trait | Segment
        )  # the words of a fact are its whole text
        return is_part and self.mode is not UpdateMode.APPEND and self.text.strip() == cube.text.strip()

    def _merged(self, cube: MemCube, now: datetime) -> MemCube:
        """The memory with what it did not say before; as it is, if there is no such thing."""
        at, old, new = self.at or now, cube.payload, self._payload(cube)
        if isinstance(old, Fact | ProfileField) and isinstance(new, Fact | ProfileField):
            new = later_value(cube, old, new, at)
        if new == old:
            return cube
        merged = _after(cube, new, now)
        if cube.kind in (Kind.PAGE, Kind.SEGMENT) or at <= cube.at:
            return merged
        return replace(merged, descriptive=replace(merged.descriptive, event_at=at, derived_by=BY_MERGE))

    def _payload(self, cube: MemCube) -> Payload:
        old = cube.payload
        if isinstance(old, Page):
            return self._with_turn(old)
        if isinstance(old, Fact):
            return replace(old, text=self._told(old.text))
        if isinstance(old, ProfileField):
            return replace(old, value=self._told(old.value))
        if isinstance(old, Trait):
            return replace(old, reason=self._added(old.reason))
        if isinstance(old, Segment):
            return summarised_as(old, self._added(old.summary))
        raise _not_edited(cube)

    def _with_turn(self, page: Page) -> Page:
        if (old := page.turn_of(self.role)) is None:
            raise InvalidInput("role", f"the page has no {self.role.value} turn", "Name the role of a turn it has")
        new = replace(old, text=self._added(old.text))
        return replace(page, turns=tuple(new if turn is old else turn for turn in page.turns))

    def _added(self, old: str) -> str:
        """The words of a page or a reason, of which a merge keeps each line once."""
        if self.mode is not UpdateMode.MERGE:
            return self._told(old)
        united = with_new_lines(old, self.text)
        return old if united == old else self.checked(united)

    def _told(self, old: str) -> str:
        is_added = self.mode is UpdateMode.APPEND and old
        return self.checked(f"{old}\n{self.text}") if is_added else self.text


@dataclass(frozen=True, slots=True)
class SameWords:
    """The words that a memory has; only its labels change."""

    expected: int | None = None  #: the number that the stored version must have; None: any
    rests_on_stored: ClassVar[bool] = True

    def of(self, cube: MemCube, now: datetime) -> MemCube:  # noqa: ARG002 - who calls it has any change of a memory
        """The memory as it is. Raises InvalidInput for a memory without labels, and StaleVersion."""
        check_version(cube, self.expected)
        if not isinstance(cube.payload, Page | Fact | ProfileField | Trait):
            raise _not_edited(cube)
        return cube


@dataclass(frozen=True, slots=True)
class KeptPayload:
    """What an earlier version of a memory said. Of a segment, its summary: the rest of it follows from its pages."""

    payload: Payload
    number: int  #: of the version
    rests_on_stored: ClassVar[bool] = False

    def of(self, cube: MemCube, now: datetime) -> MemCube:
        """The version after this one. Raises InvalidInput."""
        kept, stored = self.payload, cube.payload
        if isinstance(kept, Page) and isinstance(stored, Page):  # the chain is described by what is stored now
            kept = replace(kept, chain_summary=stored.chain_summary, chain_written=stored.chain_written)
        if isinstance(kept, Segment) and isinstance(stored, Segment):
            kept = _retold(stored, kept)
        return _after(cube, kept, now)


def summarised_as(segment: Segment, summary: str) -> Segment:
    """The segment with a person's summary, which stays before what pages add to it. Raises InvalidInput."""
    if len(summary) > TOPIC_CHARS:
        raise InvalidInput("text", f"has {len(summary):,} characters", f"Summarise a topic in at most {TOPIC_CHARS:,}")
    return replace(segment, summary=summary, written=summary)


def _retold(stored: Segment, kept: Segment) -> Segment:
    if kept.summary == stored.summary:
        raise InvalidInput(
            "version",
            "has the summary that the topic has now; its pages, keywords and times follow from what it holds",
            "Add, correct or delete pages instead",
        )
    is_short = len(kept.summary) <= TOPIC_CHARS  # else pages were added to what was written
    written = kept.summary if is_short else (kept.written or kept.summary)[:TOPIC_CHARS]
    return replace(stored, summary=kept.summary, written=written)


def refuse_gone(reader: Reader, change: NextVersion, cube: MemCube) -> None:
    """Raise NotFound if the version that is to come back is not kept any more: a page may have gone with its words."""
    if isinstance(change, KeptPayload):
        kept = {cube.version.number, *(one.number for one in reader.kept_versions([cube.id]))}
        if change.number not in kept:
            raise NotFound(f"version {change.number} is not kept: `history` lists the versions of this memory")


def check_version(cube: MemCube, expected: int | None) -> None:
    """Raise StaleVersion if the stored memory has another version than the expected one."""
    if expected is not None and expected != cube.version.number:
        raise StaleVersion(cube.id, expected, cube.version.number)


def _after(cube: MemCube, payload: Payload, now: datetime) -> MemCube:
    """The next version, with this content. What the user corrects is the user's word: no page can take it back.

    The other turns of a page stay what they were, and so does its origin.
    """
    is_whole = not isinstance(payload, Page) or len(payload.turns) == 1
    origin = Origin.USER_INPUT if is_whole else cube.descriptive.origin
    return replace(
        cube,
        payload=payload,
        descriptive=replace(cube.descriptive, updated_at=now, origin=origin),
        behaviour=replace(cube.behaviour, fingerprint=_topics(cube, payload)),
        version=replace(cube.version, number=cube.version.number + 1),
    )


def refuse_absorbed(reader: Reader, cube: MemCube) -> None:
    """Raise CubeProtected if the memory was merged into another one, or withdrawn: nobody would find its new words.

    A fact that a later one replaced has the same state and may be changed.
    """
    if cube.is_withdrawn:
        raise CubeProtected(
            f"the memory {cube.id} was learned from words that were corrected since, and nothing was changed:"
            " change what was learned from the new ones",
            memory_id=cube.id,
        )
    if cube.state is State.MERGED and reader.sources([cube.id], LinkKind.ABSORBED):
        raise CubeProtected(
            f"the memory {cube.id} was merged into another one, and nothing was changed:"
            " give it back first (`duplicates.unmerge`), or change the other one",
            memory_id=cube.id,
        )


def next_version(stored: MemCube, revised: MemCube, now: datetime) -> MemCube:
    """The revised memory with the next number, also if only its labels are others; the stored one if nothing is."""
    if revised == stored or revised.version.number > stored.version.number:
        return revised
    described = replace(revised.descriptive, updated_at=now)
    return replace(revised, descriptive=described, version=replace(stored.version, number=stored.version.number + 1))


def _topics(cube: MemCube, payload: Payload) -> tuple[str, ...]:
    if isinstance(payload, Page):
        return topic_words(payload)
    if isinstance(payload, Fact):
        return keywords(payload.text)
    if isinstance(payload, ProfileField):
        return keywords(payload.value)
    if isinstance(payload, Trait):
        return keywords(payload.reason)
    if isinstance(payload, Segment):
        return cube.behaviour.fingerprint
    raise _not_edited(cube)


def _not_edited(cube: MemCube) -> InvalidInput:
    problem = f"names what cannot be edited (kind {cube.kind.value}): it was made of other memories"
    return InvalidInput("id", problem, "Edit these, and build it again")
