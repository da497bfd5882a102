"""How far segments match the sessions, and in LoCoMo the events, that their pages come from; before and after repair.

A session is no topic: a topic comes back in many of them, and one has several. So no memory can reach 1, and what
counts is the difference. LoCoMo lists the events that were talked of in each session but not in which turns: a page is
counted for the event of its session with which it shares the largest part of the words; pages that share none with
any are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, TypeAdapter

from memoryos.bench.agreement import Agreement, agreement
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.importers.dialogue import Conversation
from memoryos.importers.gvd import read_gvd
from memoryos.importers.load import load_conversation
from memoryos.importers.locomo import read_locomo
from memoryos.importers.source import Text, read_json
from memoryos.language.words import keywords, stems, words
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import load_embedder
from memoryos.operation.maintenance.repairer import RepairReport
from memoryos.regex import regex
from memoryos.scope import Scope

Events = Mapping[str, Sequence[frozenset[str]]]  # by session: the stems of each event's words

_FIX = "Pass a LoCoMo file: samples with sample_id and event_summary"
_EVENTS_OF = regex(r"events_(session_\d+)")
_WORDS = 64  # of an event or a page that are compared: all but those of very long ones


@dataclass(frozen=True, slots=True)
class Matched:
    """Agreement of segments with sessions or events; means over the conversations."""

    sessions: Agreement | None
    events: Agreement | None  #: None where the data names none


@dataclass(frozen=True, slots=True)
class PurityReport:
    """The results of a run."""

    before: Matched
    after: Matched
    repairs: tuple[RepairReport, ...]  #: by conversation
    embedder: str


def measure_locomo(path: Path, settings: Settings, progress: Progress = unwatched) -> PurityReport:
    """Import a LoCoMo file and repair it. Raises InvalidInput for a broken file."""
    return measure(read_locomo(path), settings, read_events(path), progress)


def measure_gvd(path: Path, settings: Settings, progress: Progress = unwatched) -> PurityReport:
    """Import a GVD file and repair it. Raises InvalidInput for a broken file."""
    return measure(read_gvd(path), settings, {}, progress)


def measure(
    conversations: Sequence[Conversation],
    settings: Settings,
    events: Mapping[str, Events],
    progress: Progress = unwatched,
) -> PurityReport:
    """Import the conversations without repair, then repair each, in a temporary store."""
    embedder = load_embedder(settings.embedder, settings)
    quiet = settings.model_copy(update={"self_repair": False})
    before, after, repairs = [], [], []
    with (
        TemporaryDirectory(prefix="memoryos-bench-") as folder,
        MemoryOS.open(Path(folder) / "purity.db", settings=quiet, embedder=embedder) as memory,
    ):
        for number, conversation in enumerate(conversations, 1):
            scope = Scope(user=conversation.user, agent=conversation.agent)
            load_conversation(memory, conversation)
            memory.wait()
            named = events.get(conversation.user, {})
            before.append(_matched(memory, scope, named))
            repairs.append(memory.of(scope).upkeep.repair())
            after.append(_matched(memory, scope, named))
            progress("conversations", number, len(conversations))
    return PurityReport(_mean(before), _mean(after), tuple(repairs), embedder.name)


def read_events(path: Path) -> dict[str, Events]:
    """By conversation of a LoCoMo file, the events of its sessions; none where the file has no summary of them."""
    return {sample.sample_id: _stems_by_session(sample.event_summary) for sample in read_json(path, _SHAPE, fix=_FIX)}


class _EventSample(BaseModel):
    sample_id: Text
    event_summary: dict[str, dict[str, list[Text] | Text]] = {}


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


_SHAPE = TypeAdapter(Annotated[list[_EventSample], BeforeValidator(_as_list)])


def _stems_by_session(summary: Mapping[str, Mapping[str, list[str] | str]]) -> Events:
    """Who the speakers are tells no event from another: their names are left out."""
    names = [name for day in summary.values() for name, told in day.items() if isinstance(told, list)]
    people = stems(word for name in names for word in words(name))
    return {
        found[1]: [_said(text) - people for told in day.values() if isinstance(told, list) for text in told]
        for key, day in summary.items()
        if (found := _EVENTS_OF.fullmatch(key))
    }


def _said(text: str) -> frozenset[str]:
    return stems(keywords(text, limit=_WORDS))


def _matched(memory: MemoryOS, scope: Scope, events: Events) -> Matched:
    homes = {page: view.cube.id for view in memory.of(scope).segments.list(archive=True) for page in view.page_ids}
    pages = [page for page in memory.of(scope).pages.list() if page.id in homes]
    told = [(page, event) for page in pages if (event := _event(page, events)) is not None]
    return Matched(
        agreement([homes[page.id] for page in pages], [page.scope.session for page in pages]),
        agreement([homes[page.id] for page, _ in told], [event for _, event in told]),
    )


def _event(page: MemCube, events: Events) -> Hashable:
    """The event that the page is counted for: its session and number; None when there is none."""
    session = page.scope.session
    said = _said(page.meaning)
    shares = [len(said & event) / len(event) if event else 0.0 for event in events.get(session or "", ())]
    return (session, shares.index(max(shares))) if shares and max(shares) > 0 else None


def _mean(found: Sequence[Matched]) -> Matched:
    return Matched(_mean_of([one.sessions for one in found]), _mean_of([one.events for one in found]))


def _mean_of(found: Sequence[Agreement | None]) -> Agreement | None:
    """The mean of each measure; groups, classes and things are counted together."""
    known = [one for one in found if one]
    if not known:
        return None
    return Agreement(
        purity=fmean(one.purity for one in known),
        pairwise_f1=fmean(one.pairwise_f1 for one in known),
        nmi=fmean(one.nmi for one in known),
        groups=sum(one.groups for one in known),
        classes=sum(one.classes for one in known),
        things=sum(one.things for one in known),
    )
