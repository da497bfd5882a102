"""UseHistory: how often an owner's questions used each block of memory, and what followed what.

Three things are known of a block: its uses, each worth half as much after `HALF_LIFE` more questions of the owner (as
in LRFU, Lee et al. 1999); all its uses; and how often it was used in the question after one that used another block
(first-order transitions, decayed too). Together they give the chance that the owner's next question uses it. Both
tables are bounded, and what is used least is forgotten first.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from heapq import nlargest

HALF_LIFE = 1  # questions of the owner: what was used just now counts most (docs/explanation/scheduling.md)
SETTLED = 8  # questions, before which the share of all uses says little
MOST_BLOCKS = 128
MOST_FOLLOWERS = 8  # of one block
TRANSITIONS = 0.25  # their weight beside the uses
LASTING = 0.2  # the weight of all uses beside the recent ones
FORGETTING = 0.9  # of a transition, each time the first block is used

_FADE: float = 0.5 ** (1 / HALF_LIFE)


@dataclass(frozen=True, slots=True)
class BlockUse:
    """The uses of one block."""

    recent: float = 0.0  #: uses, halved every `HALF_LIFE` questions
    total: int = 0  #: uses
    asked: int = 0  #: number of the question that used it last
    owed_ms: float = 0.0  #: that KV would have saved so far
    micros: int = 0  #: when it was used last

    def after(self, asked: int, owed_ms: float, micros: int) -> BlockUse:
        """The same after one more use, in that question."""
        return BlockUse(self._faded(asked) + 1, self.total + 1, asked, self.owed_ms + owed_ms, micros)

    def _faded(self, asked: int) -> float:
        return self.recent * math.pow(_FADE, asked - self.asked)

    def rate(self, asked: int) -> float:
        """Uses per question, after that many."""
        return self._faded(asked) * (1 - _FADE) + LASTING * self.total / max(SETTLED, asked)


@dataclass(frozen=True, slots=True)
class BlockFollowers:
    """What was used in the questions after one that used some block."""

    times: float = 0.0  #: such questions, decayed
    blocks: Mapping[str, float] = field(default_factory=dict, hash=False)  #: of these, with that block

    def after(self, used: Mapping[str, float]) -> BlockFollowers:
        """The same after one more such question."""
        faded = {block: times * FORGETTING for block, times in self.blocks.items()}
        counted = {**faded, **{block: faded.get(block, 0.0) + 1 for block in used}}
        kept = nlargest(MOST_FOLLOWERS, counted, key=lambda block: (counted[block], block))
        return BlockFollowers(self.times * FORGETTING + 1, {block: counted[block] for block in kept})

    def share(self, block: str) -> float:
        """The share of such questions that used this block."""
        return self.blocks.get(block, 0.0) / self.times if self.times else 0.0


@dataclass(frozen=True, slots=True)
class UseHistory:
    """The uses of the blocks of one owner."""

    asked: int = 0  #: questions so far
    blocks: Mapping[str, BlockUse] = field(default_factory=dict, hash=False)
    follows: Mapping[str, BlockFollowers] = field(default_factory=dict, hash=False)
    latest: tuple[str, ...] = ()  #: blocks of the last question

    def after(self, used: Mapping[str, float], micros: int = 0) -> UseHistory:
        """The same after a question that used these blocks; each with the milliseconds that KV would have saved it."""
        asked = self.asked + 1
        uses = {block: self.blocks.get(block, BlockUse()).after(asked, owed, micros) for block, owed in used.items()}
        blocks = {**self.blocks, **uses}
        kept = nlargest(MOST_BLOCKS, blocks, key=lambda block: (blocks[block].rate(asked), block))
        follows = {**self.follows, **{one: self._followers(one).after(used) for one in self.latest}}
        return UseHistory(
            asked,
            {block: blocks[block] for block in kept},
            {block: follows[block] for block in kept if block in follows},
            tuple(used),
        )

    def only(self, blocks: Container[str]) -> UseHistory:
        """The same without all other blocks."""
        follows = {
            one: replace(then, blocks={block: times for block, times in then.blocks.items() if block in blocks})
            for one, then in self.follows.items()
            if one in blocks
        }
        known = {one: use for one, use in self.blocks.items() if one in blocks}
        return UseHistory(self.asked, known, follows, tuple(one for one in self.latest if one in blocks))

    def paid(self, block: str) -> UseHistory:
        """The same after KV was built for that block, so that it saves time from now on."""
        if block not in self.blocks:
            return self
        return replace(self, blocks={**self.blocks, block: replace(self.blocks[block], owed_ms=0.0)})

    def used_last(self, sizes: Mapping[str, int], most: int) -> set[str]:
        """Those of these blocks that were used last, as many as fit into `most` tokens."""
        chosen, room = set[str](), most
        for one in sorted(sizes, key=lambda one: (-self.blocks.get(one, BlockUse()).asked, one)):
            if sizes[one] <= room:
                chosen.add(one)
                room -= sizes[one]
        return chosen

    def chance(self, block: str) -> float:
        """About how probable it is that the owner's next question uses this block."""
        use = self.blocks.get(block)
        if use is None:
            return 0.0
        followed = sum(self._followers(one).share(block) for one in self.latest) / max(1, len(self.latest))
        return min(1.0, (1 - TRANSITIONS) * use.rate(self.asked) + TRANSITIONS * followed)

    def likely(self) -> list[str]:
        """The blocks by the chance that the next question uses them, the likeliest first."""
        return sorted(self.blocks, key=lambda block: (-self.chance(block), block))

    def _followers(self, block: str) -> BlockFollowers:
        return self.follows.get(block, BlockFollowers())
