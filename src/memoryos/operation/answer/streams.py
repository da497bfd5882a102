"""Streams: answers of a model for readers who take the pieces at their own pace.

Few at once come from the model, each in a thread that lasts as long as the model speaks; the others wait without one.
What came waits for its reader, who holds nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock, Thread, current_thread

from memoryos.errors import ModelError
from memoryos.models.flow import Flow

Pour = Callable[[Flow[str]], None]


class Streams:
    """The streams of one memory."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._lock = Lock()
        self._waiting: deque[tuple[Flow[str], Pour]] = deque()
        self._speaking: dict[Thread, Flow[str] | None] = {}

    def begin(self, pour: Pour) -> Flow[str]:
        """Start `pour` once there is a free slot, and return the flow of its pieces. An error ends the flow."""
        flow: Flow[str] = Flow()
        with self._lock:
            self._waiting.append((flow, pour))
            if len(self._speaking) < self._at_once:
                # A daemon: at the end of the program nobody waits for a model.
                thread = Thread(target=self._work, name="memoryos-stream", daemon=True)
                self._speaking[thread] = None
                thread.start()
        return flow

    def close(self) -> None:
        """End all streams: their readers get a ModelError. Returns when their usage is recorded."""
        with self._lock:
            flows = [flow for flow, _ in self._waiting] + [flow for flow in self._speaking.values() if flow]
            threads = list(self._speaking)
            self._waiting.clear()
        for flow in flows:
            flow.end(ModelError("the memory was closed before the answer was complete; nothing was stored"))
            flow.stop()
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        while one := self._next():
            flow, pour = one
            try:
                if not flow.is_over:
                    pour(flow)
            except Exception as error:  # noqa: BLE001 - a thread's outermost line: the reader raises it
                flow.end(error)
            else:
                flow.end()

    def _next(self) -> tuple[Flow[str], Pour] | None:
        with self._lock:
            if not self._waiting:
                del self._speaking[current_thread()]
                return None
            flow, pour = self._waiting.popleft()
            self._speaking[current_thread()] = flow
            return flow, pour
