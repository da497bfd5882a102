"""How long a server waits for a store that is to say who asks."""

from __future__ import annotations

import asyncio

import pytest

from memoryos.interface.rest.keys_seen import KeysSeen

_SECONDS = 0.05  # for which a store may answer nobody


async def never() -> None:
    await asyncio.Event().wait()


def test_a_store_that_answers_nobody_is_not_waited_for():
    with pytest.raises(TimeoutError):
        asyncio.run(KeysSeen().wait(never(), _SECONDS))


def test_a_store_that_answers_others_is_waited_for():
    async def asked() -> str:
        seen = KeysSeen()

        async def late() -> str:
            for _ in range(10):  # twice as long as the store may answer nobody
                await asyncio.sleep(_SECONDS / 5)
                seen.answered()
            return "ann"

        return await seen.wait(late(), _SECONDS)

    assert asyncio.run(asked()) == "ann"


def test_what_goes_wrong_is_told():
    async def failing() -> None:
        raise ValueError("no key")

    with pytest.raises(ValueError, match="no key"):
        asyncio.run(KeysSeen().wait(failing(), _SECONDS))
