"""Flow: pieces from one writer for one reader, who takes them at its own pace."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import RLock
from typing import Generic, TypeVar

from memoryos.errors import ModelError
from memoryos.home_process import HomeProcess
from memoryos.interruptible import result

T = TypeVar("T")


class Flow(Iterator[T], Generic[T]):
    """Pieces between two threads, or between a thread and an event loop. The writer never waits for the reader."""

    def __init__(self) -> None:
        self._lock = RLock()  # a garbage collection within a block may stop the flow
        self._pieces: deque[T] = deque()
        self._wanted: Future[T | None] | None = None  # what the reader waits for
        self._error: BaseException | None = None
        self._on_stop: Callable[[], object] | None = None
        self._is_stopped = False
        self._home = HomeProcess()
        self.is_over = False  #: nothing more is taken from the writer

    def put(self, piece: T) -> None:
        """Add a piece; after the end it is dropped."""
        with self._lock:
            if self.is_over:
                return
            wanted = self._taken_up()
            if wanted is None:
                self._pieces.append(piece)
        if wanted is not None:
            wanted.set_result(piece)

    def end(self, error: BaseException | None = None) -> None:
        """End the flow, optionally with an error, which the reader gets after the last piece."""
        with self._lock:
            if self.is_over:
                return
            self.is_over, self._error = True, error
            wanted = self._taken_up()
        if wanted is not None:
            self._tell_end(wanted)

    def stop(self) -> None:
        """Stop reading: waiting pieces are dropped, and the writer is notified. In a forked child there is none."""
        if self._home.is_left:
            return
        with self._lock:
            self._pieces.clear()
            self._is_stopped = True
            on_stop, self._on_stop = self._on_stop, None
        self.end()
        if on_stop is not None:
            on_stop()

    def tells(self, on_stop: Callable[[], object]) -> None:
        """Call `on_stop` when the reader stops, or at once if it has stopped."""
        with self._lock:
            self._on_stop = on_stop
        if self._is_stopped:
            self.stop()

    def next(self) -> Future[T | None]:
        """Wait for the next piece and return it; None at the end. In a forked child, where none comes, ModelError."""
        future: Future[T | None] = Future()
        if self._home.is_left:
            future.set_exception(ModelError("the answer began before the process forked: ask again in the child"))
            return future
        with self._lock:
            piece = self._pieces.popleft() if self._pieces else None
            if piece is None and not self.is_over:
                self._wanted = future
                return future
        if piece is None:
            self._tell_end(future)
        else:
            future.set_result(piece)
        return future

    def __next__(self) -> T:
        piece = result(self.next())
        if piece is None:
            raise StopIteration
        return piece

    def _taken_up(self) -> Future[T | None] | None:
        """The piece that the reader waits for, unless it has stopped waiting."""
        wanted, self._wanted = self._wanted, None
        return wanted if wanted is not None and wanted.set_running_or_notify_cancel() else None

    def _tell_end(self, wanted: Future[T | None]) -> None:
        error, self._error = self._error, None  # as a generator does: the error once, and then the end
        if error is None:
            wanted.set_result(None)
        else:
            wanted.set_exception(error)
