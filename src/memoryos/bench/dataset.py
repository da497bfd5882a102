"""Data sets of questions with evidence: recall sets (docs/explanation/recall.md) and LoCoMo files, in one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pydantic_core import from_json

from memoryos.bench.asking import EvidenceQuestion, spread
from memoryos.bench.evidence import CATEGORIES
from memoryos.bench.locomo_recall import load_corpus
from memoryos.bench.means import OVERALL
from memoryos.bench.metrics import Candidate
from memoryos.bench.ranked_entries import candidates
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.importers.recall_set import Query, read_recall_set
from memoryos.importers.source import read_bytes


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is measured on: the conversations that questions are asked about, one for each user."""

    name: str
    path: Path
    sha256: str  #: of the file
    conversations: tuple[Conversation, ...]
    asked: tuple[EvidenceQuestion, ...]
    malformed: int  #: groups of evidence that name no turn; they do not count
    unanswered: int  #: questions without any other evidence; they are not asked
    adversarial: tuple[
        EvidenceQuestion, ...
    ] = ()  #: questions that the conversations do not answer, as LoCoMo has them

    @property
    def turns(self) -> int:
        """How many turns the conversations hold together."""
        return sum(conversation.turn_count for conversation in self.conversations)


def read_datasets(paths: Sequence[Path], limit: int | None = None) -> list[Dataset]:
    """Each file as a data set, with at most `limit` questions, spread evenly.

    Raises InvalidInput for a broken file, one without a question that can be asked, and two of one name.
    """
    found: dict[str, Dataset] = {}
    for path in paths:
        dataset = _limited(read_dataset(path), limit)
        if dataset.name in found:
            raise InvalidInput(
                "--data", f"{dataset.name!r} is the name of two data sets", 'Change "name" or the file name'
            )
        found[dataset.name] = dataset
    return list(found.values())


def read_dataset(path: Path) -> Dataset:
    """A recall set, or LoCoMo, which is told by its shape. Raises InvalidInput."""
    dataset = _of_locomo(path) if is_locomo(path) else _of_recall_set(path)
    if not dataset.asked:
        raise InvalidInput(str(path), "has no question whose evidence names a turn", "Add evidence: [[turn id]]")
    return _at_the_end(dataset)


def _at_the_end(dataset: Dataset) -> Dataset:
    """Questions without a time are asked when the last turn is said: figures do not depend on the day of the run."""
    ends = {conversation.user: conversation.ended_at for conversation in dataset.conversations}

    def timed(questions: Sequence[EvidenceQuestion]) -> tuple[EvidenceQuestion, ...]:
        return tuple(replace(one, at=one.at or ends[one.user]) for one in questions)

    return replace(dataset, asked=timed(dataset.asked), adversarial=timed(dataset.adversarial))


def _limited(dataset: Dataset, limit: int | None) -> Dataset:
    """The data set with fewer questions, and the conversations that they are about."""
    asked = dataset.asked if limit is None else tuple(spread(dataset.asked, limit))
    users = {question.user for question in asked}
    conversations = tuple(one for one in dataset.conversations if one.user in users)
    adversarial = tuple(question for question in dataset.adversarial if question.user in users)
    return replace(dataset, asked=asked, conversations=conversations, adversarial=adversarial)


def is_locomo(path: Path) -> bool:
    """Whether a file is LoCoMo by its shape. Raises InvalidInput when it cannot be read or is too large."""
    data = read_bytes(path)
    try:
        content = from_json(data)
    except ValueError:
        return False  # the reader of recall sets says what is wrong
    return isinstance(content, list) or (isinstance(content, dict) and "sample_id" in content)


def _of_locomo(path: Path) -> Dataset:
    corpus = load_corpus(path)
    return Dataset(
        name=path.stem,
        path=path,
        sha256=corpus.sha256,
        conversations=corpus.conversations,
        asked=tuple(replace(one, type=CATEGORIES[int(one.type or 0)]) for one in corpus.asked),
        malformed=len(corpus.questions.malformed),
        unanswered=corpus.questions.without_evidence + corpus.questions.lost,
        adversarial=tuple(
            EvidenceQuestion(one.conversation, one.text, "adversarial", ()) for one in corpus.questions.adversarial
        ),
    )


def _of_recall_set(path: Path) -> Dataset:
    found = read_recall_set(path)
    turns = {conversation.user: candidates(conversation) for conversation in found.conversations}
    read = [(question, *_groups(question, turns[question.user])) for question in found.questions]
    if any(question.type == OVERALL for question in found.questions):
        raise InvalidInput(
            str(path), f"has questions of type {OVERALL!r}", "Rename the type: this name means all types"
        )
    asked = [EvidenceQuestion(one.user, one.text, one.type, groups, one.at) for one, groups, _ in read if groups]
    return Dataset(
        name=found.name,
        path=path,
        sha256=sha256(path.read_bytes()).hexdigest(),
        conversations=found.conversations,
        asked=tuple(asked),
        malformed=sum(lost for _, _, lost in read),
        unanswered=len(read) - len(asked),
    )


def _groups(question: Query, turns: Mapping[str, Candidate]) -> tuple[list[tuple[Candidate, ...]], int]:
    """The groups that name turns, each once, and how many name none."""
    known = [tuple(turns[name] for name in group if name in turns) for group in question.evidence]
    groups = [group for group in known if group]
    return list(dict.fromkeys(groups)), len(known) - len(groups)
