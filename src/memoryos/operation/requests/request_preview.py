"""Request previews: exactly what a request would do, and a token that confirms no more than that.

The token is a digest of the operation and of the set of memories with their versions. If any of them changed, went or
came in between, it confirms nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b

from memoryos.cube import MemCube
from memoryos.kinds import Kind
from memoryos.operation.requests.memory_call import MemoryCall
from memoryos.plain import PlainContent

WORDS_CHARS = 80  # of a memory in a preview
LISTED = 20  # memories that a preview shows
_DIGEST_BYTES = 5


@dataclass(frozen=True, slots=True)
class ListedMemory(PlainContent):
    """A memory in a preview."""

    id: str  #: id of the memory
    kind: Kind  #: kind of the memory
    text: str  #: its first words
    at: datetime  #: when it was said

    @classmethod
    def of(cls, cube: MemCube) -> ListedMemory:
        """A memory with its first words."""
        words = " ".join(cube.text[: 2 * WORDS_CHARS].split())
        shown = words if len(words) <= WORDS_CHARS else f"{words[: WORDS_CHARS - 1]}…"
        return cls(cube.id, cube.kind, shown, cube.descriptive.event_at)


@dataclass(frozen=True, slots=True)
class RequestPreview(PlainContent):
    """What a request would do. Nothing is changed yet."""

    call: MemoryCall  #: the request
    text: str  #: what would happen, in a sentence
    memories: tuple[ListedMemory, ...] = ()  #: what it is about: the first of many
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)  #: all of these by kind
    near: tuple[ListedMemory, ...] = ()  #: what also bears on the topic, and stays as it is
    ids: tuple[str, ...] = ()  #: ids of all memories that were chosen by words or time
    confirm: str | None = None  #: token that confirms exactly this; None: nothing needs to be confirmed

    @property
    def total(self) -> int:
        """How many memories it is about."""
        return sum(self.counts.values())


def token(call: MemoryCall, memories: Iterable[tuple[str, int]]) -> str:
    """The token that confirms this operation on these memories, each with its version."""
    named = sorted(f"{cube_id} {version}" for cube_id, version in memories)
    what = [call.operation.value, call.reach.value, call.to or "", repr(sorted(call.scope.to_dict().items())), *named]
    digest = blake2b("\n".join(what).encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{len(named)}-{digest}"


def counted_kinds(kinds: Iterable[Kind]) -> dict[str, int]:
    """How many there are of each kind, in the order of `Kind`."""
    found = Counter(kinds)
    return {kind.value: found[kind] for kind in Kind if found[kind]}


def told_counts(counts: Mapping[str, int]) -> str:
    """The counts as words: "2 pages, 1 fact"."""
    parts = (f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
    return ", ".join(parts) or "nothing"


def told_near(near: Sequence[ListedMemory], how: str = "Near it") -> str:
    """What is near, and stays, as words: ". Near it: 'I like tea' (01...)"; nothing if there is nothing."""
    words = "; ".join(f"{one.text!r} ({one.id})" for one in near)
    return f". {how}: {words}" if words else ""


def listed_memories(cubes: Sequence[MemCube]) -> tuple[ListedMemory, ...]:
    """The first of many memories, for a preview."""
    return tuple(ListedMemory.of(cube) for cube in cubes[:LISTED])
