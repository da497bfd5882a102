"""A memory with an embedder and a clock that make every number exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import memoryos.opening
from memoryos import Memory, Scope, load_settings
from memoryos.caller import Caller
from memoryos.cube import Fact, MemCube, Page, ProfileField, Trait, Turn
from memoryos.engine import Engine
from memoryos.infrastructure.vault.records import JobKind, Link, LinkKind
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.kinds import Kind, Role, SemanticType, Subject
from memoryos.operation.consolidation.extractor import Extractor
from memoryos.operation.consolidation.finding import Finding
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.hierarchy.page_entries import page_vectors
from memoryos.operation.index.residency import Residency
from memoryos.operation.index.resident import Resident
from memoryos.operation.knowledge.likeness import Judge
from memoryos.operation.knowledge.trait import graded
from memoryos.operation.maintenance.repairer import Repairer
from memoryos.operation.paging.pager import Pager
from memoryos.operation.scheduler.job_runner import JobRunner

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = Scope(user="ann")

# One axis each. No letters, so they are never keywords: cosine and Jaccard can be set apart from each other.
AXES = "🍵🚲🌙🍞🚂🎲🌧🎵🐈📐"


_REFUSE = {
    "sqlite": ["CREATE TRIGGER refused BEFORE {change} ON cubes BEGIN SELECT RAISE(ABORT, 'full'); END"],
    "postgresql": [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'full'; END $$",
        "CREATE TRIGGER refused BEFORE {change} ON cubes FOR EACH ROW EXECUTE FUNCTION refuse()",
    ],
}
_ALLOW = {"sqlite": ["DROP TRIGGER refused"], "postgresql": ["DROP FUNCTION refuse CASCADE"]}


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **delta: float) -> None:
        self.now += timedelta(**delta)


class Symbols:
    """How often each symbol occurs, at unit length: "🍵🍵🍵🚲🚲🚲🚲" is (0.6, 0.8, 0, ...)."""

    name = "symbols-v1"
    dim = len(AXES) + 1

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(-1, self.dim)

    def _vector(self, text: str) -> NDArray[np.float64]:
        counts = np.array([*(text.count(symbol) for symbol in AXES), 0], dtype=float)
        if not counts.any():
            counts[-1] = 1  # a text without a symbol
        return counts / np.linalg.norm(counts)


class LineExtractor:
    """Reads "fact: ...", "trait: ..." and "field=value" lines of the user, and "fact: ..." lines of the agent."""

    name = "lines"

    def extract(self, pages: Sequence[MemCube]) -> list[Finding]:
        found: dict[tuple[Subject, str], Finding] = {}
        for page in pages:
            assert isinstance(page.payload, Page)
            for turn in page.payload.turns:
                subject = Subject.USER if turn.role is Role.USER else Subject.AGENT
                for line in turn.text.splitlines():
                    known = found.get((subject, line))
                    pages_of = (*(known.pages if known else ()), page.id)
                    if finding := self._read(line, subject, pages_of, page.descriptive.event_at):
                        moments = (*(known.moments if known else ()), page.descriptive.event_at)
                        found[subject, line] = replace(finding, moments=moments, event_at=max(moments))
        return list(found.values())

    def _read(self, line: str, subject: Subject, pages: tuple[str, ...], at: datetime) -> Finding | None:
        if line.startswith("fact: "):
            return Finding(Fact(subject=subject, text=line[6:]), pages, at, SemanticType.FACT)
        if line.startswith("trait: "):
            level, confidence = graded(len(pages))
            trait = Trait(subject=subject, dimension=line[7:], level=level, reason="said so", confidence=confidence)
            return Finding(trait, pages, at, SemanticType.TRAIT)
        if "=" in line:
            field, value = line.split("=", 1)
            return Finding(ProfileField(subject=subject, field=field, value=value), pages, at, SemanticType.PROFILE)
        return None


class Prompt(Memory):
    """A memory in which nothing is left to do when `add` returns, so that a test can look at once."""

    def add(self, *said: str | None, **options: Any) -> str:
        page = super().add(*said, **options)
        self.wait()
        return page

    def add_many(self, turns: Iterable[Turn], **options: Any) -> list[str]:
        ids = super().add_many(turns, **options)
        self.wait()
        return ids

    def of(self, scope: Scope) -> Memory:
        return Prompt(self._engine, super().of(scope).scope, self._caller)


def added(memory: Memory, texts: Iterable[str]) -> list[str]:
    """Store pages of one turn each in one transaction, and leave them where they are; returns their ids."""
    return Memory.add_many(memory, [Turn(role=Role.USER, text=text) for text in texts])


class World:
    """Opens memories on files in one folder, and closes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.embedder = Symbols()
        self.vault: SqlVault  # of the memory opened last
        self._opened: list[Memory] = []

    def open(self, path: str = "memory.db", *, scope: Scope = ANN, **settings: object) -> Memory:
        self.settings = load_settings(**{"extract_within_seconds": None, "recent_within_seconds": None, **settings})
        self.vault = self.open_vault(path)
        engine = Engine(self.vault, self.embedder, settings=self.settings, clock=self.clock)
        memory = Prompt(engine, scope, Caller(scope.user), engine.close)
        self._opened.append(memory)
        return memory

    def open_vault(self, path: str = "memory.db", *, busy_timeout_seconds: float = 5) -> SqlVault:
        return memoryos.opening.open_vault(  # looked up here: on PostgreSQL another stands in its place
            self.folder / path,
            embedder=self.embedder.name,
            clock=self.clock,
            busy_timeout_seconds=busy_timeout_seconds,
        )

    @contextmanager
    def refusing(self, change: str) -> Iterator[None]:
        """Meanwhile the store opened last refuses to INSERT, or to UPDATE, any cube."""
        with self.vault.change() as connection:
            for statement in _REFUSE[connection.dialect.name]:
                connection.exec_driver_sql(statement.format(change=change))
        yield
        with self.vault.change() as connection:
            for statement in _ALLOW[connection.dialect.name]:
                connection.exec_driver_sql(statement)

    def close(self) -> None:
        for memory in self._opened:
            memory.close()

    def promoter(self, extractor: Extractor, judge: Judge | None = None) -> Promoter:
        return Promoter(self.vault, self.embedder, extractor, self.settings, self.clock, judge=judge)

    def runner(self, extractor: Extractor) -> JobRunner:
        handlers = dict.fromkeys((JobKind.EXTRACT, JobKind.READ_RECENT), self.promoter(extractor))
        return JobRunner(self.vault, {**handlers, JobKind.REPAIR: self.repairer()}, self.clock)

    def repairer(self) -> Repairer:
        recent = self.settings.short_term_capacity
        residency = Residency(10**9, lambda: Resident(self.embedder.dim, self.embedder, recent))
        return Repairer(self.vault, residency, self.settings, self.clock)

    def extract_until_dead(self, extractor: Extractor, scope: Scope = ANN) -> int:
        """Queue and run, as long as a job waits for its next try; returns how many succeeded."""
        runner, done = self.runner(extractor), self.extract(extractor, scope)
        while moment := runner.next_due(scope):
            self.clock.now = moment
            done += runner.run_all(scope)
        return done

    def queue(self, scope: Scope = ANN) -> None:
        """Ask for the extraction of every segment with new pages, without running it."""
        with self.vault.write(scope) as writer:
            resident = Resident(self.embedder.dim, self.embedder, self.settings.short_term_capacity)
            resident.follow(writer)
            pager = Pager(writer, resident, self.settings, self.clock())
            pager.promote_all()
            pager.flush(writer)

    def extract(self, extractor: Extractor | None = None, scope: Scope = ANN) -> int:
        """Queue and run; returns how many jobs succeeded."""
        self.queue(scope)
        return self.runner(extractor or LineExtractor()).run_all(scope)

    def vectors(self, *ids: str) -> list[NDArray[np.float32]]:
        with self.vault.read(ANN) as reader:
            found = reader.vectors(ids) | page_vectors(reader, ids)
        return [found[cube_id] for cube_id in ids]

    def chain(self, page_id: str) -> list[str]:
        """The page that this one continues."""
        with self.vault.read(ANN) as reader:
            return [link.target for link in reader.targets([page_id], LinkKind.CHAIN)]

    def links(self, kind: LinkKind, *sources: str, scope: Scope = ANN) -> list[Link]:
        with self.vault.read(scope) as reader:
            return reader.targets(sources, kind)

    def cubes(self, kind: Kind, *tiers: object, scope: Scope = ANN) -> list[MemCube]:
        with self.vault.read(scope) as reader:
            return reader.cubes(kind, tiers=tiers)  # type: ignore[arg-type]


def texts(cubes: Sequence[MemCube]) -> list[str]:
    """The words of the first turn of each page, or the text of any other cube."""
    return [cube.payload.turns[0].words if isinstance(cube.payload, Page) else cube.text for cube in cubes]
