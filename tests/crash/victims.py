"""Processes that die: one is killed before each SQL statement and each COMMIT of a scenario.

    python -m crash.victims SCENARIO TEMPLATE FOLDER [long]

Forks one process per kill point, so that the imports are paid once. The n-th works on FOLDER/n.db, a
copy of TEMPLATE, and is killed by SIGKILL right before its n-th step; what it was told is done it
writes to FOLDER/n.done. The last one has no n-th step, lives, and ends the series.

Reads in a row are one step, for nothing is written between them; so is a statement with one row after the other.
All have the same time and make the same ids, so that two who died in one state leave the same.

Most die only before every so many (`STRIDES`), which are fewer in a long run. What a scenario needs is made once
(`PREPARED`).

    python -m crash.victims forever STORE FIRST

Adds pages to STORE, numbered from FIRST, and prints the id of each, until somebody kills it.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from sqlalchemy import Engine, event
from uuid_utils.compat import uuid7

from crash.stores import OTHER, SETTINGS, add_page, cold_settings, objects_of, open_store, unique_word
from forked import fork
from memoryos import Memory, MemoryOS, stores
from memoryos.caller import SYSTEM, acting
from memoryos.clock import Clock, system_clock
from memoryos.config import Settings
from memoryos.infrastructure.objects.blobs import folder_beside
from memoryos.infrastructure.vault import rows
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Tier
from memoryos.models.embedder import load_embedder
from memoryos.operation.correction import forget as forgetting
from memoryos.operation.correction import removal
from memoryos.operation.hierarchy import changes
from memoryos.operation.hierarchy.arrangement import Reason, Rehoming
from memoryos.operation.hierarchy.rehome import Rehomer, rehoming_of
from memoryos.operation.knowledge import support
from memoryos.operation.maintenance import rebuild as rebuilding
from memoryos.operation.maintenance import reembed as reembedding
from memoryos.operation.maintenance import repairer as repairing
from public import store_of

UNDONE = SETTINGS.model_copy(update={"mid_term_capacity": 20, "heat_threshold": 1e9, "self_repair": False})

STRIDES = {
    "add": (3, 1),
    "create": (2, 2),
    "attach": (7, 3),
    "detach": (7, 3),
    "rebuild": (31, 8),
    "load_frozen": (7, 1),
    "delete": (9, 1),
    "delete_segment": (23, 4),
    "forget": (29, 4),
    "undo": (23, 5),
    "update": (9, 1),
    "visits": (5, 1),
    "sweep": (13, 3),
    "reembed": (19, 3),
    "backup": (53, 11),
    "restore": (53, 11),
    "copy": (53, 11),
    "cool": (3, 1),
    "warm": (3, 1),
    "erase": (8, 3),
}  # steps from one death to the next, and in a long run; of the other scenarios, one

FEW_ROWS = 10  # in a transaction of a copy

NEVER = 0  # the step before the first

NEW = 90  # the number of the page that a scenario adds
KEY = "ninety"

Done = Callable[[str], None]

MOMENT = system_clock()


def now() -> datetime:
    """The time of all processes."""
    return MOMENT


def opened(path: Path, clock: Clock = now, settings: Settings = SETTINGS) -> Memory:
    """The store as each of them uses it."""
    return open_store(path, clock, settings=settings)


def kill_at(step: int, folder: Path | None = None) -> None:
    """From now on count the statements and commits of this process; die before the given one.

    What happens to files of the folder counts, too: opening, renaming, removing one.
    """
    steps, before = count(1), [""]

    def pass_or_die(statement: str) -> None:
        kind = "SELECT" if statement.startswith("SELECT") else " ".join(statement.split()[:3])
        if kind != before[-1]:
            before[:] = [kind]
            die_or_not()

    def die_or_not() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def look(told: str, values: tuple[object, ...]) -> None:
        if told in ("open", "os.rename", "os.remove", "os.scandir") and str(values[0]).startswith(str(folder)):
            before[:] = [told]
            die_or_not()

    # SQLite itself tells of each statement before it runs it, whoever sent it.
    event.listen(Engine, "checkout", lambda connection, *_: connection.set_trace_callback(pass_or_die))
    if folder:
        sys.addaudithook(look)


def create(path: Path, step: int, done: Done) -> None:
    """Open a store that does not exist."""
    kill_at(step)
    opened(path).close()
    done("open")


def add(path: Path, step: int, done: Done) -> None:
    """Add a page, and run the job that follows."""
    with opened(path) as memory:
        kill_at(step)
        done(add_page(memory, NEW))


def add_with_key(path: Path, step: int, done: Done) -> None:
    """Add a page with a key, and end before what follows it."""
    memory = opened(path)
    with memory._engine.housekeeping.call():
        kill_at(step)
        done(add_page(memory, NEW, idempotency_key=KEY))
        memory._engine.housekeeping.abandon()


def visits(path: Path, step: int, done: Done) -> None:
    """Search, so that closing has visits to write."""
    with opened(path) as memory:
        kill_at(step)
        memory.search(unique_word(7))
    done("close")


def update(path: Path, step: int, done: Done) -> None:
    """Correct a page that shares its segment with another."""
    with opened(path) as memory:
        kill_at(step)
        page = _middle_page(memory)
        memory.update(page, f"I moved to Lisbon {unique_word(NEW)}")
        done(page)


def delete(path: Path, step: int, done: Done) -> None:
    """Delete a page that shares its segment with another."""
    with opened(path) as memory:
        kill_at(step)
        page = _middle_page(memory)
        memory.delete(page)
        done(page)


def delete_segment(path: Path, step: int, done: Done) -> None:
    """Delete the pages that one fact rests on, a link at a time, and each memory in a transaction of its own."""
    support.FEW, support.LINKS_AT_ONCE, changes.CHARS_AT_ONCE, removal.PAGES_AT_ONCE = 0, 1, 1, 2
    with opened(path) as memory:
        first = next(page.id for page in memory.pages.list() if unique_word(NEW) in page.text)
        (segment,) = [view.cube.id for view in memory.segments.list() if first in view.page_ids]
        kill_at(step)
        memory.delete(segment)
        done(segment)


def forget(path: Path, step: int, done: Done) -> None:
    """Forget everything, a few rows in each transaction."""
    forgetting.PARTS_AT_ONCE, forgetting.ROWS_AT_ONCE = 2, 20
    with opened(path) as memory:
        kill_at(step)
        memory.forget()
        done("forget")


def rebuild(path: Path, step: int, done: Done) -> None:
    """Derive everything again, a few pages at a time."""
    rebuilding.AT_A_TIME = 3
    with opened(path) as memory:
        kill_at(step)
        memory.upkeep.rebuild()
        done("rebuild")


def undo(path: Path, step: int, done: Done) -> None:
    """Put pages back into the segments from which they were moved, two at a time."""
    repairing.MOVED_AT_ONCE = 2
    with opened(path, settings=UNDONE) as memory:
        moved = moves(memory)
        kill_at(step)
        memory.upkeep.undo(*moved)
        done("undo")


def _moved_together(memory: Memory) -> None:
    """Move all pages of MTM to its first segment, as a repair would."""
    first, *others = memory.segments.list()
    found = [Rehoming(page, one.cube.id, first.cube.id, Reason.MOVE) for one in others for page in one.page_ids]
    with memory._engine.vault.write(memory._scope) as writer:
        Rehomer(writer, found, now()).flush(writer)


def moves(memory: Memory) -> dict[int, Rehoming]:
    """The moves of the repair, by the numbers of their events."""
    events = [event for event in memory.log.events(limit=10_000) if event.operation is Operation.REHOME]
    found = {event.sequence: rehoming_of(event) for event in events}
    return {sequence: one for sequence, one in found.items() if one.reason is Reason.MOVE}


def reembed(path: Path, step: int, done: Done) -> None:
    """Change to another embedder, a few pages at a time."""
    reembedding.AT_A_TIME, reembedding.SWEPT = 3, 5
    embedder = load_embedder(OTHER)
    kill_at(step)
    stores.reembed(path, embedder, settings=SETTINGS)
    done("reembed")


def backup(path: Path, step: int, done: Done) -> None:
    """Back the store up, a few rows at a time."""
    rows.AT_A_TIME = FEW_ROWS
    kill_at(step)
    stores.backup(path, path.with_suffix(".backup"), settings=SETTINGS)
    done("backup")


def copy(path: Path, step: int, done: Done) -> None:
    """Copy the store, a few rows at a time."""
    rows.AT_A_TIME = FEW_ROWS
    kill_at(step)
    stores.copy(path, path.with_suffix(".copy"), settings=SETTINGS)
    done("copy")


def load_frozen(path: Path, step: int, done: Done) -> None:
    """Load a file with a frozen topic of which a page has expired since."""
    with opened(path, settings=UNDONE) as memory:
        kill_at(step)
        store_of(memory).admin.load(EXPORTED[0])
        done("load")


def restore(path: Path, step: int, done: Done) -> None:
    """Make a store of the backup that the template is, a few rows at a time."""
    rows.AT_A_TIME = FEW_ROWS
    kill_at(step)
    stores.restore(path, path.with_suffix(".copy"), settings=SETTINGS)
    done("restore")


def cool(path: Path, step: int, done: Done) -> None:
    """Move what is archived into the object store."""
    with opened(path, settings=cold_settings(path)) as memory:
        kill_at(step, objects_of(path))
        MemoryOS(memory._engine).admin.cool(after_days=0)
        done("cool")


def warm(path: Path, step: int, done: Done) -> None:
    """Read a page that is in the object store, so that it is brought back."""
    with opened(path, settings=cold_settings(path)) as memory:
        page = memory.pages.list(tier=Tier.ARCHIVE)[0].id
        MemoryOS(memory._engine).admin.cool(after_days=0)
        kill_at(step)
        memory.get(page)
        memory.wait()
        done(page)


def sweep(path: Path, step: int, done: Done) -> None:
    """Remove pages whose lifespan has ended, two at a time, with the facts that rest on them."""
    removal.PAGES_AT_ONCE = 2
    with opened(path, lambda: now() + timedelta(hours=2)) as memory:
        kill_at(step)
        memory.jobs.run()
        done("sweep")


def erase(path: Path, step: int, done: Done) -> None:
    """Delete a page that is in the object store, and remove the pack that it was in."""
    with opened(path, settings=cold_settings(path)) as memory:
        page = memory.pages.list(tier=Tier.ARCHIVE)[0].id
        MemoryOS(memory._engine).admin.cool(after_days=0)
    with opened(path, lambda: now() + timedelta(hours=2), settings=cold_settings(path)) as memory:
        kill_at(step, objects_of(path))
        memory.delete(page)
        done(page)
        memory._engine.clock = memory._engine.cooler.clock = memory._engine.vault._clock = lambda: (
            now() + timedelta(hours=4)
        )
        MemoryOS(memory._engine).admin.cool(after_days=10_000)


PICTURE = b"\x89PNG a boat"


def attach(path: Path, step: int, done: Done) -> None:
    """Add a page with a picture."""
    with opened(path) as memory:
        kill_at(step, folder_beside(path))
        done(_with_picture(memory))
        memory._engine.housekeeping.abandon()


def detach(path: Path, step: int, done: Done) -> None:
    """Delete the only page with a picture."""
    with opened(path) as memory:
        page = _with_picture(memory)
        memory.wait()
        kill_at(step, folder_beside(path))
        memory.delete(page)
        done(page)
        memory._engine.housekeeping.abandon()


def _with_picture(memory: Memory) -> str:
    picture = {"type": "image", "source": {"media_type": "image/png", "data": PICTURE}, "caption": "a boat"}
    (page,) = memory.add([{"role": "user", "content": ["Look at this.", picture]}])
    return page


def with_tea(path: Path, pages: int, ttl: int | None = None) -> None:
    """Add so many pages that one fact rests on."""
    said = "I love green tea with honey. My brother is called Tom."
    with opened(path) as memory:
        for number in range(NEW, NEW + pages):
            memory.add(f"{said} {unique_word(number)}", ttl=ttl)
        memory.consolidate()


def with_moves(path: Path) -> None:
    """Add pages, and move all that left STM into one segment."""
    with opened(path, settings=UNDONE) as memory:
        for number in range(NEW, NEW + 6):
            add_page(memory, number)
        acting(SYSTEM, lambda: _moved_together(memory))
        memory.jobs.run()


def with_frozen(path: Path) -> None:
    """Export another memory of that person, with a frozen topic, before a page of the topic expires."""
    earlier = MOMENT - timedelta(hours=2)
    with opened(path.with_name("source.db"), clock=lambda: earlier, settings=UNDONE) as memory:
        for number in range(NEW, NEW + 3):
            said = f"I like spicy noodle soup with garlic and ginger from {unique_word(number)}."
            memory.add(said, "Garlic and ginger go well with noodle soup.", ttl=3600 if number == NEW + 1 else None)
        for number in range(2):
            add_page(memory, NEW + 4 + number)
        memory.wait()
        topic = max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube.id
        memory.governance.freeze(topic)
        EXPORTED.append(path.with_name("frozen.jsonl"))
        memory.export(EXPORTED[0])


EXPORTED: list[Path] = []

PREPARED = {
    "load_frozen": with_frozen,
    "delete_segment": lambda path: with_tea(path, 6),
    "sweep": lambda path: with_tea(path, 3, ttl=3600),
    "undo": with_moves,
}  # what is done to the template before the first death


def forever(place: str, first: int) -> None:
    """Add pages until somebody kills this process."""
    memory = open_store(place)
    for number in count(first):
        print(add_page(memory, number), flush=True)  # noqa: T201 - to the test that reads it


def _middle_page(memory: Memory) -> str:
    """The last page that has left STM."""
    return memory.pages.list(tier=Tier.MTM)[-1].id


def main(scenario: Callable[[Path, int, Done], None], template: Path, folder: Path, is_long: bool) -> None:
    """Run the scenario again and again, each time with a later death, until it survives."""
    template = _prepared(scenario.__name__, template, folder)
    _warm_up(scenario, template)
    _make_the_same_ids()
    for step in count(1, STRIDES.get(scenario.__name__, (1, 1))[is_long]):
        victim = fork()
        if victim == 0:
            _die(scenario, template, folder, step)
        _, status = os.waitpid(victim, 0)
        if os.WIFEXITED(status):
            sys.exit(os.WEXITSTATUS(status))
        if os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"step {step} ended with signal {os.WTERMSIG(status)}")


def _prepared(scenario: str, template: Path, folder: Path) -> Path:
    if scenario not in PREPARED:
        return template
    path = folder / "prepared.db"
    shutil.copyfile(template, path)
    PREPARED[scenario](path)
    return path


def _warm_up(scenario: Callable[[Path, int, Done], None], template: Path) -> None:
    """Play it once before the forks: what is read, compiled and imported at first use is so for all of them."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "warm.db")
        if template.exists():
            shutil.copyfile(template, path)
        scenario(path, NEVER, lambda _what: None)


