"""Overviews: profile, segments and statistics for people to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryos.config import Settings
from memoryos.cube import MemCube, ProfileField
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import JobState, LinkKind
from memoryos.kinds import Kind, Subject, Tier
from memoryos.language.entities import names_in
from memoryos.operation.consolidation.promotion import rejections
from memoryos.operation.hierarchy.heat import heat
from memoryos.operation.hierarchy.mid_term import segment_of, top_keywords
from memoryos.operation.hierarchy.told_topics import ended_topics
from memoryos.operation.hierarchy.tuning import Tuned, explained
from memoryos.operation.knowledge.tally import Tally
from memoryos.operation.paging.calibrator import noted
from memoryos.operation.recall.hit import Recall
from memoryos.plain import Plain, plain
from memoryos.scope import Scope

Then = Callable[[Reader, Sequence[MemCube]], Iterable[MemCube]]  # memories as they were at an earlier time


@dataclass(frozen=True, slots=True)
class Persona(Plain):
    """The contents of LPM about the user or the agent."""

    profile: tuple[MemCube, ...]  #: static fields, such as the name
    traits: tuple[MemCube, ...]  #: levels on dimensions
    facts: tuple[MemCube, ...]  #: facts in LPM

    @property
    def fields(self) -> Mapping[str, str]:
        """The values of the static profile by field."""
        return {
            cube.payload.field: cube.payload.value for cube in self.profile if isinstance(cube.payload, ProfileField)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the fields with their values, and the traits and facts."""
        told = {"profile": dict(self.fields), "since": plain(self.since)}
        return {**told, "traits": plain(self.traits), "facts": plain(self.facts)}

    @property
    def since(self) -> Mapping[str, datetime]:
        """Since when each field of the static profile has its value, if that was said."""
        return {
            cube.payload.field: cube.descriptive.valid_from or cube.descriptive.event_at
            for cube in self.profile
            if isinstance(cube.payload, ProfileField)
        }

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known yet."""
        return not (self.profile or self.traits or self.facts)


@dataclass(frozen=True, slots=True)
class Profile(Plain):
    """The personas of the user and of the agent."""

    user: Persona  #: what is known about the user
    agent: Persona  #: what is known about the agent


@dataclass(frozen=True, slots=True)
class SegmentView(Plain):
    """A segment with its current heat."""

    cube: MemCube  #: the segment
    heat: float  #: how much it is used now; see the glossary
    keywords: tuple[str, ...]  #: the most frequent first
    page_ids: tuple[str, ...]  #: ids of its pages

    def to_dict(self) -> dict[str, Any]:
        """Return the segment with its heat, usage and number of pages, of which there may be thousands."""
        used = {"visits": self.cube.behaviour.visits, "interactions": self.cube.behaviour.interactions}
        named = {"keywords": list(self.keywords), "entities": list(self.entities)}
        return {**self.cube.to_dict(), "heat": self.heat, **named, "pages": len(self.page_ids), **used}

    @property
    def id(self) -> str:
        """The id of the segment."""
        return self.cube.id

    @property
    def summary(self) -> str:
        """The summary of the segment."""
        return self.cube.text

    @property
    def entities(self) -> tuple[str, ...]:
        """The people, places and things with a name in its summary."""
        return names_in(self.cube.text)


@dataclass(frozen=True, slots=True)
class Stats(Plain):
    """The sizes of the tiers, the waiting work and the tuned values."""

    stm_pages: int  #: pages in short-term memory
    mtm_segments: int  #: topics in mid-term memory
    mtm_pages: int  #: pages in mid-term memory
    archived_segments: int  #: topics in the archive
    archived_pages: int  #: pages in the archive
    user_facts: int  #: facts about the user
    agent_facts: int  #: facts about the agent
    traits: int  #: traits of both
    profile_fields: int  #: profile fields of both
    jobs_waiting: int  #: jobs to do now
    jobs_planned: int  #: jobs due at some later day: segments that are not hot yet
    jobs_dead: int  #: jobs that failed too often
    jobs_unknown: int  #: jobs of kinds that are not registered here; they wait for a program that has them
    rejected: Mapping[str, int]  #: rejected statements of models, by reason
    embedder: str  #: name of the embedder of the store
    facts: Tally  #: outcomes of all extracted facts
    tuning: tuple[Tuned, ...]  #: theta, tau, top-m, top-k and w of this scope


def profile(owner: Reader, persona: Reader, now: datetime, then: Then | None = None) -> Profile:
    """Return the personas at `now`: the user's from its home scope, the agent's from the owner."""
    return Profile(user=_persona(persona, Subject.USER, now, then), agent=_persona(owner, Subject.AGENT, now, then))


def profile_of(vault: Vault, owner: Scope, home: Scope, now: datetime, then: Then | None = None) -> Profile:
    """Return the personas of an owner, as they were `then`; the user's persona is stored in `home`."""
    with vault.view(owner) as reader, vault.view(home) as persona:
        return profile(reader, persona, now, then)


