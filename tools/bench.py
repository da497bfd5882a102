"""Time adding and searching on the demo conversation, beside the embedder alone. Run it with `make bench`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from memoryos import MemoryOS
from memoryos.interface.cli.demo import load_script
from memoryos.models.embedder import load_embedder

ROUNDS = 10  # copies of the conversation in the store


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def report(name: str, times: list[float]) -> None:
    print(f"{name:<40} p50 {median(times):7.2f} ms   p95 {quantiles(times, n=20)[-1]:7.2f} ms   n={len(times)}")


def main() -> None:
    script = load_script()
    embedder = load_embedder("minilm")
    embedder.embed(["warm up"])
    said = [turn.text for session in script.sessions for turn in session]
    report("embed one turn", [milliseconds(lambda text=text: embedder.embed([text])) for text in said[:100]])
    with tempfile.TemporaryDirectory() as folder, MemoryOS.open(Path(folder) / "bench.db", user="bench") as memory:
        start = time.perf_counter()
        pages = sum(len(memory.add_many(session)) for _ in range(ROUNDS) for session in script.sessions)
        seconds = time.perf_counter() - start
        print(f"{'add_many, a session at a time':<40} {pages / seconds:7.0f} pages/s   {pages} pages")
        memory.wait()
        report("add one exchange", [milliseconds(lambda text=text: memory.add(text, "I see.")) for text in said[:100]])
        memory.wait()
        report("search", [milliseconds(lambda text=text: memory.search(text)) for text in said[:100]])


if __name__ == "__main__":
    main()
