"""Audit cost: what the audit log adds to adds and searches, and what encryption adds to them.

Each variant has a store of its own with the same pages: one is filled, and the others are copies of it. Adds and
searches go from store to store in turn, so that all meet the machine as it is at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from pydantic import SecretStr

from memoryos import stores
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.timing import milliseconds, percentiles
from memoryos.config import Settings
from memoryos.infrastructure.encryption.encryption_key import new_key
from memoryos.memory import Memory
from memoryos.memory_os import open as open_memory

USER = "bench"
AT_A_TIME = 1_000  # pages
COUNT = 300  # adds, and as many searches
WARM_UP = 20
SEED = 11

PLAIN = "plain"  # the variant that others are compared with

_OPEN = {"audit": False, "encryption_key": None, "encryption_key_file": None, "encryption_keyring": None}

VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {PLAIN: _OPEN, "audit": {**_OPEN, "audit": True}, "encrypted": {**_OPEN, "encryption_key": SecretStr(new_key())}}
)


@dataclass(frozen=True, slots=True)
class AuditCost:
    """The times of one variant, ms."""

    add_ms: dict[str, float]  #: p50 and p95 of a durable add
    search_ms: dict[str, float]  #: p50 and p95


def measure_audit(
    pages: int, settings: Settings, progress: Progress = unwatched, *, count: int | None = None
) -> dict[str, AuditCost]:
    """Measure `count` adds and searches (default: COUNT) with each variant, in stores of this size."""
    wanted = WARM_UP + (COUNT if count is None else count)
    chosen = {name: settings.model_copy(update=dict(changed)) for name, changed in VARIANTS.items()}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="memoryos-bench-")))
        paths = {name: folder / f"{name}.db" for name in VARIANTS}
        _fill(paths[PLAIN], pages, chosen[PLAIN], progress)
        for name in paths.keys() - {PLAIN}:
            _copy(paths[PLAIN], paths[name], chosen[PLAIN], chosen[name])
        memories = {
            name: stack.enter_context(open_memory(path, user=USER, settings=chosen[name]))
            for name, path in paths.items()
        }
        later = Dialogue(SEED + 1)
        searches = _timed(memories, Memory.search, [(one,) for one in later.questions(wanted)], progress)
        adds = _timed(memories, Memory.add, later.exchanges(wanted), progress)
        return {
            name: AuditCost(percentiles(adds[name], 50, 95), percentiles(searches[name], 50, 95)) for name in memories
        }


def _fill(path: Path, pages: int, settings: Settings, progress: Progress) -> None:
    """Add the pages to a new store, some at a time."""
    dialogue = Dialogue(SEED)
    with open_memory(path, user=USER, settings=settings) as memory:
        for start in range(0, pages, AT_A_TIME):
            memory.add_many(dialogue.session(min(AT_A_TIME, pages - start)))
            progress(f"{pages:,} pages: adding", min(start + AT_A_TIME, pages), pages)
        memory.wait()


def _copy(filled: Path, path: Path, plain: Settings, wanted: Settings) -> None:
    """Copy a store that is not encrypted, and encrypt the copy if it is to be."""
    stores.copy(filled, path, settings=plain)
    if wanted.encryption_key:
        stores.encrypt(path, settings=wanted)


def _timed(
    memories: Mapping[str, Memory],
    operation: Callable[..., object],
    said: Sequence[tuple[str, ...]],
    progress: Progress,
) -> dict[str, list[float]]:
    """The times of the operation in each memory, ms, one after the other; the first ones warm it up."""
    times: dict[str, list[float]] = {name: [] for name in memories}
    for number, words in enumerate(said):
        for name, memory in memories.items():
            took = milliseconds(partial(operation, memory, *words))
            if number >= WARM_UP:
                times[name].append(took)
        progress(operation.__name__, number + 1, len(said))
    return times
