"""One process of many on a store: `python -m memoryos.bench.actor PART` with the part as JSON.

It opens the store, prints a line, waits for one, plays its role and prints what it did as JSON. A writer tells of what
it did in a file of its own, which readers read before and after each call; so they know what its answer must hold.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import TextIO

from memoryos.bench.machine import rss_mb
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.timing import milliseconds
from memoryos.bench.word_ledger import PageWord, Violation, WordLedger, WordState, disordered, told, words_in
from memoryos.config import Settings, load_settings
from memoryos.cube import MemCube, to_json
from memoryos.errors import MemoryOSError
from memoryos.kinds import Kind
from memoryos.memory_os import MemoryOS
from memoryos.operation.recall.hit import Recall
from memoryos.scope import Scope

DELETES, UPDATES = 0.05, 0.05  # of what a writer does; the rest are adds
OWN_PAGES = 50  # of a writer, that it may still change
NEWEST = 24  # words that a reader asks for, of those told last
GONE_SHARE = 0.3  # of the searches, for a page that is gone
PERSONA_EVERY, PAGES_EVERY = 10, 40  # searches
MOST_VIOLATIONS = 20  # that one reader tells of: more say nothing new

_KINDS = (Kind.PAGE, Kind.FACT, Kind.TRAIT, Kind.PROFILE, Kind.SEGMENT)
_THINGS = ("parrot", "boat", "garden", "violin", "recipe", "bicycle", "cousin", "telescope")  # what rules read facts of


@dataclass(frozen=True, slots=True)
class Part:
    """The task of a process."""

    role: str  #: writer, reader or worker
    number: int
    place: str
    folder: str  #: where writers tell what they did
    tenant: str  #: the beginning of the names of the tenants
    writers: int
    seconds: float
    settings: dict[str, str]

    @property
    def scopes(self) -> list[Scope]:
        """The scopes: two users with the same names in each of two tenants."""
        return [Scope(tenant=f"{self.tenant}-{side}", user=user) for side in "ab" for user in ("ann", "ben")]


@dataclass(slots=True)
class Done:
    """The result of a process."""

    times: dict[str, list[float]] = field(default_factory=dict)  #: ms, by operation
    errors: dict[str, int] = field(default_factory=dict)  #: by operation and type
    violations: list[str] = field(default_factory=list)
    jobs: int = 0
    rss_mb: float | None = None

    def timed(self, operation: str, call: Callable[[], object]) -> bool:
        """Call, record the time or the error, and return whether it succeeded."""
        try:
            taken = milliseconds(call)
        except MemoryOSError as error:
            name = f"{operation}: {type(error).__name__}"
            self.errors[name] = self.errors.get(name, 0) + 1
            return False
        self.times.setdefault(operation, []).append(round(taken, 3))
        return True

    def note(self, violations: Iterable[Violation]) -> None:
        """Record a fault, up to a limit."""
        self.violations += map(str, violations)
        del self.violations[MOST_VIOLATIONS:]


class Notices:
    """The files in which writers record what they did."""

    def __init__(self, folder: Path, writers: int) -> None:
        self._files = [notice_file(folder, number) for number in range(writers)]
        self._read = [0] * writers  # bytes

    def new(self) -> Iterator[str]:
        """The lines since the last call, those of each writer in order."""
        for number, path in enumerate(self._files):
            with path.open("rb") as file:
                file.seek(self._read[number])
                whole, end, _ = file.read().rpartition(b"\n")
            self._read[number] += len(whole) + len(end)
            yield from whole.decode().splitlines()


def notice_file(folder: Path, writer: int) -> Path:
    """The file of a writer."""
    return folder / f"writer-{writer}.txt"


class WritingActor:
    """Adds pages to all scopes in turn, and corrects and deletes some of its own."""

    def __init__(self, store: MemoryOS, part: Part, file: TextIO) -> None:
        self.done = Done()
        self._store = store
        self._part = part
        self._file = file
        self._random = random.Random(part.number)  # noqa: S311 - spreads work, guards nothing
        self._dialogue = Dialogue(part.number)
        self._mine: list[tuple[PageWord, str]] = []
        self._added = 0

    def step(self) -> None:
        """Do one operation and record it."""
        chance = self._random.random()
        if self._mine and chance < DELETES:
            self._delete(*self._taken())
        elif self._mine and chance < DELETES + UPDATES:
            self._update(*self._taken())
        else:
            self._add()
        del self._mine[:-OWN_PAGES]

    def _add(self) -> None:
        word = PageWord(self._random.randrange(len(self._part.scopes)), self._part.number, self._added, 0)
        self._added += 1
        ((said, answered),) = self._dialogue.exchanges(1)
        ids: list[str] = []
        query, scope = f"{said} {self._statement(word)}", self._part.scopes[word.scope]
        if self.done.timed("add", lambda: ids.append(self._store.of(scope).add(query, answered))):
            self._tell(WordState.THERE, word)
            self._mine.append((word, ids[0]))

    def _update(self, word: PageWord, page: str) -> None:
        corrected = word._replace(version=word.version + 1)
        scope = self._part.scopes[word.scope]
        self._tell(WordState.LEAVING, word)
        if self.done.timed("update", lambda: self._store.of(scope).update(page, self._statement(corrected))):
            self._tell(WordState.GONE, word)
            self._tell(WordState.THERE, corrected)
            self._mine.append((corrected, page))

    def _delete(self, word: PageWord, page: str) -> None:
        self._tell(WordState.LEAVING, word)
        scope = self._part.scopes[word.scope]
        if self.done.timed("delete", lambda: self._store.of(scope).delete(page)):
            self._tell(WordState.GONE, word)

    def _statement(self, word: PageWord) -> str:
        return f"I have a {_THINGS[word.number % len(_THINGS)]} called {word}."

    def _taken(self) -> tuple[PageWord, str]:
        return self._mine.pop(self._random.randrange(len(self._mine)))

    def _tell(self, state: WordState, word: PageWord) -> None:
        self._file.write(told(state, word))
        self._file.flush()


class ReadingActor:
    """Searches for pages that were just stored or deleted, and checks every answer."""

    def __init__(self, store: MemoryOS, part: Part) -> None:
        self.done = Done()
        self.ledger = WordLedger()
        self._store = store
        self._scopes = part.scopes
        self._notices = Notices(Path(part.folder), part.writers)
        self._random = random.Random(part.number)  # noqa: S311 - spreads work, guards nothing
        self._steps = 0

    def step(self) -> None:
        """Search once, and check the answer."""
        self._steps += 1
        if self._steps % PAGES_EVERY == 0:
            self.check_pages(self._random.randrange(len(self._scopes)))
        elif self._steps % PERSONA_EVERY == 0:
            self.check_persona(self._random.randrange(len(self._scopes)))
        else:
            self._listen()
            is_gone = self._random.random() < GONE_SHARE
            words = self.ledger.departed(NEWEST) if is_gone else self.ledger.latest(NEWEST)
            if words:
                self.check_search(self._random.choice(words), is_there=not is_gone)

    def check_search(self, word: PageWord, *, is_there: bool) -> None:
        """Search for a page, which must be found if it is stored."""
        answers: list[Recall] = []
        call = partial(self._store.of(self._scopes[word.scope]).search, f"What is {word}?", kinds=_KINDS)
        before = self._listen()
        if not self.done.timed("search", lambda: answers.append(call())):
            return
        self._listen()
        parts = {name: _words_of(cubes) for name, cubes in _parts(answers[0]).items()}
        for name, served in parts.items():
            self.done.note(self.ledger.misplaced(served, word.scope, before, name))
        if is_there:
            self.done.note(self.ledger.absent([word], parts["hits"], "hits"))

    def check_persona(self, scope: int) -> None:
        """Check a user's facts, profile and segments."""
        found: dict[str, list[MemCube]] = {}
        before = self._listen()

        def look() -> None:
            profile = self._store.of(self._scopes[scope]).profile.get()
            personas = (profile.user, profile.agent)
            found["persona"] = [cube for one in personas for cube in (*one.profile, *one.traits, *one.facts)]
            found["topics"] = [view.cube for view in self._store.of(self._scopes[scope]).segments.list(archive=True)]

        if self.done.timed("persona", look):
            self._listen()
            for name, cubes in found.items():
                self.done.note(self.ledger.misplaced(_words_of(cubes), scope, before, name))

    def check_pages(self, scope: int) -> list[PageWord]:
        """Check that a scope lists all stored pages, in the order in which their writers stored them."""
        found: list[MemCube] = []
        before = self._listen()
        wanted = self.ledger.there(scope)
        if not self.done.timed("pages", lambda: found.extend(self._store.of(self._scopes[scope]).pages.list())):
            return []
        self._listen()
        served = [word for cube in found for word in words_in(cube.text)]
        self.done.note(self.ledger.misplaced(_words_of(found), scope, before, "pages"))
        self.done.note(self.ledger.absent(wanted, set(served), "pages"))
        self.done.note(disordered(served, "pages"))
        return served

    def _listen(self) -> int:
        """Read what writers recorded meanwhile; return the time."""
        self.ledger.hear(self._notices.new())
        return self.ledger.moment


