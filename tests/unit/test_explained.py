"""Values that are altered without a check are those that `dataclasses.replace` makes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memoryos.cube import Behaviour, Descriptive, MemCube, Page, Segment, Turn
from memoryos.explained import altered
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Origin, Role, SemanticType, Tier
from memoryos.lifecycle import CubeMark
from memoryos.scope import Scope

AT, LATER = datetime(2026, 5, 8, tzinfo=UTC), datetime(2026, 5, 9, tzinfo=UTC)

PAGE = MemCube(
    id="a",
    scope=Scope(user="ann", session="monday"),
    tier=Tier.STM,
    payload=Page(turns=(Turn(role=Role.USER, text="I live in Oslo.", at=AT),)),
    descriptive=Descriptive(
        event_at=AT,
        recorded_at=AT,
        updated_at=AT,
        origin=Origin.USER_INPUT,
        semantic_type=SemanticType.DIALOGUE,
        tags=("home",),
    ),
    behaviour=Behaviour(last_access=AT),
)
SEGMENT = Segment(summary="Oslo", keywords=(("oslo", 2),), pages=2, first_at=AT, last_at=AT, written="Os")


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        (PAGE, {"tier": Tier.MTM, "mark": CubeMark.CHAINED}),
        (PAGE.payload, {"chain_summary": "Oslo"}),
        (PAGE.descriptive, {"updated_at": LATER}),
        (PAGE.behaviour, {"visits": 3, "last_access": LATER, "fingerprint": ("oslo",)}),
        (SEGMENT, {"summary": "Bergen", "keywords": (("bergen", 1),), "pages": 3}),
        (Entry(PAGE), {"document": "{}"}),
        (SEGMENT, {}),
    ],
)
def test_an_altered_value_is_the_one_that_replace_makes(value: Any, changed: dict[str, Any]):
    before = repr(value)
    made = altered(value, **changed)
    assert (made, type(made), repr(made)) == (replace(value, **changed), type(value), repr(replace(value, **changed)))
    assert repr(value) == before
    with pytest.raises(FrozenInstanceError):
        made.__setattr__(next(iter(changed), "pages"), None)


def test_a_field_that_a_value_does_not_have_is_refused():
    with pytest.raises(KeyError, match="colour"):
        altered(SEGMENT, colour="red")
