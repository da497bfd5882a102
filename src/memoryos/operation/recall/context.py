"""Context: what was recalled, as text under a token budget.

What changes least comes first (profile, traits, facts), so that a provider's prompt cache can hit;
then older pages in the order they happened, then the recent ones. Nothing appears twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from memoryos.cube import Level, MemCube, Page, Subject, Trait
from memoryos.operation.recall.hit import Recall

CountTokens = Callable[[str], int]

LINE_TOKENS = 1  # a line break


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


PROFILE, FACTS, AGENT, EARLIER, RECENT = (
    "User profile",
    "User facts",
    "Agent",
    "Earlier conversation",
    "Recent conversation",
)
_SECTIONS = (PROFILE, FACTS, AGENT, EARLIER, RECENT)


def persona_text(recalled: Recall) -> str:
    """The profile and the marked traits: what hardly changes from one question to the next."""
    lines = {line.cube.id: line for line in [*_profile(recalled), *_traits(recalled)]}
    return "\n\n".join(_sections(lines.values()))


def pack(
    recalled: Recall, budget_tokens: int, count_tokens: CountTokens, *, recent: bool = True, persona: bool = True
) -> Context:
    """Fill the budget in order of worth, then lay the text out in order of stability and time.

    The profile goes in first, then pages and facts by turns, best first. A line that does not fit is passed over,
    so that a long page cannot keep shorter ones out. `recent=False` leaves STM out, and `persona=False` profile
    and traits, for prompts that carry them elsewhere.
    """
    chosen: dict[str, _Line] = {}
    room = budget_tokens - sum(count_tokens(f"## {section}") + LINE_TOKENS for section in _SECTIONS)
    for line in _by_worth(recalled, recent=recent, persona=persona):
        cost = count_tokens(line.text) + LINE_TOKENS
        if line.cube.id not in chosen and cost <= room:
            chosen[line.cube.id] = line
            room -= cost
    text = "\n\n".join(_sections(chosen.values()))
    cubes = [line.cube for line in chosen.values()]
    return Context(
        text=text,
        tokens=count_tokens(text),
        ids=tuple(cube.id for cube in cubes),
        source_ids=tuple(source for cube in cubes for source in cube.descriptive.source_ids),
    )


def _by_worth(recalled: Recall, *, recent: bool, persona: bool) -> Iterator[_Line]:
    """Every line that could go in, the most useful first."""
    stm = {hit.id for hit in recalled.recent}
    if persona:
        yield from _profile(recalled)
    if recent:
        for hit in reversed(recalled.recent):
            yield _Line(RECENT, page_text(hit.cube), hit.cube)
    pages = [_Line(EARLIER, page_text(hit.cube), hit.cube) for hit in recalled.hits if hit.id not in stm]
    facts = [_Line(FACTS, dated(hit.cube), hit.cube) for hit in recalled.user_facts]
    agent = [_Line(AGENT, dated(hit.cube), hit.cube) for hit in recalled.agent_facts]
    yield from _in_turns(pages, facts, agent, list(_traits(recalled)) if persona else [])


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
            found.sort(key=lambda line: (line.cube.descriptive.event_at, line.cube.id))
            yield "\n".join([f"## {section}", *(line.text for line in found)])


def dated(cube: MemCube) -> str:
    """A fact with the day it was said."""
    return f"[{cube.descriptive.event_at:%Y-%m-%d}] {cube.text}"


def page_text(cube: MemCube) -> str:
    """A page as one line per turn, each with its time."""
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    return "\n".join(
        f"[{turn.at or cube.descriptive.event_at:%Y-%m-%d %H:%M}] {turn.speaker or turn.role.value}: {turn.words}"
        for turn in turns
    )
