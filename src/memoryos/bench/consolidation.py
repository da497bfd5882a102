"""What consolidation takes and gives: conversations are lived through day by day, and read by rules or by a model.

The model is scripted (`scripted_reader.py`): what is measured is how often it is asked, with how many tokens, and what
becomes of its mistakes; not how well any model reads. Each conversation has a store of its own, whose clock shows the
time at which each session was held.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.scripted_reader import ScriptedReader
from memoryos.config import ExtractorKind, Settings
from memoryos.importers.dialogue import Conversation, Session
from memoryos.kinds import Origin
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import Embedder, load_embedder
from memoryos.operation.knowledge.tally import Tally
from memoryos.scope import Scope


class ReaderKind(StrEnum):
    """The readers of pages: rules or a model."""

    RULES = "rules"
    SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The costs and results of reading conversations; they can be added."""

    pages: int = 0
    read: int = 0  #: of these: the others are still in STM
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    facts: Tally = field(default_factory=Tally)
    rejected: Mapping[str, int] | None = None  #: by flaw
    known: int = 0  #: facts, traits and fields that are held at the end
    dead_jobs: int = 0
    seconds: float = 0.0

    def __add__(self, other: Consolidated) -> Consolidated:
        return Consolidated(
            self.pages + other.pages,
            self.read + other.read,
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.facts + other.facts,
            Counter(self.rejected or {}) + Counter(other.rejected or {}),
            self.known + other.known,
            self.dead_jobs + other.dead_jobs,
            self.seconds + other.seconds,
        )

    @property
    def calls_per_page(self) -> float:
        """Model calls for each page that was added."""
        return self.calls / self.pages if self.pages else 0.0

    @property
    def prompt_tokens_per_page(self) -> float:
        """Tokens of prompts for each page that was added."""
        return self.prompt_tokens / self.pages if self.pages else 0.0


class _Clock:
    """The time in the conversation; it never goes back."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def at_least(self, moment: datetime) -> None:
        self.now = max(self.now, moment)


def measure(
    conversations: Sequence[Conversation], reader: ReaderKind, settings: Settings, progress: Progress = unwatched
) -> Consolidated:
    """Live through the conversations with this reader."""
    embedder = load_embedder(settings.embedder, settings)
    kind = ExtractorKind.MODEL if reader is ReaderKind.SCRIPTED else ExtractorKind.RULES
    chosen = settings.model_copy(update={"extractor": kind})
    total = Consolidated()
    for number, conversation in enumerate(conversations, 1):
        total += _lived(conversation, chosen, embedder)
        progress(f"{reader.value}: conversations", number, len(conversations))
    return total


def _lived(conversation: Conversation, settings: Settings, embedder: Embedder) -> Consolidated:
    chat, clock = ScriptedReader(), _Clock(_begin(conversation.sessions[0]))
    owner = Scope(user=conversation.user, agent=conversation.agent)
    with TemporaryDirectory(prefix="memoryos-bench-") as folder:
        path = Path(folder) / "consolidation.db"
        start = time.perf_counter()
        with MemoryOS.open(path, settings=settings, embedder=embedder, chat=chat, clock=clock) as memory:
            for session in conversation.sessions:
                _hold(memory, session, owner, clock)
            clock.at_least(clock.now + timedelta(seconds=settings.extract_within_seconds or 0))
            memory.of(owner).jobs.run()
            seconds = time.perf_counter() - start
            return _report(memory, owner, chat, seconds)


def _hold(memory: MemoryOS, session: Session, owner: Scope, clock: _Clock) -> None:
    """Add a session at its time, and let pass the time that hot pages wait for others."""
    clock.at_least(max(turn.at for turn in session.turns if turn.at))
    memory.of(owner).jobs.run()  # what became due since the session before
    memory.of(replace(owner, session=session.name)).add_many(session.turns, origin=Origin.IMPORT)
    memory.wait()
    clock.at_least(clock.now + timedelta(seconds=memory.settings.batch_seconds))
    memory.of(owner).jobs.run()


def _report(memory: MemoryOS, owner: Scope, chat: ScriptedReader, seconds: float) -> Consolidated:
    stats = memory.of(owner).stats()
    spent = memory.of(owner).log.usage()
    views = memory.of(owner).segments.list(archive=True)
    waiting = sum(view.cube.behaviour.interactions for view in views)
    profile = memory.of(owner).profile.get()
    known = sum(len(who.facts) + len(who.traits) + len(who.profile) for who in (profile.user, profile.agent))
    return Consolidated(
        pages=len(memory.of(owner).pages.list()),
        read=sum(len(view.page_ids) for view in views) - waiting,
        calls=chat.calls,
        prompt_tokens=chat.prompt_tokens,
        completion_tokens=sum(one.completion_tokens for one in spent),
        facts=stats.facts,
        rejected=stats.rejected,
        known=known,
        dead_jobs=stats.jobs_dead,
        seconds=seconds,
    )


def _begin(session: Session) -> datetime:
    return min(turn.at for turn in session.turns if turn.at)
