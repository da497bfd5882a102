"""Context: what was recalled, as text under a token budget.

What changes least comes first (profile, traits, facts), so that a provider's prompt cache can hit;
then older pages in the order they happened, then the recent ones. Nothing appears twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from memoryos.cube import Level, MemCube, Subject, Trait, Turn
from memoryos.operation.passages import turns_of
from memoryos.operation.recall.hit import Recall, TurnHit

CountTokens = Callable[[str], int]

LINE_TOKENS = 1  # a line break

_WHOLE = -1  # in the place of where a passage begins


@dataclass(frozen=True, slots=True)
class Context:
    """Text for a prompt, and what went into it."""

    text: str
    tokens: int
    ids: tuple[str, ...]  #: the cubes in the text
    source_ids: tuple[str, ...]  #: their ids in the source data


@dataclass(frozen=True, slots=True)
class _Line:
    section: str
    text: str
    cube: MemCube
    turn: int = 0  #: index in the page
    start: int = 0  #: of the passage in the turn's words
    is_part: bool = False  #: whether the turn says more

    @property
    def key(self) -> tuple[str, int, int]:
        """What it is a line of: nothing is told twice."""
        return self.cube.id, self.turn, self.start if self.is_part else _WHOLE

    @property
    def whole(self) -> tuple[str, int, int]:
        """The key of the line that tells all of it."""
        return self.cube.id, self.turn, _WHOLE

    @property
    def at(self) -> datetime:
        """When it happened."""
        turns = turns_of(self.cube)
        return (turns[self.turn].at if turns else None) or self.cube.descriptive.event_at

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Its ids in the source data."""
        turns = turns_of(self.cube)
        if not turns:
            return self.cube.descriptive.source_ids
        source = turns[self.turn].source_id
        return (source,) if source else ()


PROFILE, FACTS, AGENT, KNOWLEDGE, EARLIER, RECENT = (
    "User profile",
    "User facts",
    "Agent",
    "Shared knowledge",
    "Earlier conversation",
    "Recent conversation",
)
_SECTIONS = (PROFILE, FACTS, AGENT, KNOWLEDGE, EARLIER, RECENT)


def persona_text(recalled: Recall) -> str:
    """The profile and the marked traits: what hardly changes from one question to the next."""
    lines = {line.key: line for line in [*_profile(recalled), *_traits(recalled)]}
    return "\n\n".join(_sections(lines.values()))


def pack(
    recalled: Recall, budget_tokens: int, count_tokens: CountTokens, *, recent: bool = True, persona: bool = True
) -> Context:
    """Fill the budget in order of worth, then lay the text out in order of stability and time.

    The profile goes in first, then what was said and facts alternately, best first; a page's turns are weighed each
    for itself. A line that does not fit is passed over, so that a long turn cannot keep shorter ones out.
    `recent=False` leaves STM out, and `persona=False` profile and traits, for prompts that carry them elsewhere.
    """
    chosen: dict[tuple[str, int, int], _Line] = {}
    lines = list(_by_worth(recalled, recent=recent, persona=persona))
    room = budget_tokens - sum(count_tokens(f"## {section}") + LINE_TOKENS for section in _titles(lines))
    for line in lines:
        cost = count_tokens(line.text) + LINE_TOKENS
        if line.key not in chosen and line.whole not in chosen and cost <= room:
            chosen[line.key] = line
            room -= cost
    text = "\n\n".join(_sections(chosen.values()))
    return Context(
        text=text,
        tokens=count_tokens(text),
        ids=tuple(dict.fromkeys(line.cube.id for line in chosen.values())),
        source_ids=tuple(dict.fromkeys(source for line in chosen.values() for source in line.source_ids)),
    )


def _titles(lines: Iterable[_Line]) -> list[str]:
    """The titles for which room is kept: that of what others know only when there is something."""
    has_mounts = any(line.section == KNOWLEDGE for line in lines)
    return [section for section in _SECTIONS if section != KNOWLEDGE or has_mounts]


def _by_worth(recalled: Recall, *, recent: bool, persona: bool) -> Iterator[_Line]:
    """Every line that could go in, the most useful first."""
    stm = {hit.id for hit in recalled.recent}
    if persona:
        yield from _profile(recalled)
    if recent:
        for hit in reversed(recalled.recent):
            yield from (_turn_line(RECENT, hit.cube, index) for index in range(len(turns_of(hit.cube))))
    pages = [
        _hit_line(KNOWLEDGE if hit.mount else EARLIER, hit)
        for hit in recalled.turns
        if hit.is_part or hit.cube.id not in stm
    ]
    facts = [_Line(FACTS, dated(hit.cube), hit.cube) for hit in recalled.user_facts]
    agent = [_Line(AGENT, dated(hit.cube), hit.cube) for hit in recalled.agent_facts]
    known = [_Line(KNOWLEDGE, dated(hit.cube), hit.cube) for hit in recalled.knowledge]
    yield from _in_turns(pages, facts, known, agent, list(_traits(recalled)) if persona else [])


def _profile(recalled: Recall) -> Iterator[_Line]:
    for cube in recalled.profile:
        yield _Line(PROFILE if cube.subject is Subject.USER else AGENT, cube.text, cube)


def _traits(recalled: Recall) -> Iterator[_Line]:
    for cube in recalled.traits:
        if _is_marked(cube):
            yield _Line(PROFILE, cube.text, cube)


def _is_marked(cube: MemCube) -> bool:
    """Whether a trait shows strongly enough to be worth a model's attention."""
    return isinstance(cube.payload, Trait) and cube.payload.level is not Level.LOW


def _in_turns(*queues: list[_Line]) -> Iterator[_Line]:
    """One of each in turn until all are used up."""
    for index in range(max(map(len, queues))):
        for queue in queues:
            if index < len(queue):
                yield queue[index]


def _sections(lines: Iterable[_Line]) -> Iterator[str]:
    by_section: dict[str, list[_Line]] = {}
    for line in lines:
        by_section.setdefault(line.section, []).append(line)
    for section in _SECTIONS:
        if found := by_section.get(section):
            found.sort(key=lambda line: (line.at, line.key))
            yield "\n".join([f"## {section}", *(line.text for line in found)])


def dated(cube: MemCube) -> str:
    """A fact with the day it was said."""
    return f"[{cube.descriptive.event_at:%Y-%m-%d}] {cube.text}"


def _turn_line(section: str, cube: MemCube, index: int) -> _Line:
    turn = turns_of(cube)[index]
    return _Line(section, _turn_text(cube, turn, turn.words), cube, index)


def _hit_line(section: str, hit: TurnHit) -> _Line:
    return _Line(section, _turn_text(hit.cube, hit.turn, hit.quoted), hit.cube, hit.index, hit.start, hit.is_part)


def _turn_text(cube: MemCube, turn: Turn, words: str) -> str:
    return f"[{turn.at or cube.descriptive.event_at:%Y-%m-%d %H:%M}] {turn.speaker or turn.role.value}: {words}"
