"""Many processes on one store: writers, readers and workers at once, and whether each kept what was promised to others.

While they run, every reader checks its answers by what writers told before it asked (`word_ledger`); in the end all is
read back by a process that was not there: every acknowledged page, once, in order, and nothing that was deleted.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from memoryos.bench.actor import Done, Part, ReadingActor, notice_file, settings_of
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.timing import percentiles
from memoryos.config import Settings, load_settings
from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault.records import JobState
from memoryos.memory_os import MemoryOS

GRACE_SECONDS = 300.0  # to start, and to finish what was begun; who takes longer hangs

_SHOWN_OF_ERROR = 500  # characters


@dataclass(frozen=True, slots=True)
class Crowd:
    """The number of processes, and the duration."""

    writers: int = 8
    readers: int = 8
    workers: int = 0
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """The operations and faults of many processes."""

    crowd: Crowd
    counts: dict[str, int]  #: calls that returned, by operation
    per_second: dict[str, float]  #: of these, in the time given
    ms: dict[str, dict[str, float]]  #: p50 and p95 of each operation
    errors: dict[str, int]  #: that reached a caller, by operation and type
    violations: list[str]
    pages: int  #: read back in the end
    jobs: dict[str, int]  #: by state in the end, and those that workers finished
    rss_mb: dict[str, list[float]]  #: of each process, by role

    @property
    def is_sound(self) -> bool:
        """Whether every promise was kept."""
        return not (self.errors or self.violations)


def measure_processes(place: str, crowd: Crowd, settings: Settings, progress: Progress = unwatched) -> ProcessReport:
    """Let them all use the store at `place`, in two tenants of their own, which stay there.

    Raises MemoryOSError when a process dies or hangs.
    """
    with TemporaryDirectory(prefix="memoryos-bench-") as folder:
        told = settings_of(settings, has_workers=crowd.workers > 0)
        tenant = f"bench-{uuid4().hex[:8]}"
        part = Part("reader", 0, place, folder, tenant, crowd.writers, crowd.seconds, told)
        for number in range(crowd.writers):
            notice_file(Path(folder), number).touch()
        played = _play(part, crowd, progress)
        return _report(crowd, played, *_read_back(part))


def _play(part: Part, crowd: Crowd, progress: Progress) -> dict[str, list[Done]]:
    """All processes from start to end; returns what those of each role did."""
    sizes = {"writer": crowd.writers, "reader": crowd.readers, "worker": crowd.workers}
    parts = [replace(part, role=role, number=number) for role, count in sizes.items() for number in range(count)]
    with ExitStack() as stack:
        started = [(one, stack.enter_context(_process(one))) for one in parts]
        for number, (one, process) in enumerate(started):
            _await_ready(one, process)
            progress("starting", number + 1, len(started))
        for _, process in started:
            _say(process, "go")
        _watch(crowd.seconds, progress)
        deadline = time.monotonic() + GRACE_SECONDS
        # Workers come last, and work until the others have ended.
        played: dict[str, list[Done]] = {role: [] for role in sizes}
        for one, process in started:
            if one.role == "worker":
                process.send_signal(signal.SIGTERM)
            played[one.role].append(_ended(one, process, deadline))
        return played


@contextmanager
def _process(part: Part) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended with the block."""
    command = [sys.executable, "-m", "memoryos.bench.actor", json.dumps(asdict(part))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            process.kill()


def _await_ready(part: Part, process: subprocess.Popen[str]) -> None:
    if process.stdout is None or not process.stdout.readline():
        raise _failed(part, process.communicate()[1])


def _say(process: subprocess.Popen[str], line: str) -> None:
    if process.stdin:
        process.stdin.write(line + "\n")
        process.stdin.flush()


def _watch(seconds: float, progress: Progress) -> None:
    whole = max(1, round(seconds))
    for second in range(whole):
        time.sleep(seconds / whole)
        progress("running", second + 1, whole)


def _ended(part: Part, process: subprocess.Popen[str], deadline: float) -> Done:
    try:
        output, errors = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise MemoryOSError(f"{part.role} {part.number} did not end") from None
    if process.returncode:
        raise _failed(part, errors)
    return Done(**json.loads(output))


def _failed(part: Part, errors: str) -> MemoryOSError:
    return MemoryOSError(f"{part.role} {part.number} failed: {errors.strip()[-_SHOWN_OF_ERROR:]}")


def _read_back(part: Part) -> tuple[Done, int, Counter[str]]:
    """What a process that comes later finds: what is wrong, how many pages there are, and the jobs."""
    jobs: Counter[str] = Counter()
    with MemoryOS.open(part.place, settings=load_settings(**part.settings)) as memory:
        reader, pages = ReadingActor(memory, part), 0
        for number, scope in enumerate(part.scopes):
            served = reader.check_pages(number)
            reader.done.note(reader.ledger.invented(served, "pages"))
            reader.check_persona(number)
            pages += len(served)
            jobs.update(job.state.value for job in memory.of(scope).jobs.list(*JobState))
        for word in reader.ledger.departed(len(part.scopes) * 10):
            reader.check_search(word, is_there=False)
    return reader.done, pages, jobs


def _report(
    crowd: Crowd, played: dict[str, list[Done]], afterwards: Done, pages: int, jobs: Counter[str]
) -> ProcessReport:
    everyone = [done for role in played.values() for done in role]
    times: dict[str, list[float]] = {}
    for done in everyone:
        for operation, taken in done.times.items():
            times.setdefault(operation, []).extend(taken)
    told = [*everyone, afterwards]
    return ProcessReport(
        crowd=crowd,
        counts={operation: len(taken) for operation, taken in times.items()},
        per_second={operation: len(taken) / crowd.seconds for operation, taken in times.items()},
        ms={operation: percentiles(taken, 50, 95) for operation, taken in times.items()},
        errors=dict(sum((Counter(done.errors) for done in told), Counter[str]())),
        violations=[violation for done in told for violation in done.violations],
        pages=pages,
        jobs={**jobs, "by_workers": sum(done.jobs for done in everyone)},
        rss_mb={role: _known([done.rss_mb for done in found]) for role, found in played.items() if found},
    )


def _known(values: Sequence[float | None]) -> list[float]:
    return [round(value, 1) for value in values if value is not None]