def _make_the_same_ids() -> None:
    """From now on each process makes the next id from the one that it made before."""
    numbers = count(uuid7().int)
    for name, module in sys.modules.items():
        if name.startswith("memoryos.") and hasattr(module, "uuid7"):
            module.uuid7 = lambda: UUID(int=next(numbers))


def _die(scenario: Callable[[Path, int, Done], None], template: Path, folder: Path, step: int) -> None:
    if template.exists():
        shutil.copyfile(template, folder / f"{step}.db")
    code = 1
    try:
        scenario(folder / f"{step}.db", step, lambda what: _acknowledge(folder / f"{step}.done", what))
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def _acknowledge(path: Path, what: str) -> None:
    """Say that it is done, whole or not at all: the job's thread may kill us in the middle of this, too."""
    draft = path.with_suffix(".draft")
    draft.write_text(what)
    draft.rename(path)


if __name__ == "__main__":
    if sys.argv[1] == "forever":
        forever(sys.argv[2], int(sys.argv[3]))
    else:
        cases = (
            create,
            add,
            add_with_key,
            visits,
            update,
            delete,
            delete_segment,
            forget,
            sweep,
            rebuild,
            undo,
            reembed,
            backup,
            copy,
            restore,
            load_frozen,
            cool,
            warm,
            erase,
            attach,
            detach,
        )
        known = {case.__name__: case for case in cases}
        main(known[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3]), "long" in sys.argv[4:])
