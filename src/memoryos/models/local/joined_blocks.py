"""Joined blocks: how KV states that were computed by themselves stand behind each other in one prompt.

Some chat templates begin each prompt with a token of their own (BOS, as Llama 3 has it). Each state has it, and the
prompt once, so it is left out of all states but the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from memoryos.models.local.local_engine import KVState


def left_out(blocks: Sequence[KVState], prompt: Sequence[int]) -> list[int] | None:
    """How many first tokens of each block, none or one, its prompt does not have; None if it is not made of these."""
    at, found = 0, list[int]()
    for block in blocks:
        most = int(bool(found) and block.tokens[:1] == blocks[0].tokens[:1])
        fits = (skipped for skipped in range(most + 1) if _stands(block.tokens[skipped:], prompt, at))
        if (skipped := next(fits, None)) is None:
            return None
        found.append(skipped)
        at += len(block.tokens) - skipped
    return found


def _stands(tokens: Sequence[int], prompt: Sequence[int], at: int) -> bool:
    return tuple(prompt[at : at + len(tokens)]) == tuple(tokens)
