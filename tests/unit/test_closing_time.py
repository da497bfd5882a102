"""ClosingTime: one deadline for all that a server does at its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from threading import Event, Thread

import httpx
import pytest
from starlette.routing import Route

from memoryos.interface.rest.closing_time import ClosingTime
from memoryos.interface.rest.rest_app import rest_app
from served import PATIENCE, opened, serving


def test_the_time_runs_from_its_begin_and_ends_at_nothing():
    now = [10.0]
    closing = ClosingTime(3.0, lambda: now[0])
    now[0] = 20.0
    assert closing.left == 3.0
    closing.begin()
    now[0] = 22.0
    closing.begin()
    assert closing.left == 1.0
    now[0] = 30.0
    assert closing.left == 0.0


class Hanging:
    """A door with an address that does not answer."""

    is_first = True
    foreign = unread = openai = ()

    def __init__(self):
        self.is_asked, self.left = Event(), []

    def routes(self, desk, metrics):
        yield Route("/hang", self.hang)

    def described(self):
        return {}

    async def hang(self, request):
        self.is_asked.set()
        await asyncio.sleep(PATIENCE)

    async def close(self, seconds):
        self.left.append(seconds)


@pytest.mark.once
def test_a_request_that_runs_until_the_end_leaves_no_time_to_a_door():
    door = Hanging()
    with opened(":memory:") as store:
        with serving(store, partial(rest_app, added=[door]), closing_seconds=1.0) as served:

            def ask():
                with suppress(httpx.HTTPError):
                    httpx.get(f"{served.url}/hang", timeout=PATIENCE, trust_env=False)

            asking = Thread(target=ask)
            asking.start()
            assert door.is_asked.wait(PATIENCE)
        asking.join(PATIENCE)
    assert door.left == [0.0]
