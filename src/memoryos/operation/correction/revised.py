"""Revised: a memory with other words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memoryos.cube import Fact, MemCube, Page, ProfileField, Trait
from memoryos.errors import InvalidInput
from memoryos.kinds import Origin, Role
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.page_entries import topic_words


def revised(cube: MemCube, text: str, role: Role, now: datetime) -> MemCube:
    """The next version of the memory, with these words: of a page, in the turn of that role. Raises InvalidInput."""
    payload = cube.payload
    if isinstance(payload, Page):
        payload = _with_turn(payload, text, role)
    elif isinstance(payload, Fact):
        payload = replace(payload, text=text)
    elif isinstance(payload, ProfileField):
        payload = replace(payload, value=text)
    elif isinstance(payload, Trait):
        payload = replace(payload, reason=text)
    else:
        raise InvalidInput("id", f"a {cube.kind.value} cannot be edited", "Edit its pages instead")
    fingerprint = topic_words(payload) if isinstance(payload, Page) else keywords(text)
    # What the user corrects is the user's word from now on: no page can take it back. Other turns stay what they were.
    is_whole = not isinstance(payload, Page) or len(payload.turns) == 1
    return replace(
        cube,
        payload=payload,
        descriptive=replace(
            cube.descriptive, updated_at=now, origin=Origin.USER_INPUT if is_whole else cube.descriptive.origin
        ),
        behaviour=replace(cube.behaviour, fingerprint=fingerprint),
        version=replace(cube.version, number=cube.version.number + 1),
    )


def _with_turn(page: Page, text: str, role: Role) -> Page:
    if (old := page.turn_of(role)) is None:
        raise InvalidInput("role", f"the page has no {role.value} turn", "Name the role of a turn it has")
    return replace(page, turns=tuple(replace(turn, text=text) if turn is old else turn for turn in page.turns))