def lasting(cubes: Iterable[MemCube], now: datetime) -> list[MemCube]:
    """Leave out what has expired."""
    return [cube for cube in cubes if not cube.has_expired(now)]


def _persona(reader: Reader, subject: Subject, now: datetime, then: Then | None = None) -> Persona:
    def found(kind: Kind) -> tuple[MemCube, ...]:
        if then is None:
            return tuple(lasting(reader.cubes(kind, tiers=[Tier.LPM], subject=subject), now))
        held = lasting(reader.cubes(kind, subject=subject), now)
        return tuple(then(reader, [cube for cube in held if not cube.is_proposal]))

    profile, traits, facts = map(found, (Kind.PROFILE, Kind.TRAIT, Kind.FACT))
    if then is not None:  # what ended since held then
        return Persona(profile, traits, facts)
    return Persona(tuple(cube for cube in profile if cube.descriptive.valid_to is None), traits, facts)


def views_of(reader: Reader, cubes: Sequence[MemCube], settings: Settings, now: datetime) -> list[SegmentView]:
    """Return the segments with their pages and their heat at `now`."""
    pages: dict[str, list[str]] = {}
    gone = set(reader.expired()) if cubes else set[str]()
    for link in reader.sources((cube.id for cube in cubes), LinkKind.MEMBER_OF):
        if link.source not in gone:
            pages.setdefault(link.target, []).append(link.source)
    return [
        SegmentView(
            cube=cube,
            heat=heat(cube.behaviour, now, settings),
            keywords=top_keywords(segment_of(cube)),
            page_ids=tuple(pages.get(cube.id, ())),
        )
        for cube in cubes
    ]


def stats(
    owner: Reader,
    persona: Reader,
    embedder: str,
    facts: Tally,
    settings: Settings,
    now: datetime,
    known_jobs: Collection[str],
) -> Stats:
    """Return counts by tier and the tuned values of the scope."""
    is_part = owner.whole is not owner  # that the caller may read: then nothing may tell of the rest
    census = owner.census()
    recent, placed = (census.of(Kind.PAGE, tier) for tier in (Tier.STM, Tier.MTM))
    if is_part:
        placed, recent = recent + placed, min(recent + placed, settings.short_term_capacity)
        placed -= recent
    people = profile(owner, persona, now)
    jobs = owner.jobs(JobState.QUEUED, JobState.LEASED, JobState.DEAD)
    dead = sum(job.state is JobState.DEAD for job in jobs)
    known = [job for job in jobs if job.kind in known_jobs]
    planned = sum(job.is_planned for job in known)
    dead_known = sum(job.state is JobState.DEAD for job in known)
    ended = Counter(topic.tier for topic in ended_topics(owner, [Tier.MTM, Tier.ARCHIVE]))
    return Stats(
        stm_pages=recent,
        mtm_segments=census.of(Kind.SEGMENT, Tier.MTM) - ended[Tier.MTM],
        mtm_pages=placed,
        archived_segments=census.of(Kind.SEGMENT, Tier.ARCHIVE) - ended[Tier.ARCHIVE],
        archived_pages=census.of(Kind.PAGE, Tier.ARCHIVE),
        user_facts=len(people.user.facts),
        agent_facts=len(people.agent.facts),
        traits=len(people.user.traits) + len(people.agent.traits),
        profile_fields=len(people.user.profile) + len(people.agent.profile),
        jobs_waiting=len(known) - dead_known - planned,
        jobs_planned=planned,
        jobs_dead=dead,
        jobs_unknown=len(jobs) - len(known) - (dead - dead_known),
        rejected={} if is_part else rejections(owner),
        embedder=embedder,
        facts=Tally() if is_part else facts,
        tuning=explained(settings, None if is_part else noted(owner)),
    )


def visited(recalled: Recall) -> list[str]:
    """The pages and segments of this memory that a search retrieved.

    These are pages, their segments, and the segments that the search chose or returned. N_visit of the MemoryOS paper
    (equation 4) counts how often a segment is retrieved, whether or not one of its pages is among the best.
    """
    own = [hit for hit in (*recalled.hits, *recalled.segments) if hit.mount is None]
    homes = (hit.segment for hit in own if hit.segment)
    return list(dict.fromkeys([*(hit.id for hit in own), *homes, *recalled.chosen]))


def visited_facts(recalled: Recall) -> dict[Scope, list[str]]:
    """The facts that a search retrieved, by their owner: agents may share them."""
    found: dict[Scope, list[str]] = {}
    for hit in (*recalled.user_facts, *recalled.agent_facts):
        if hit.mount is None:
            found.setdefault(hit.cube.scope.owner, []).append(hit.id)
    return found
