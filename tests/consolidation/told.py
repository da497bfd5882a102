"""What the rules find in what one person says, each text a page of its own."""

from __future__ import annotations

from datetime import UTC, datetime

from memoryos.cube import Behaviour, Descriptive, Fact, MemCube, Page, ProfileField, Turn
from memoryos.kinds import Origin, Role, SemanticType, Tier
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.scope import Scope

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def page(text: str, id: str = "p1") -> MemCube:  # noqa: A002 - the name of the field
    """A page with one turn of the user."""
    return MemCube(
        id=id,
        scope=Scope(user="tom"),
        tier=Tier.STM,
        payload=Page(turns=(Turn(role=Role.USER, text=text, at=MONDAY),)),
        descriptive=Descriptive(
            event_at=MONDAY,
            recorded_at=MONDAY,
            updated_at=MONDAY,
            origin=Origin.USER_INPUT,
            semantic_type=SemanticType.DIALOGUE,
        ),
        behaviour=Behaviour(last_access=MONDAY),
    )


def told(*said: str) -> tuple[list[str], dict[str, str]]:
    """The texts of the facts, and the profile fields."""
    pages = [page(text, f"p{number}") for number, text in enumerate(said)]
    found = [finding.payload for finding in RuleExtractor().extract(pages)]
    facts = [payload.text for payload in found if isinstance(payload, Fact)]
    return facts, {payload.field: payload.value for payload in found if isinstance(payload, ProfileField)}
