"""A user's own memory and an expert's, each in a store of its own, on either back end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.engine import URL

import memoryos
from contract import server
from contract.back_ends import files_on
from memoryos import Memory, Mount, Scope, load_settings
from memoryos.infrastructure.vault.place import database_url, is_url
from memoryos.models.hashing import Hashing
from stores.conftest import content

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ANN, BOB = Scope(user="ann"), Scope(user="bob")
CLINIC = Scope(user="clinic", namespace=("expert", "cardiology"))

OWN = [
    ("I started playing the violin again.", "Lovely! Do you take lessons?"),
    ("My asthma got worse in spring.", "I am sorry. Do you have an inhaler?"),
    ("We booked a mountain hotel for May.", "Enjoy the skiing!"),
]
EXPERT = [
    ("Which beta blockers are dangerous with asthma?", "Propranolol is; it narrows the airways."),
    ("What is a normal resting pulse?", "Sixty to a hundred beats a minute."),
    ("How is atrial fibrillation found?", "By an electrocardiogram over a day."),
]


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn, for the memories that open them."""
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture
def place_of(tmp_path: Path, back_end: str) -> Callable[[str], str]:
    """place_of(name): what others mount to have the store of that name: a file, or the URL of a database."""

    def one(name: str) -> str:
        path = tmp_path / f"{name}.db"
        return str(path) if back_end == "sqlite" else server.store_for(path, Hashing.name).render_as_string()

    return one


@pytest.fixture
def left_in(back_end: str) -> Callable[[str], object]:
    """left_in(place): all that a store holds, and how."""
    return (lambda place: Path(place).read_bytes()) if back_end == "sqlite" else content


@contextmanager
def away(place: str) -> Iterator[None]:
    """Let nobody use a store: the file is none for a while, or the server lets nobody in."""
    with _refused(database_url(place)) if is_url(place) else _damaged(Path(place)):
        yield


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    whole = path.read_bytes()
    path.write_bytes(b"no store any more" * 1000)
    yield
    path.write_bytes(whole)


@contextmanager
def _refused(url: URL) -> Iterator[None]:
    server.let_in(url.database, False)
    server.cut_connections(url.database)
    try:
        yield
    finally:
        server.let_in(url.database, True)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[ExitStack]:  # closed before the stores are gone
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def open_memory(opened, tmp_path):
    """open_memory(name="own", ...): a memory of Ann's in the store of that name."""

    def one(name: str = "own", *, user: str = "ann", read_only: bool = False, **settings) -> Memory:
        knobs = load_settings(**({"embedder": "hashing"} | settings))
        memory = memoryos.open(
            tmp_path / f"{name}.db", user=user, settings=knobs, clock=lambda: NOW, read_only=read_only
        )
        return opened.enter_context(memory)

    return one


@pytest.fixture
def expert_base(open_memory, place_of) -> Mount:
    """What the clinic knows, closed; `mount` it."""
    with open_memory("expert") as clinic:
        for number, (question, answer) in enumerate(EXPERT):
            clinic.of(CLINIC).add(question, answer, at=NOW - timedelta(days=number), tags=["heart"])
        clinic.of(CLINIC).facts.add("Propranolol is dangerous with asthma.")
    return Mount("cardiology", place_of("expert"), CLINIC)


@pytest.fixture
def own(open_memory) -> Memory:
    """Ann's memory."""
    memory = open_memory()
    for number, (query, response) in enumerate(OWN):
        memory.add(query, response, at=NOW - timedelta(days=10 + number), tags=["life"])
    return memory
