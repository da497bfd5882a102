"""Memory text: memories as text for a model: quoted as in a context, within a fence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memoryos.cube import MemCube, Page
from memoryos.interface.mcp.tool_results import SHOWN
from memoryos.kinds import State
from memoryos.language.calendar import spoken
from memoryos.language.memory_notes import TAG
from memoryos.language.quotation import fenced, item, one_line, quotation, said
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.context import dated
from memoryos.operation.recall.hit import Hit, TurnHit
from memoryos.operation.recall.line import Section, hit_line, whole_turn
from memoryos.operation.recall.overview import Profile

LONGEST = 2_000  # characters of one memory among others
_CUT = " …"
_SAID = ("text", "title", "source")  # fields in the words of somebody


def in_fence(text: str) -> str:
    """Stored text within the fence that the descriptions of the tools name."""
    return fenced(TAG, text)


def listed_text(cubes: Iterable[MemCube], nothing: str, *, whole: bool = False) -> str:
    """Memories, each under its id."""
    texts = [f"{_head(cube)}\n{_cut(_body(cube), whole=whole)}" for cube in cubes]
    return in_fence("\n\n".join(texts)) if texts else nothing


def hits_text(hits: Iterable[Hit], turns: Sequence[TurnHit], nothing: str) -> str:
    """Found memories, each under its id and relevance; of a long one, the passages that match."""
    texts = [f"{_head(hit.cube, hit.relevance)}\n{_cut(_found(hit, turns))}" for hit in hits]
    return in_fence("\n\n".join(texts)) if texts else nothing


def profile_text(profile: Profile) -> str:
    """What is known about the user and the assistant."""
    parts = [
        f"{section.value}\n" + "\n".join(item(dated(cube)) for cube in cubes)
        for section, persona in ((Section.USER, profile.user), (Section.AGENT, profile.agent))
        if (cubes := (*persona.profile, *persona.traits, *persona.facts))
    ]
    return in_fence("\n\n".join(parts)) if parts else "Nothing is known yet."


def quoted_data(value: Any) -> Any:
    """A document whose texts, keys too, are on one line each and open no fence, message or heading."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {one_line(str(name)): quoted_data(one) for name, one in value.items()}
    return [*map(quoted_data, value)] if isinstance(value, list | tuple) else value


def memory_document(value: MemCube | Hit, turns: Sequence[TurnHit] = (), *, whole: bool = False) -> dict[str, Any]:
    """The fields of a memory or hit that a model needs, what it says in a fence; a long text is cut."""
    told = {name: one for name, one in value.to_dict().items() if name in SHOWN and one not in (None, [], "")}
    told = {**quoted_data(told), "text": _quoted(value.cube if isinstance(value, Hit) else value)}
    if not whole and len(told["text"]) > LONGEST:
        told["text"] = told["text"][:LONGEST] + _CUT
        passages = [in_fence(quotation(turn.quoted)) for turn in turns if turn.page_id == told["id"]]
        told |= {"passages": passages} if passages else {}
    return {**told, **{name: in_fence(told[name]) for name in _SAID if name in told}}


def _quoted(cube: MemCube) -> str:
    if isinstance(cube.payload, Page):
        return "\n".join(said(turn.speaker, turn.role.value, turn.words) for turn in cube.payload.turns)
    return quotation(cube.text)


def _head(cube: MemCube, relevance: float | None = None) -> str:
    parts = [cube.kind.value, spoken(cube.descriptive.event_at)]
    parts += [f"version {cube.number}"] if cube.number > 1 else []
    parts += ["frozen"] if cube.state is State.FROZEN else []
    parts += [] if relevance is None else [f"relevance {relevance:.2f}"]
    return f"{cube.id} ({', '.join(parts)})"


def _body(cube: MemCube) -> str:
    if isinstance(cube.payload, Page):
        return "\n".join(whole_turn(Section.TALK, cube, number).text for number in range(len(turns_of(cube))))
    return item(cube.text)


def _found(hit: Hit, turns: Sequence[TurnHit]) -> str:
    if len(hit.text) <= LONGEST:
        return _body(hit.cube)
    return "\n".join(hit_line(Section.TALK, turn).text for turn in turns if turn.page_id == hit.id) or _body(hit.cube)


def _cut(text: str, *, whole: bool = False) -> str:
    return text if whole or len(text) <= LONGEST else f"{text[:LONGEST].rstrip()}{_CUT}"
