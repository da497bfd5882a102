"""A talk of some weeks in a store, and memories that open it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import memoryos
from contract.back_ends import copy_store, files_on, opening_on
from memoryos import Memory, MemoryOS, Role, Scope, Strategy, Turn, load_settings
from memoryos.operation.recall.hit import Recall

ANN = Scope(user="ann", agent="default")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SETTINGS = {"embedder": "hashing", "short_term_capacity": 5, "mid_term_capacity": 3, "heat_threshold": 1000}
TURNS = 50

WORDS = """
    rome museum bees honey garden running race mountain hotel piano lesson violin concert sister birthday cake oven
    accountant tax letter teapot kettle winter snow skiing bicycle repair shop doctor knee marathon book library
    蜜蜂 花园 杭州 北京 天气 音乐会
""".split()
QUESTIONS = [
    "When did Ann visit the museum in Rome?",
    "What does Bob say about his bees?",
    "蜜蜂在花园里吗？",
    "Which instruments does she play?",
    "xyzzy",
]

Open = Callable[..., MemoryOS]
Pages = list[tuple[str, float]]
Found = list[tuple[str, int, float]]


def dialogue(turns: int, seed: int = 1, start: datetime = NOW - timedelta(days=60)) -> list[Turn]:
    """Ann and Bob in turn, some minutes apart, with a long silence now and then."""
    chance, at, said = random.Random(seed), start, []
    for number in range(turns):
        at += timedelta(minutes=chance.choice([1, 2, 3, 3000]))
        words = chance.choices(WORDS, k=chance.randint(2, 9))
        end = chance.choice([".", ".", "?", " yesterday.", "!"])
        role, speaker = (Role.USER, "Ann") if number % 2 == 0 else (Role.ASSISTANT, "Bob")
        said.append(Turn(role=role, text=" ".join(words) + end, speaker=speaker, at=at))
    return said


def pages_in(recall: Recall) -> Pages:
    """The pages found, with their scores; without their visits, which are counted while others search."""
    return [(hit.id, hit.score) for hit in recall.hits]


def turns_in(recall: Recall) -> Found:
    """The turns found, with their scores."""
    return [(turn.cube.id, turn.index, turn.score) for turn in recall.turns]


def results(memory: Memory, question: str, **options) -> Found:
    """The turns that answer the question."""
    return turns_in(memory.search(question, **({"pages": 15} | options)))


def answers(memory: Memory, **options) -> list[Found]:
    """The results of every question."""
    return [results(memory, question, **options) for question in QUESTIONS]


def by_strategy(memory: Memory, **options) -> dict[Strategy, list[Found]]:
    """The results of every question by every strategy."""
    return {strategy: answers(memory, strategy=strategy, **options) for strategy in Strategy}


def assert_same(left: Sequence[Found], right: Sequence[Found]) -> None:
    """The same turns in the same order, with the same scores."""
    for one, other in zip(left, right, strict=True):
        assert [found[:2] for found in one] == [found[:2] for found in other]
        assert [found[2] for found in one] == pytest.approx([found[2] for found in other], abs=1e-5)


def assert_same_by_each(left: Mapping[Strategy, Sequence[Found]], right: Mapping[Strategy, Sequence[Found]]) -> None:
    """The same turns by every strategy."""
    assert {strategy: _places(found) for strategy, found in left.items()} == {
        strategy: _places(found) for strategy, found in right.items()
    }
    for strategy, found in left.items():
        assert_same(found, right[strategy])


def _places(answered: Sequence[Found]) -> list[list[tuple[str, int]]]:
    return [[(page, index) for page, index, _ in found] for found in answered]


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn, for the memories that open them."""
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture
def open_memory(tmp_path) -> Iterator[Open]:
    """open_memory(path, ...): a memory on the file; the other arguments are settings."""
    opened = []

    def one(path: Path | None = None, *, scope: Scope = ANN, **settings) -> Memory:
        ids = {"user": scope.user, "agent": scope.agent, "tenant": scope.tenant, "session": scope.session}
        knobs = load_settings(**(SETTINGS | settings))
        memory = memoryos.open(path or tmp_path / "memory.db", **ids, settings=knobs, clock=lambda: NOW)
        opened.append(memory)
        return memory

    yield one
    for memory in opened:
        memory._engine.housekeeping.abandon()  # what nobody asked for needs no place and no reading
        memory.close()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> Path:
    """A store with the dialogue in all three tiers."""
    path, knobs = tmp_path_factory.mktemp("talk") / "memory.db", load_settings(**SETTINGS)
    with opening_on(back_end), memoryos.open(path, user="ann", settings=knobs, clock=lambda: NOW) as memory:
        memory.add_many(dialogue(TURNS))
        memory.facts.add("Ann keeps bees")
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    """A copy of that store, to be changed."""
    copied = tmp_path / "talk.db"
    copy_store(template, copied)
    return copied
