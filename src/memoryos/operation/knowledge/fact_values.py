"""Facts as values: what a new one says, what it shares with another, and how certain it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from uuid_utils.compat import uuid7

from memoryos.cube import Access, Behaviour, Descriptive, Fact, Governance, MemCube, Mention
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.kinds import Origin, Tier
from memoryos.language.words import keywords
from memoryos.operation.knowledge.filling import YES, Filling
from memoryos.operation.knowledge.lesson import Lesson, identity
from memoryos.operation.knowledge.slot import filled, term
from memoryos.operation.knowledge.succession import mentions_of
from memoryos.scope import Scope

_SUREST = 0.99  # the confidence that repeats in other words lead to, at most


def fact_of(holder: MemCube | Lesson) -> Fact:
    """The fact that a cube or a lesson holds."""
    if isinstance(holder.payload, Fact):
        return holder.payload
    raise TypeError(f"{type(holder.payload).__name__} is not a fact")


def candidate_of(lesson: Lesson, words: Fact, scope: Scope, now: datetime, *, keep_mentions: bool = True) -> MemCube:
    """The fact as it would be if the lesson were all there is."""
    mentions = mentions_in(lesson, words.text)
    stated = term(words.text, min(mention.said for mention in mentions))
    cube = MemCube(
        id=str(uuid7()),
        scope=scope,
        tier=Tier.LPM,
        payload=words if words.wordings else replace(words, quote=fact_of(lesson).quote),
        descriptive=Descriptive(
            event_at=lesson.event_at,
            recorded_at=now,
            updated_at=now,
            origin=lesson.origin,
            semantic_type=lesson.semantic_type,
            provenance=lesson.pages,
            derived_by=lesson.derived_by,
            valid_from=stated.start or lesson.first_at,
            valid_to=stated.end,
            mentions=mentions if keep_mentions or stated.start else (),
        ),
        behaviour=Behaviour(last_access=lesson.event_at, fingerprint=keywords(words.text)),
        governance=Governance(access=Access(mode=lesson.mode)),
    )
    return lesson.about.describe(cube)


def mentions_in(lesson: Lesson, text: str) -> tuple[Mention, ...]:
    """When the lesson says it."""
    moments = lesson.moments or (lesson.event_at,) * len(lesson.pages)
    said = list(zip(moments, lesson.pages, strict=True)) or [(lesson.event_at, str(uuid7()))]
    return tuple(Mention(said=at, source=source, at=term(text, at).at) for at, source in sorted(said))


def fresh_mentions(candidate: MemCube, lesson: Lesson, same: Sequence[MemCube]) -> tuple[Mention, ...]:
    """The candidate's mentions that are not known: a job that runs again says nothing new."""
    known = {mention.source for cube in same for mention in mentions_of(cube)}
    stated = {mention.said for cube in same for mention in mentions_of(cube)} if not lesson.pages else set()
    mentions = candidate.descriptive.mentions
    return tuple(one for one in mentions if one.source not in known and one.said not in stated)


def is_guarded(cube: MemCube, lesson: Lesson) -> bool:
    """Whether the lesson may only propose to replace the fact."""
    stated = cube.descriptive.origin is Origin.USER_INPUT and lesson.origin is Origin.INFERENCE
    return lesson.is_published or stated or cube.is_read_only


def filling_of(cube: MemCube) -> Filling | None:
    """The filling of the fact's slot."""
    return filled(cube.text, min(mention.said for mention in mentions_of(cube)))


def proposal_names(cube: MemCube) -> set[Hashable]:
    """By what a proposed fact is known: its words and, when rules know what they say, what it fills its slot with."""
    found = filling_of(cube)
    filled_with = {(cube.subject, found.slot, found.value, found.is_denied)} if found else set[Hashable]()
    return {identity(cube.payload), *filled_with}


def is_same(one: Filling | None, other: Filling | None) -> bool:
    """Whether they fill the same slot with the same, if they fill any."""
    told = [(found.slot, found.value, found.is_denied) if found else None for found in (one, other)]
    return told[0] == told[1]


def is_same_slot(cube: MemCube, found: Filling | None) -> bool:
    """Whether the fact fills the slot, too; one of the two may say too much to fill a slot that asks whether."""
    known = filling_of(cube)
    return is_same(known, found) or (
        (known is None or found is None) and YES in {one.value for one in (known, found) if one}
    )


def in_order(chain: Mapping[str, MemCube]) -> list[MemCube]:
    """In the order in which they were made; time is in their ids."""
    return [chain[cube_id] for cube_id in sorted(chain)]


def support_of(facts: Iterable[MemCube]) -> set[Link]:
    """The links from facts to the pages that they rest on."""
    return {Link(cube.id, LinkKind.DERIVED_FROM, page) for cube in facts for page in cube.descriptive.provenance}


def surer(old: float, new: float) -> float:
    """The confidence in what was said twice."""
    return max(old, new, min(_SUREST, round(1 - (1 - old) * (1 - new), 4)))
