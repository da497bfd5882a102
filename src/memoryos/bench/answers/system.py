"""Systems: ways to give a conversation to the same reader, ours and the baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from memoryos.bench.answers.question import ReaderQuestion
from memoryos.config import Settings
from memoryos.cube import Page, Turn
from memoryos.importers.dialogue import Conversation
from memoryos.kinds import Tier
from memoryos.memory_os import MemoryOS
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall.hit import Hit, Recall, Strategy
from memoryos.scope import Scope

RANKED_PAGES = 300  # of a ranking that fills a budget
LINE_TOKENS = 1  # a line break


class System(StrEnum):
    """The kind of context that the reader gets."""

    CONTEXT = "context"  # ours: what context() hands over within the budget
    HYBRID = "hybrid"  # our ranking of single turns, filled to the budget
    BM25 = "bm25"  # turns by exact words, filled to the budget
    DENSE = "dense"  # turns by cosine, filled to the budget
    TWO_STAGE = "two_stage"  # all that the paper's search finds with the paper's values, whatever it takes
    FULL = "full"  # the whole conversation, its latest part if the reader's window is smaller
    NONE = "none"  # nothing: what the reader guesses
    NO_STM = "-stm"  # context() without the pages in STM, which nothing else brings back
    NO_MTM = "-mtm"  # context() without MTM and without what was evicted from it
    NO_LPM = "-lpm"  # context() without profile, traits and facts
    NO_CHAIN = "-chain"  # the paper's search without the summaries of dialogue chains, which context() has no use for


COMPARED = (System.CONTEXT, System.HYBRID, System.BM25, System.DENSE, System.TWO_STAGE, System.FULL)
ABLATIONS = (System.NO_STM, System.NO_MTM, System.NO_LPM, System.NO_CHAIN, System.NONE)

_TIERS: Mapping[System, Sequence[Tier]] = {
    System.CONTEXT: (),
    System.NO_STM: (Tier.MTM, Tier.LPM, Tier.ARCHIVE),
    System.NO_MTM: (Tier.STM, Tier.LPM),
    System.NO_LPM: (Tier.STM, Tier.MTM, Tier.ARCHIVE),
}


@dataclass(frozen=True, slots=True)
class Budgets:
    """Token budgets of contexts."""

    tokens: int  #: of context
    window: int  #: of the whole conversation
    pages: int  #: that the paper's search brings back: 10 for LoCoMo, 5 for GVD


def paper_settings(settings: Settings, pages: int) -> Settings:
    """The settings with the values of the MemoryOS paper, section 4.1, and nothing that tunes or repairs itself."""
    return settings.model_copy(
        update={
            "self_tuning": False,
            "self_repair": False,
            "short_term_capacity": 7,
            "mid_term_capacity": 200,
            "knowledge_capacity": 100,
            "segment_threshold": 0.6,
            "heat_threshold": 5.0,
            "recency_seconds": 1e7,
            "recall_segments": 5,
            "recall_pages": pages,
            "keyword_weight": 0.0,
            "recall_facts": 10,
            "extract_within_seconds": None,
            "recent_within_seconds": None,
        }
    )


@dataclass(frozen=True)
class Contexts:
    """The contexts of one store that holds all the conversations."""

    memory: MemoryOS
    conversations: Mapping[str, Conversation]
    budgets: Budgets
    _whole: dict[str, list[tuple[Turn, int]]] = field(default_factory=dict)  # turns with their tokens

    def of(self, system: System, asked: ReaderQuestion) -> str:
        """The context of the system."""
        if system in _TIERS:
            return self._context(asked, _TIERS[system])
        if system in (System.TWO_STAGE, System.NO_CHAIN):
            found = self._search(asked, Strategy.TWO_STAGE, self.budgets.pages)
            return found_text(found, chains=system is System.TWO_STAGE)
        if system is System.FULL:
            return self._full(asked)
        if system is System.NONE:
            return ""
        ranking = self._search(asked, Strategy(system.value), RANKED_PAGES).turns
        return _filled([hit.turn for hit in ranking], self.budgets.tokens)

    def _context(self, asked: ReaderQuestion, tiers: Sequence[Tier]) -> str:
        scope = Scope(user=asked.conversation)
        return self.memory.of(scope).context(asked.text, tokens=self.budgets.tokens, as_of=asked.at, tiers=tiers).text

    def _search(self, asked: ReaderQuestion, strategy: Strategy, pages: int) -> Recall:
        scope = Scope(user=asked.conversation)
        as_of = None if strategy is Strategy.TWO_STAGE else asked.at  # the paper has no past
        return self.memory.of(scope).search(asked.text, strategy=strategy, pages=pages, as_of=as_of)

    def _full(self, asked: ReaderQuestion) -> str:
        """The latest turns that fit into the window, in order."""
        taken: list[Turn] = []
        room = self.budgets.window
        for turn, cost in reversed(self._counted(asked.conversation)):
            if asked.at and turn.at and turn.at > asked.at:
                continue
            if cost > room:
                break
            taken.append(turn)
            room -= cost
        return _lines(reversed(taken))

    def _counted(self, name: str) -> list[tuple[Turn, int]]:
        if name not in self._whole:
            turns = [turn for session in self.conversations[name].sessions for turn in session.turns]
            self._whole[name] = [(turn, _cost(turn)) for turn in turns]
        return self._whole[name]


def found_text(found: Recall, *, chains: bool = True) -> str:
    """The result of the paper's search: profile, knowledge, pages with the summaries of their chains, STM."""
    retrieved = [hit for hit in found.hits if hit not in found.recent]
    sections = {
        "User profile": [cube.text for cube in (*found.profile, *found.traits)],
        "User knowledge": [_dated(hit) for hit in found.user_facts],
        "Assistant knowledge": [_dated(hit) for hit in found.agent_facts],
        "Retrieved pages": _page_lines(retrieved),
        "Conversation chain overview": _chain_lines(retrieved) if chains else [],
        "Recent dialogue": _page_lines(found.recent),
    }
    return "\n\n".join("\n".join([f"## {title}", *lines]) for title, lines in sections.items() if lines)


