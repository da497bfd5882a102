"""Shown: memories as the policy `privacy_on_read` lets callers see them. The store keeps what it has.

A passage is a part of a turn, by its characters. The words of a turn get shorter or longer, so its passages move.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeVar, cast

from memoryos.cube import MemCube, Turn
from memoryos.hold import LegalHold
from memoryos.infrastructure.vault.records import Event, Job
from memoryos.kinds import Kind
from memoryos.language.words import words
from memoryos.lifecycle import Transition
from memoryos.listing import Listing
from memoryos.operation.attachments.attached_file import AttachedFile, FileBytes
from memoryos.operation.consolidation.propose import Proposal
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.hierarchy.protected import protected
from memoryos.operation.recall.hit import Hit, Recall, Span, TurnHit
from memoryos.operation.recall.overview import Profile, SegmentView
from memoryos.operation.recall.provenance import Provenance
from memoryos.plain import PlainContent
from memoryos.privacy.protection import OwnerProtection, Protection
from memoryos.privacy.walk import Walk
from memoryos.retention import RetentionRule, UnusedRule
from memoryos.scope import Scope
from memoryos.signing import ContentMark
from memoryos.version_diff import VersionDiff

# What calls return with content in it. A context and a digest are made of what is shown already.
CONTENT = (
    MemCube,
    Hit,
    TurnHit,
    Recall,
    Profile,
    SegmentView,
    Proposal,
    AttachedFile,
    FileBytes,
    Job,
    Transition,
    Event,
    LegalHold,
    RetentionRule,
    UnusedRule,
    PlainContent,
    VersionDiff,
    Provenance,
)

_COMMA = ", "  # between the keywords that name a topic
_ANYBODY = Scope(user="anybody")  # masks are the same for all users

T = TypeVar("T")


class Shown:
    """Makes what callers may see of what calls return."""

    def __init__(self, protection: Protection) -> None:
        self._privacy = protection.for_owner(_ANYBODY)

    def __call__(self, result: T, /) -> T:
        """Return the result of a call with the words, or the tags, that a caller may see."""
        return cast("T", self.view().of(result))

    def view(self) -> ShownResult:
        """Return what makes one result."""
        return ShownResult(self._privacy)


class ShownResult:
    """What is shown of one result; a memory that is in it several times is looked at once."""

    def __init__(self, privacy: OwnerProtection) -> None:
        self._privacy = privacy
        self._cubes: dict[int, tuple[MemCube, MemCube]] = {}  # by identity: before, and as it is shown
        self._places: dict[tuple[int, int], _Places] = {}
        self._walk = Walk(
            self._said,
            {
                MemCube: self.cube,
                Hit: self._hit,
                TurnHit: self._turn_hit,
                SegmentView: self._segment_view,
                Scope: lambda scope: scope,
                ContentMark: lambda mark: mark,  # its signature covers each field
            },
        )

    def of(self, result: Any) -> Any:
        """Return the result as it is shown."""
        if isinstance(result, Listing):
            return result.mapped(self.of)
        if isinstance(result, list | tuple):
            return type(result)(map(self.of, result))
        return self._walk.value("", result) if isinstance(result, CONTENT) else result

    def cube(self, cube: MemCube) -> MemCube:
        """Return a memory as it is shown."""
        if id(cube) not in self._cubes:
            self._cubes[id(cube)] = cube, protected(self._privacy, cube)
        return self._cubes[id(cube)][1]

    def passage(self, page: MemCube, number: int, span: Span) -> tuple[Turn, Span]:
        """Return a turn of a page as it is shown, and where the passage is in its words."""
        old, new = (turns_of(one)[number] for one in (page, self.cube(page)))
        if old == new:
            return new, span
        if (id(page), number) not in self._places:
            self._places[id(page), number] = _Places(self._privacy, old, new)
        places = self._places[id(page), number]
        return new, (places.of(span[0], is_end=False), places.of(span[1], is_end=True))

    def _hit(self, hit: Hit) -> Hit:
        cube, topic = self.cube(hit.cube), hit.topic
        if hit.segment or hit.kind is Kind.SEGMENT:  # else it is no topic's
            topic = _COMMA.join(self._keywords(topic.split(_COMMA), cube))
        return replace(hit, cube=cube, topic=topic)

    def _segment_view(self, view: SegmentView) -> SegmentView:
        cube = self.cube(view.cube)
        return replace(view, cube=cube, keywords=self._keywords(view.keywords, cube))

    def _keywords(self, keywords: Sequence[str], cube: MemCube) -> tuple[str, ...]:
        """The keywords of a topic that the shown memory has: others may be parts of what is not shown."""
        said = set(words(cube.text)) if self._privacy.rewrites else set(keywords)
        return tuple(word for word in keywords if word in said)

    def _turn_hit(self, hit: TurnHit) -> TurnHit:
        _, (start, end) = self.passage(hit.cube, hit.index, hit.span)
        return replace(hit, cube=self.cube(hit.cube), start=start, end=None if hit.end is None else end)

    def _said(self, _: str, text: str) -> str:
        return self._privacy.question(text)


class _Places:
    """Where the characters of a turn's words are in its shown words."""

    def __init__(self, privacy: OwnerProtection, old: Turn, new: Turn) -> None:
        found = privacy.replaced(old.text)
        self._old, self._new = old, new
        self._starts, self._ends = [span.start for span, _ in found], [span.end for span, _ in found]
        self._lengths = [len(instead) for _, instead in found]
        self._shifts = [0, *accumulate(len(instead) - (span.end - span.start) for span, instead in found)]

    def of(self, place: int, *, is_end: bool) -> int:
        """The new place. Within what was replaced, it is the start or the end of what is there now."""
        if place > len(self._old.text):  # in the captions, which are counted from the end
            return max(len(self._new.text), len(self._new.words) - (len(self._old.words) - place))
        number = bisect_right(self._ends, place)
        if number < len(self._starts) and self._starts[number] < place:
            return self._starts[number] + self._shifts[number] + (self._lengths[number] if is_end else 0)
        return place + self._shifts[number]