def _parts(recall: Recall) -> dict[str, list[MemCube]]:
    return {
        "hits": [hit.cube for hit in recall.hits],
        "turns": [hit.cube for hit in recall.turns],
        "recent": [hit.cube for hit in recall.recent],
        "facts": [hit.cube for hit in (*recall.user_facts, *recall.agent_facts)],
        "persona": [*recall.profile, *recall.traits],
        "segments": [hit.cube for hit in recall.segments],
    }


def _words_of(cubes: Iterable[MemCube]) -> set[PageWord]:
    """The pages that these cubes come from, by their texts, keywords and summaries."""
    return {word for cube in cubes for word in words_in(to_json(cube))}


def play(part: Part, begin: Callable[[], None]) -> Done:
    """Open the store, call `begin`, and play the part."""
    settings = load_settings(**part.settings)
    with MemoryOS.open(part.place, settings=settings) as store:
        done = _ROLES[part.role](store, part, begin)
    done.rss_mb = rss_mb()
    return done


def _write(store: MemoryOS, part: Part, begin: Callable[[], None]) -> Done:
    with notice_file(Path(part.folder), part.number).open("a", encoding="utf-8") as file:
        writer = WritingActor(store, part, file)
        begin()
        _repeat(writer.step, part.seconds)
        writer.done.timed("wait", store.wait)
    return writer.done


def _read(store: MemoryOS, part: Part, begin: Callable[[], None]) -> Done:
    reader = ReadingActor(store, part)
    begin()
    _repeat(reader.step, part.seconds)
    reader.done.timed("wait", store.wait)
    return reader.done


def _work(store: MemoryOS, part: Part, begin: Callable[[], None]) -> Done:  # noqa: ARG001 - as the other roles
    """Do the jobs of the store until SIGTERM."""
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    begin()
    return Done(jobs=store.admin.work(stop, threads=2))


_ROLES: dict[str, Callable[[MemoryOS, Part, Callable[[], None]], Done]] = {
    "writer": _write,
    "reader": _read,
    "worker": _work,
}


def _repeat(step: Callable[[], None], seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        step()


def settings_of(settings: Settings, *, has_workers: bool) -> dict[str, str]:
    """The settings that a process is given."""
    return {"embedder": settings.embedder, "jobs": "worker" if has_workers else "here"}


def _wait_for_the_others() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is told by the process that was asked
    sys.stdout.write(json.dumps(asdict(play(Part(**json.loads(sys.argv[1])), _wait_for_the_others))))
