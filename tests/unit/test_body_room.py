"""BodyRoom: a request without a body needs no place in it."""

from __future__ import annotations

import pytest

from memoryos.interface.rest.body_room import BodyRoom
from memoryos.interface.rest.problems import Refusing


@pytest.mark.once
def test_beside_a_body_that_has_more_than_there_is_room_a_request_without_one_passes():
    room = BodyRoom(500)
    with room.seat() as large, room.seat() as small, room.seat() as empty:
        large(600)
        empty(0)
        with pytest.raises(Refusing):
            small(1)
    with room.seat() as next_one:
        next_one(500)
