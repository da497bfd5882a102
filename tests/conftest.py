"""What all tests share: a clock that stands still, an embedder without a model, and cubes to store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

import memoryos.memory
from contract import server
from contract.back_ends import open_in_place_of_file
from memoryos.cube import Behaviour, Descriptive, MemCube, Origin, Page, Payload, Role, SemanticType, Tier, Turn
from memoryos.infrastructure.vault.contract import Entry
from memoryos.models.hashing import Hashing
from memoryos.operation.passages import page_entries
from memoryos.scope import Scope

MakeCube = Callable[..., MemCube]
MakeEntry = Callable[..., Entry]


class FrozenClock:
    """A clock that moves only when it is told to."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> datetime:
        """Move on by `timedelta(**duration)`; returns the new present."""
        self.now += timedelta(**duration)
        return self.now


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store", choices=["sqlite", "postgres"], default="sqlite", help="what stands behind the files of tests"
    )


@pytest.fixture(scope="session")
def is_postgres(request: pytest.FixtureRequest) -> bool:
    """Whether a file that a test opens is a PostgreSQL database in truth."""
    return request.config.getoption("--store") == "postgres"


@pytest.fixture(scope="session", autouse=True)
def _store(is_postgres: bool) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if is_postgres:
            patch.setattr(memoryos.memory, "open_vault", open_in_place_of_file)
        yield


@pytest.fixture(autouse=True)
def _give_back(is_postgres: bool, tmp_path: Path) -> Iterator[None]:
    yield
    if is_postgres:
        server.give_back_files(tmp_path)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(datetime(2026, 6, 1, tzinfo=UTC))


@pytest.fixture
def hashing() -> Hashing:
    return Hashing()


@pytest.fixture
def cube(clock: FrozenClock) -> MakeCube:
    """cube(payload, ...): a cube of Alice's, with the next free id."""
    numbers = count(1)

    def make(
        payload: Payload,
        *,
        id: str | None = None,  # noqa: A002 - the name of the field
        scope: Scope | None = None,
        tier: Tier = Tier.STM,
        semantic_type: SemanticType = SemanticType.DIALOGUE,
    ) -> MemCube:
        return MemCube(
            id=id or f"cube-{next(numbers)}",
            scope=scope or Scope(user="alice"),
            tier=tier,
            payload=payload,
            descriptive=Descriptive(
                event_at=clock(),
                recorded_at=clock(),
                updated_at=clock(),
                origin=Origin.USER_INPUT,
                semantic_type=semantic_type,
            ),
            behaviour=Behaviour(last_access=clock()),
        )

    return make


@pytest.fixture
def page(cube: MakeCube, clock: FrozenClock) -> MakeCube:
    """page(text, ...): a page of one user turn; the other arguments are those of `cube`."""

    def make(text: str = "hello", **fields: object) -> MemCube:
        return cube(Page(turns=(Turn(role=Role.USER, text=text, at=clock()),)), **fields)

    return make


@pytest.fixture
def entry(page: MakeCube, hashing: Hashing) -> MakeEntry:
    """entry(text, ...): a page with a vector and its passage, ready to insert."""

    def make(text: str = "hello", **fields: object) -> Entry:
        (made,) = page_entries([page(text, **fields)], hashing)
        return replace(made, vector=hashing.embed([text])[0])

    return make
