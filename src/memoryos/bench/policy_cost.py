"""Policy cost: what the gate and policies cost a search, beside the same search without them, in one run on one file.

A search of a store without policies is measured beside that of a vault without any gate. Two callers are measured with
policies: the owner, whom they permit everything, and a guest, whom they permit what is not sensitive. The classes of
what is stored differ by tags and sensitivity. Each searches a store of its own: what one store remembers of a question
would spare the second who asks it. The searches take turns, each is the first of a round as often as the others, and a
busy machine slows all of them alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.about import About
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.timing import milliseconds, percentiles
from memoryos.caller import Caller
from memoryos.clock import system_clock
from memoryos.config import Settings, load_settings
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.place import open_vault
from memoryos.kinds import Origin
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import Embedder, load_embedder
from memoryos.operation.intake import ingest
from memoryos.scope import Scope

OWNER, GUEST = Caller("bench"), Caller("guest", frozenset({"guest"}), purpose="support")
AT_A_TIME = 500  # pages in one transaction; they have the same labels
FACTS = 100
SEARCHES = 100
WARM_UP = 10

POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"guest", action == Action::"read", resource)
when { resource.sensitivity.isEmpty() && context has purpose && context.purpose == "support" };
permit (principal in Role::"doctor", action == Action::"read", resource)
when { resource.sensitivity.contains("diagnosis") };
permit (principal, action == Action::"read", resource) when { resource.access == "shared" };
"""

_SEEDS = 1, 2  # of the dialogue and of the questions, which are not its first words


@dataclass(frozen=True, slots=True)
class PolicyCost:
    """The times of searches in a memory of that size."""

    pages: int
    classes: int  #: of pages, by their labels
    guest_pages: int  #: that the guest may read
    bare_ms: dict[str, float]  #: p50 and p95 without a gate
    ungoverned_ms: dict[str, float]  #: without policies: the gate admits everybody
    owner_ms: dict[str, float]  #: with policies, by who may read everything
    guest_ms: dict[str, float]  #: with policies, by who may read some
    first_ms: float  #: the guest's first search, which decides about each class

    @property
    def ungoverned_ratio(self) -> float:
        """The median without policies over the one without a gate."""
        return self.ungoverned_ms["p50"] / self.bare_ms["p50"]

    @property
    def owner_ratio(self) -> float:
        """The owner's median over the one without policies."""
        return self.owner_ms["p50"] / self.ungoverned_ms["p50"]

    @property
    def guest_ratio(self) -> float:
        """The guest's median over the one without policies."""
        return self.guest_ms["p50"] / self.ungoverned_ms["p50"]


def measure_policies(
    sizes: Sequence[int], settings: Settings, progress: Progress = unwatched, *, searches: int | None = None
) -> Iterator[PolicyCost]:
    """Measure one size after the other, each in a temporary store, with so many searches of each caller."""
    embedder = load_embedder(settings.embedder, settings)
    for pages in sizes:
        with TemporaryDirectory(prefix="memoryos-bench-") as folder:
            yield _measure(pages, settings, embedder, Path(folder), searches or SEARCHES, progress)


def _measure(
    pages: int, settings: Settings, embedder: Embedder, folder: Path, searches: int, progress: Progress
) -> PolicyCost:
    place, policies = folder / "governed.db", folder / "bench.cedar"
    policies.write_text(POLICIES, "utf-8")
    classes = _fill(place, pages, embedder, progress)
    open_store = partial(MemoryOS.open, place, settings=settings, embedder=embedder)
    with open_store() as store:
        for number in range(FACTS):
            store.of(_scope()).facts.add(f"Item {number} is kept in drawer {number % 7}.", tags=[f"tag{number % 20}"])
    with ExitStack() as stores:
        bare, plain = (stores.enter_context(open_store(read_only=True)) for _ in range(2))
        bare._engine.vault.gate = None
        governed, guarded = (stores.enter_context(open_store(read_only=True, policies=policies)) for _ in range(2))
        ways = {
            "bare": bare.of(_scope(), OWNER),
            "ungoverned": plain.of(_scope(), OWNER),
            "owner": governed.of(_scope(), OWNER),
            "guest": guarded.of(_scope(), GUEST),
        }
        first, *questions = Dialogue(_SEEDS[1]).questions(1 + WARM_UP + searches)
        for store in (bare, plain, governed, guarded):
            store.of(_scope(), OWNER).search(first)
        first_ms = milliseconds(partial(ways["guest"].search, first))
        times: dict[str, list[float]] = {name: [] for name in ways}
        names = deque(ways)
        for number, question in enumerate(questions):
            for name in names:
                times[name].append(milliseconds(partial(ways[name].search, question)))
            names.rotate()
            progress(f"{pages:,} pages: searching", number + 1, len(questions))
        guest_pages = ways["guest"].pages.count()
    found = {name: percentiles(taken[WARM_UP:], 50, 95) for name, taken in times.items()}
    return PolicyCost(
        pages, classes, guest_pages, **{f"{name}_ms": one for name, one in found.items()}, first_ms=first_ms
    )


def _fill(place: Path, pages: int, embedder: Embedder, progress: Progress) -> int:
    """Store pages as `add_many` writes them; every fifth session is sensitive. Returns the number of their classes."""
    dialogue, classes = Dialogue(_SEEDS[0]), set[tuple[str, ...]]()
    settings = load_settings()
    vault = open_vault(
        place,
        embedder=embedder.name,
        clock=system_clock,
        busy_timeout_seconds=settings.busy_timeout_seconds,
        key=EncryptionKey.of(settings),
    )
    with closing(vault):
        for number, done in enumerate(range(0, pages, AT_A_TIME)):
            about = About((f"tag{number % 20}",), sensitivity=("diagnosis",) if number % 5 == 0 else ())
            classes.add(about.labels)
            turns = ingest.paginate(dialogue.session(min(AT_A_TIME, pages - done)))
            now = system_clock()
            cubes = [ingest.page_cube(page, _scope(), now=now, origin=Origin.USER_INPUT, about=about) for page in turns]
            entries = ingest.embedded(cubes, embedder)
            with vault.write(_scope()) as writer:
                writer.insert(entries)
            progress(f"{pages:,} pages: loading", min(done + AT_A_TIME, pages), pages)
    return len(classes)


def _scope() -> Scope:
    return Scope(user=OWNER.identity)
