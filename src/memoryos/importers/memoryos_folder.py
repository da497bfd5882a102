"""Reader of the data folder that the public MemoryOS code (BAI-LAB/MemoryOS) writes.

That code has habits that must not become memory: it stores a page once per theme, stores the text of a
failed model call as an answer, and takes any text as a page's time. So each page is read once, error texts
are left out and counted, and a time that cannot be read is taken from a neighbour and counted.
All users of an assistant share its file: `agent_facts` may come from the dialogues of any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from memoryos.importers import memoryos_layout as layout
from memoryos.importers.source import to_utc

MODEL_FAILED = "Error: Could not get response from LLM."  # what that code stores when a model call fails

_TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyPage:
    """One exchange; either half may be empty."""

    page_id: str | None  #: None for short-term pages: they get an id when they leave the short term
    user_input: str
    agent_response: str
    timestamp: datetime
    meta_info: str = ""  #: summary of the chain of pages it belongs to
    keywords: tuple[str, ...] = ()
    pre_page: str | None = None  #: id of the page before it in the chain, which may be gone


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyFact:
    """One line of knowledge about the user or the agent."""

    text: str
    timestamp: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacySegment:
    """One topic; a page may belong to several."""

    id: str
    summary: str
    keywords: tuple[str, ...]
    page_ids: tuple[str, ...]
    visits: int  #: N_visit
    interactions: int  #: L_interaction
    created_at: datetime
    last_visit_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyMemory:
    """All that one user and one assistant have in the folder; times are in UTC."""

    user: str
    assistant: str
    pages: tuple[LegacyPage, ...]  #: each once; mid-term pages by time, then short-term pages by time
    segments: tuple[LegacySegment, ...]
    user_facts: tuple[LegacyFact, ...]
    agent_facts: tuple[LegacyFact, ...]
    profile: str | None
    profile_at: datetime | None  #: when the profile was last rewritten
    skipped: int  #: texts left out because they are the error message of a failed model call
    guessed_times: int  #: times that were missing or unreadable and come from a neighbour


def list_users(root: Path) -> tuple[str, ...]:
    """List the ids of all users in the folder, sorted."""
    return tuple(sorted(layout.owners(root, "users")))


def read_folder(root: Path, *, user: str, assistant: str, zone: tzinfo) -> LegacyMemory:
    """Read what the folder holds for this user and this assistant; its times are local to `zone`.

    A file that does not exist is empty, and so is an id that is not in the folder. Raises InvalidInput for
    a damaged file: reading it as empty would lose memory.
    """
    files = layout.read_files(root, user, assistant)
    return _Reading(zone, files.written_at).memory(files, user, assistant)


_Key = tuple[str | None, str, str]


class _Time(NamedTuple):
    at: datetime
    is_guessed: bool


@dataclass(slots=True)
class _Reading:
    """One pass over the files; counts what is left out or guessed."""

    zone: tzinfo
    last_resort: datetime  # for a time that has no neighbour
    pages: dict[_Key, LegacyPage] = field(default_factory=dict)  # of the mid-term memory
    skipped: int = 0
    guessed_times: int = 0

    def memory(self, files: layout.LayoutFiles, user: str, assistant: str) -> LegacyMemory:
        segments = tuple(self._segment(key, raw) for key, raw in files.mid_term.sessions.items())
        pages = self._in_order(files.short_term)
        user_facts = self._facts(files.user.knowledge_base)
        agent_facts = self._facts([*files.user.assistant_knowledge, *files.assistant.assistant_knowledge])
        profile, profile_at = self._profile(files.user.user_profiles.get(user, layout.FileProfile()))
        return LegacyMemory(
            user=user,
            assistant=assistant,
            pages=pages,
            segments=segments,
            user_facts=user_facts,
            agent_facts=agent_facts,
            profile=profile,
            profile_at=profile_at,
            skipped=self.skipped,
            guessed_times=self.guessed_times,
        )

    def _segment(self, key: str, raw: layout.FileSegment) -> LegacySegment:
        times = self._times(raw.details, _moment(raw.timestamp, self.zone) or self.last_resort)
        ids = [page.page_id or f"{key}#{number}" for number, page in enumerate(raw.details)]
        kept = [
            page_id
            for page_id, page, time in zip(ids, raw.details, times, strict=True)
            if self._keep(page_id, page, time)
        ]
        created_at = self._date(raw.timestamp, times[0].at if times else self.last_resort)
        return LegacySegment(
            id=key,
            summary=self._without_error(raw.summary),
            keywords=raw.summary_keywords,
            page_ids=tuple(dict.fromkeys(kept)),  # two themes of a page may have met in one segment
            visits=raw.visits,
            interactions=raw.interactions,
            created_at=created_at,
            last_visit_at=self._date(raw.last_visit_time, created_at),
        )

    def _keep(self, page_id: str, raw: layout.FilePage, time: _Time) -> bool:
        """Add the page, or what this copy of it adds; False when it holds no words."""
        key = _key(page_id, raw)
        if known := self.pages.get(key):
            keywords = tuple(dict.fromkeys(known.keywords + raw.page_keywords))
            page = replace(known, keywords=keywords, pre_page=known.pre_page or raw.pre_page)
        else:
            page = self._page(page_id, raw, time)
        self.pages[key] = page
        return _has_words(page)

    def _page(self, page_id: str | None, raw: layout.FilePage, time: _Time) -> LegacyPage:
        self.guessed_times += time.is_guessed
        return LegacyPage(
            page_id=page_id,
            user_input=raw.user_input,
            agent_response=self._without_error(raw.agent_response),
            timestamp=time.at,
            meta_info=self._without_error(raw.meta_info),
            keywords=raw.page_keywords,
            pre_page=raw.pre_page,
        )

    def _in_order(self, short_term: list[layout.FilePage]) -> tuple[LegacyPage, ...]:
        mid_term = sorted(self.pages.values(), key=_timestamp)
        recent = [raw for raw in short_term if _key(raw.page_id, raw) not in self.pages]
        times = self._times(recent, mid_term[-1].timestamp if mid_term else self.last_resort)
        latest = [self._page(raw.page_id, raw, time) for raw, time in zip(recent, times, strict=True)]
        return tuple(page for page in (*mid_term, *sorted(latest, key=_timestamp)) if _has_words(page))

    def _facts(self, lines: list[layout.KnowledgeLine]) -> tuple[LegacyFact, ...]:
        facts = []
        for line, time in zip(lines, self._times(lines, self.last_resort), strict=True):
            text = self._without_error(line.knowledge.lstrip().removeprefix("- ").strip())
            if not _says_nothing(text):
                facts.append(LegacyFact(text=text, timestamp=time.at))
                self.guessed_times += time.is_guessed
        return tuple(facts)

    def _profile(self, raw: layout.FileProfile) -> tuple[str | None, datetime | None]:
        text = self._without_error(raw.data.strip())
        return (None, None) if _says_nothing(text) else (text, self._date(raw.last_updated, self.last_resort))

    def _without_error(self, text: str) -> str:
        failed = text.strip() == MODEL_FAILED
        self.skipped += failed
        return "" if failed else text

    def _times(self, entries: Sequence[layout.FilePage | layout.KnowledgeLine], otherwise: datetime) -> list[_Time]:
        """Date each entry: its own time, else that of the entry before it, else the first one known."""
        moments = [_moment(entry.timestamp, self.zone) for entry in entries]
        known = next(filter(None, moments), otherwise)
        times = []
        for moment in moments:
            known = moment or known
            times.append(_Time(known, is_guessed=moment is None))
        return times

    def _date(self, text: JsonValue, otherwise: datetime) -> datetime:
        moment = _moment(text, self.zone)
        self.guessed_times += moment is None
        return moment or otherwise


def _moment(text: JsonValue, zone: tzinfo) -> datetime | None:
    """Read what that code writes, or ISO 8601 from its caller; None for any other text."""
    if not isinstance(text, str):
        return None
    for parse in (_as_written, datetime.fromisoformat):
        try:
            return to_utc(parse(text.strip()), zone)
        except (ValueError, OverflowError):
            continue
    return None


def _key(page_id: str | None, page: layout.FilePage) -> _Key:
    return page_id, page.user_input, page.agent_response  # ids are 32 bits: two pages may share one


def _as_written(text: str) -> datetime:
    return datetime.strptime(text, _TIME_FORMAT)


def _timestamp(page: LegacyPage) -> datetime:
    return page.timestamp


def _has_words(page: LegacyPage) -> bool:
    return bool(page.user_input.strip() or page.agent_response.strip())


def _says_nothing(text: str) -> bool:
    return text.strip().rstrip(".").lower() in {"", "none"}  # "None" is that code's answer for "nothing known"
