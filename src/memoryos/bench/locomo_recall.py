"""Recall on LoCoMo, or data of its shape: import the conversations, ask their questions, see what evidence comes back.

Every variant searches the same store, which only the public operations have touched: each conversation is a user
of one file, loaded in the order of time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.bench.asking import EvidenceQuestion, load, ranked, search_ms
from memoryos.bench.evidence import Question, QuestionSet, read_questions
from memoryos.bench.machine import rss_mb
from memoryos.bench.means import Summary, by_type
from memoryos.bench.metrics import Candidate
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.ranked_entries import candidates
from memoryos.bench.variants import Variant, whole, without_parts
from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.importers.locomo import read_locomo
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import load_embedder
from memoryos.mount import Mount
from memoryos.operation.recall.hit import Strategy
from memoryos.scope import Scope

ELSEWHERE = "elsewhere"  # the agent whose memory is mounted


@dataclass(frozen=True, slots=True)
class BenchCorpus:
    """The conversations and questions of a benchmark."""

    sha256: str  #: of the file
    conversations: tuple[Conversation, ...]
    turns: Mapping[str, Mapping[str, Candidate]]  #: by conversation, then by id
    questions: QuestionSet

    @property
    def asked(self) -> list[EvidenceQuestion]:
        """The questions, by the numbers of their categories; each turn of their evidence is a group."""
        return [self._asked(question) for question in self.questions.asked]

    def _asked(self, question: Question) -> EvidenceQuestion:
        turns = self.turns[question.conversation]
        evidence = [(turns[name],) for name in question.evidence]
        return EvidenceQuestion(question.conversation, question.text, str(question.category), evidence)


@dataclass(frozen=True, slots=True)
class VariantResult:
    """The results of one variant."""

    variant: Variant
    groups: Mapping[str, Summary]  #: "overall", then each category by its number
    search_ms: Mapping[str, float]  #: p50 and p95 of a search with the default number of pages


@dataclass(frozen=True, slots=True)
class RecallReport:
    """The results of a run."""

    results: Mapping[str, VariantResult]  #: by strategy, in the order they were asked for
    ablation: Mapping[str, VariantResult]  #: hybrid without a part, by that part; empty when it was not asked for
    ingest_s: float  #: until the work behind the writes was done too
    rss_mb: float | None  #: of this process, after the last search
    pages: int
    archived_pages: int  #: of these; they were evicted: two_stage leaves them out, the others search them
    embedder: str


def load_corpus(path: Path, names: Sequence[str] = ()) -> BenchCorpus:
    """Read a LoCoMo file, or only the named conversations of it.

    Raises InvalidInput for a broken file, an unknown name, or when no question can be asked.
    """
    conversations = chosen(read_locomo(path), names)
    turns = {conversation.user: candidates(conversation) for conversation in conversations}
    questions = read_questions(path, turns)
    if not questions.asked:
        raise InvalidInput(str(path), "has no question of category 1 to 4 with evidence", "Pass LoCoMo with its qa")
    return BenchCorpus(sha256(path.read_bytes()).hexdigest(), conversations, turns, questions)


def chosen(conversations: Sequence[Conversation], names: Sequence[str]) -> tuple[Conversation, ...]:
    """The named conversations, or all of them. Raises InvalidInput for an unknown name."""
    known = {conversation.user: conversation for conversation in conversations}
    for name in names:
        if name not in known:
            raise InvalidInput("--conversations", f"{name!r} is not in the file", f"Use some of: {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else tuple(conversations)


def run(
    corpus: BenchCorpus,
    strategies: Sequence[Strategy],
    settings: Settings,
    progress: Progress = unwatched,
    *,
    ablation: bool = False,
    place: str | None = None,
    indexed: bool = False,
    mounted: bool = False,
) -> RecallReport:
    """Measure the strategies, then hybrid without each of its parts, in a store that is gone afterwards.

    With a `place`, in that store, which stays; `indexed`: with all turns in its candidate index instead of memory;
    `mounted`: with every other session in another memory, which is mounted beside. Raises InvalidInput when the store
    knows one of the conversations.
    """
    embedder = load_embedder(settings.embedder, settings)
    embedder.embed(["warm up"])  # loading the model is not ingesting
    with (
        TemporaryDirectory(prefix="memoryos-bench-") as folder,
        MemoryOS.open(place or Path(folder) / "recall.db", settings=settings, embedder=embedder) as memory,
    ):
        _check_new(memory, corpus)
        start = time.perf_counter()
        halves = [half for one in corpus.conversations for half in _halves(memory, one)] if mounted else None
        pages = load(memory, halves or corpus.conversations, "importing", progress)
        ingest_s = time.perf_counter() - start
        if indexed:
            _index(memory, corpus)
        return RecallReport(
            results=_measured(memory, corpus, whole(strategies), progress),
            ablation=_measured(memory, corpus, without_parts() if ablation else {}, progress),
            ingest_s=ingest_s,
            rss_mb=rss_mb(),
            pages=pages,
            archived_pages=_archived(memory, corpus),
            embedder=embedder.name,
        )


def _check_new(memory: MemoryOS, corpus: BenchCorpus) -> None:
    if known := {scope.user for scope in memory.admin.scopes()} & set(corpus.turns):
        raise InvalidInput("--db", f"holds {min(known)!r} already", "Name an empty database")


def _index(memory: MemoryOS, corpus: BenchCorpus) -> None:
    for user in corpus.turns:
        if not memory.of(Scope(user=user)).upkeep.index():
            raise InvalidInput("--indexed", "this store has no candidate index", "Name a PostgreSQL database with --db")


def _halves(memory: MemoryOS, conversation: Conversation) -> Iterator[Conversation]:
    """Every other session for the memory that is asked, and the others for one that is mounted beside it."""
    memory.mounts.add(Mount(conversation.user, scope=Scope(user=conversation.user, agent=ELSEWHERE)))
    yield replace(conversation, sessions=conversation.sessions[::2])
    yield replace(conversation, sessions=conversation.sessions[1::2], agent=ELSEWHERE)


def _archived(memory: MemoryOS, corpus: BenchCorpus) -> int:
    return sum(memory.of(Scope(user=user)).stats().archived_pages for user in corpus.turns)


def _measured(
    memory: MemoryOS, corpus: BenchCorpus, variants: Mapping[str, Variant], progress: Progress
) -> dict[str, VariantResult]:
    return {name: _measure(memory, corpus, variant, progress) for name, variant in variants.items()}


def _measure(memory: MemoryOS, corpus: BenchCorpus, variant: Variant, progress: Progress) -> VariantResult:
    groups = by_type([question.type for question in corpus.asked], ranked(memory, corpus.asked, variant, progress))
    return VariantResult(variant, groups, search_ms(memory, corpus.asked, variant, progress))
