"""Loading: adds what a reader returned to a memory, through its public operations.

Loading the same source again adds nothing: turns are known by the ids they have in it, also after they expired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from memoryos.clock import system_clock
from memoryos.cube import MemCube, Page, Turn
from memoryos.importers.dialogue import Conversation
from memoryos.importers.memoryos_folder import LegacyMemory, LegacyPage
from memoryos.kinds import Origin, Role, Subject
from memoryos.memory_os import MemoryOS
from memoryos.operation.intake.ingest import checked_turn
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Loaded:
    """Counts of what was added."""

    turns: int = 0
    pages: int = 0
    known: int = 0  #: turns that had been loaded before


def load_conversation(
    store: MemoryOS, conversation: Conversation, progress: Callable[[int], None] | None = None
) -> Loaded:
    """Add a conversation session by session; `progress` is told the turns of each."""
    owner = Scope(user=conversation.user, agent=conversation.agent)
    _check(store, conversation)
    said = [turn.source_id for session in conversation.sessions for turn in session.turns if turn.source_id]
    known = known_sources(store, owner) | set(store.of(owner).pages.swept(said))
    turns = pages = old = 0
    for session in conversation.sessions:
        fresh = [turn for turn in session.turns if turn.source_id is None or turn.source_id not in known]
        scope = Scope(user=conversation.user, agent=conversation.agent, session=session.name)
        if fresh:
            pages += len(store.of(scope).add_many(fresh, origin=Origin.IMPORT))
        turns += len(fresh)
        old += len(session.turns) - len(fresh)
        if progress:
            progress(len(session.turns))
    return Loaded(turns, pages, old)


def _check(store: MemoryOS, conversation: Conversation) -> None:
    """Check all turns before any is stored. Raises InvalidInput."""
    now = system_clock()
    for session in conversation.sessions:
        for number, turn in enumerate(session.turns, 1):
            place = f"{conversation.user}, {session.name}, {turn.source_id or f'turn {number}'}"
            checked_turn(turn, now=now, limit=store.settings.max_text_chars, field=place)


def load_legacy(store: MemoryOS, legacy: LegacyMemory, *, shared_assistant: bool) -> Loaded:
    """Add all that the public MemoryOS code kept for one user: pages, knowledge and profile.

    Segments are formed anew from the pages. What the assistant learned is left out when other users
    share the assistant (`shared_assistant`): in that format nobody can tell whose words it quotes.
    A time that lies ahead becomes now: the format has no zones, and the folder may come from another one.
    The pages go in last: when they are there, all is, and to load again what came before them is harmless.
    """
    scope = Scope(user=legacy.user, agent=legacy.assistant)
    now = system_clock()
    if legacy.profile:
        store.of(scope).profile.set("summary", legacy.profile, subject=Subject.USER, origin=Origin.IMPORT)
    agent_facts = () if shared_assistant else legacy.agent_facts
    for subject, facts in ((Subject.USER, legacy.user_facts), (Subject.AGENT, agent_facts)):
        for fact in facts:
            said_at = min(fact.timestamp, now)
            store.of(scope).facts.add(fact.text, subject=subject, at=said_at, origin=Origin.IMPORT)
    said = [turn for page in legacy.pages for turn in _legacy_turns(page, now)]
    expired = store.of(scope).pages.swept([turn.source_id for turn in said if turn.source_id])
    known = known_sources(store, scope) | set(expired)
    turns = [turn for turn in said if turn.source_id not in known]
    pages = len(store.of(scope).add_many(turns, origin=Origin.IMPORT)) if turns else 0
    return Loaded(len(turns), pages, len(said) - len(turns))


def known_sources(store: MemoryOS, scope: Scope) -> set[str]:
    """The source ids of every turn the scope holds."""
    return {turn.source_id for page in store.of(scope).pages.list() for turn in _turns(page) if turn.source_id}


def _turns(page: MemCube) -> tuple[Turn, ...]:
    return page.payload.turns if isinstance(page.payload, Page) else ()


def _legacy_turns(page: LegacyPage, now: datetime) -> list[Turn]:
    said_at = min(page.timestamp, now)
    said = [(Role.USER, page.user_input, "q"), (Role.ASSISTANT, page.agent_response, "r")]
    return [
        Turn(role=role, text=text, at=said_at, source_id=f"{_legacy_id(page)}#{mark}")
        for role, text, mark in said
        if text.strip()
    ]


def _legacy_id(page: LegacyPage) -> str:
    """The page's id; short-term pages have none, so it is made from their words."""
    content = f"{page.timestamp.isoformat()}\n{page.user_input}\n{page.agent_response}"
    return page.page_id or f"stm_{sha256(content.encode()).hexdigest()[:16]}"