def transcript(turns: Sequence[Turn]) -> str:
    """The turns with times and speakers, one per line."""
    return _lines(turns)


def _filled(ranking: Sequence[Turn], budget: int) -> str:
    """The best turns that fit into the budget, in the order of time; one that does not fit is passed over."""
    taken = []
    for turn in ranking:
        cost = _cost(turn)
        if cost <= budget:
            taken.append(turn)
            budget -= cost
    return _lines(sorted(taken, key=_time))


def _page_lines(hits: Iterable[Hit]) -> list[str]:
    pages = [hit.cube.payload for hit in hits if isinstance(hit.cube.payload, Page)]
    return [_line(turn) for turn in sorted((turn for page in pages for turn in page.turns), key=_time)]


def _chain_lines(hits: Iterable[Hit]) -> list[str]:
    """Each chain's summary once; pages of one chain carry the summary of all that went before."""
    pages = [hit.cube.payload for hit in hits if isinstance(hit.cube.payload, Page)]
    return list(dict.fromkeys(page.chain_summary for page in pages if page.chain_summary))


def _dated(hit: Hit) -> str:
    return f"[{hit.at:%Y-%m-%d}] {hit.text}"


def _lines(turns: Iterable[Turn]) -> str:
    return "\n".join(map(_line, turns))


def _line(turn: Turn) -> str:
    when = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
    return f"{when}{turn.speaker or turn.role.value}: {turn.words}"


def _cost(turn: Turn) -> int:
    return count_tokens(_line(turn)) + LINE_TOKENS


def _time(turn: Turn) -> datetime:
    return turn.at or datetime.min.replace(tzinfo=UTC)
