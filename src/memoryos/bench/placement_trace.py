"""A trace of sessions: which blocks of memory the questions of several users need, one question after the other.

The questions are those of a LoCoMo file, or of the demo's conversation. A question needs the persona of its owner and
the segments that a search finds for it, in the order of the search. A session is some questions in a row about one
conversation; which conversation comes next is drawn, because the data has no times of questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.bench.locomo_recall import load_corpus
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.config import Settings
from memoryos.importers.load import load_conversation
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall.hit import Recall

IN_SESSION = 8  # questions
SEGMENTS = 3  # of a question, at most
PERSONA = "persona"
BEHIND = " > "  # between the ids of a chain of blocks


@dataclass(frozen=True, slots=True)
class TracedQuestion:
    """One question: whose it is, and what its prompt is made of."""

    scope: str
    session: int
    tokens: int  #: of the question itself
    blocks: tuple[str, ...]  #: ids of what stands before it, in order


@dataclass(frozen=True, slots=True)
class PlacementTrace:
    """Questions in order, and the sizes of the blocks."""

    name: str
    questions: tuple[TracedQuestion, ...]
    tokens: Mapping[str, int] = field(hash=False)  #: of each block, by its id
    is_exact: bool = False  #: whether the KV of a block counts only behind that of all blocks before it

    @property
    def scopes(self) -> frozenset[str]:
        """The owners."""
        return frozenset(question.scope for question in self.questions)

    @property
    def sessions(self) -> int:
        """The number of sessions."""
        return len({question.session for question in self.questions})

    def exact(self) -> PlacementTrace:
        """The same for the exact mode: the KV of a block belongs to the very blocks before it."""
        questions = tuple(replace(one, blocks=tuple(_chain(one.blocks))) for one in self.questions)
        chained = {block for question in questions for block in question.blocks}
        sizes = {block: self.tokens[block.rpartition(BEHIND)[2]] for block in chained}
        return PlacementTrace(self.name, questions, sizes, is_exact=True)


def _chain(blocks: Sequence[str]) -> Iterator[str]:
    return (BEHIND.join(blocks[: place + 1]) for place in range(len(blocks)))


def locomo_trace(path: Path, settings: Settings, progress: Progress = unwatched, *, seed: int = 0) -> PlacementTrace:
    """The questions of a LoCoMo file, in their order within each conversation. Raises InvalidInput."""
    corpus, by_talk = load_corpus(path), dict[str, list[str]]()
    for question in corpus.questions.asked:
        by_talk.setdefault(question.conversation, []).append(question.text)
    with (
        TemporaryDirectory(prefix="memoryos-bench-") as folder,
        MemoryOS.open(Path(folder) / "trace.db", settings=settings) as store,
    ):
        for number, conversation in enumerate(corpus.conversations, 1):
            load_conversation(store, conversation)
            progress("loading", number, len(corpus.conversations))
        store.wait()
        needs = {name: store_needs(store.memory(name), asked) for name, asked in by_talk.items()}
    return interleaved(path.stem, needs, seed=seed)


def dialogue_trace(name: str, memory: Memory, sessions: Sequence[Sequence[str]]) -> PlacementTrace:
    """The questions of one owner, in sessions of their own."""
    needs = store_needs(memory, [text for session in sessions for text in session])
    numbers = [number for number, session in enumerate(sessions) for _ in session]
    asked = zip(numbers, needs.questions, strict=True)
    questions = (TracedQuestion(memory.scope.user, number, tokens, blocks) for number, (tokens, blocks) in asked)
    return PlacementTrace(name, tuple(questions), needs.tokens)


@dataclass(frozen=True, slots=True)
class QuestionNeeds:
    """The questions of one owner with the blocks that each needs, and the sizes of these."""

    questions: tuple[tuple[int, tuple[str, ...]], ...]
    tokens: Mapping[str, int] = field(hash=False)


def store_needs(memory: Memory, asked: Sequence[str]) -> QuestionNeeds:
    """What the questions need of this memory."""
    sizes = _sizes(memory)
    found = ((question, _blocks(memory.search(question), sizes)) for question in asked)
    return QuestionNeeds(tuple((count_tokens(text), blocks) for text, blocks in found), sizes)


def _sizes(memory: Memory) -> dict[str, int]:
    profile, pages = memory.profile.get(), {page.id: count_tokens(page.text) for page in memory.pages.list()}
    known = (cube.text for one in (profile.user, profile.agent) for cube in (*one.profile, *one.traits, *one.facts))
    segments = {
        view.cube.id: sum(pages.get(page, 0) for page in view.page_ids)
        for is_archived in (False, True)
        for view in memory.segments.list(archive=is_archived)
    }
    return {f"{memory.scope.user}/{PERSONA}": count_tokens("\n".join(known)), **segments}


def _blocks(found: Recall, sizes: Mapping[str, int]) -> tuple[str, ...]:
    segments = dict.fromkeys(hit.segment for hit in found.hits if hit.segment and hit.segment in sizes)
    return (next(iter(sizes)), *list(segments)[:SEGMENTS])


def interleaved(name: str, needs: Mapping[str, QuestionNeeds], *, seed: int = 0) -> PlacementTrace:
    """Sessions of all owners, mixed: the next owner is drawn, by the sessions that are left."""
    waiting = {
        scope: [owned.questions[at : at + IN_SESSION] for at in range(0, len(owned.questions), IN_SESSION)]
        for scope, owned in needs.items()
    }
    order = [scope for scope, sessions in waiting.items() for _ in sessions]
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    turns = {scope: iter(sessions) for scope, sessions in waiting.items()}
    rows = ((number, scope, next(turns[scope])) for number, scope in enumerate(order))
    sizes = {block: size for owned in needs.values() for block, size in owned.tokens.items()}
    return PlacementTrace(name, tuple(_questions(rows)), sizes)


def _questions(
    rows: Iterable[tuple[int, str, tuple[tuple[int, tuple[str, ...]], ...]]],
) -> Iterator[TracedQuestion]:
    for number, scope, session in rows:
        for tokens, blocks in session:
            yield TracedQuestion(scope, number, tokens, blocks)
