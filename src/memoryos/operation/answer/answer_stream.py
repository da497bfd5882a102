"""AnswerStream: an answer in pieces, for `for` and `async for`. It holds no thread and no queue slot between pieces."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Self

from memoryos.errors import ModelError
from memoryos.home_process import HomeProcess
from memoryos.interruptible import result
from memoryos.models.chat import EMPTY, Answer
from memoryos.models.flow import Flow
from memoryos.operation.answer.one_reader import OneReader
from memoryos.operation.recall.hit import Hit

CHECK_AFTER = 1.0  # seconds between two looks at the caller's key


class AnswerStream(Iterator[str], AsyncIterator[str]):
    """The pieces of one answer, for one reader. The model is asked when the reader takes the first piece."""

    def __init__(
        self,
        begin: Callable[[], Flow[str]],
        whole: Callable[[str], Answer],
        recalled: tuple[Hit, ...] = (),
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`begin` asks the model; `whole` gets the complete text after its last piece, and returns the answer.

        `check` is called about every second, and after the last piece; its error ends the answer.
        """
        self.recalled = recalled  #: the memories that were found for the question and are in its prompt, best first
        self._home = HomeProcess()
        self._reader = OneReader()
        self._check = check
        self._checked = time.monotonic()
        self._begin = begin
        self._whole = whole
        self._flow: Flow[str] | None = None
        self._said: list[str] = []
        self._is_over = False
        self.answer: Answer | None = None  #: the whole answer with its mark, after the last piece; tokens are counted

    def __next__(self) -> str:
        """Return the next piece.

        Raises ModelError if the model fails, PermissionDenied if the caller's key was revoked or has expired, and
        StorageError in a forked child; then nothing is stored. Raises Refused while another thread or task waits for a
        piece, who gets it.
        """
        self._home.check()
        if self._is_over:
            raise StopIteration
        with self._reader.reading(), self._ended_by_errors():
            piece = result(self._flowing().next())
            if self._is_check_due(piece):
                self._check()
            piece = self._kept(piece)
        if piece is None:
            raise StopIteration
        return piece

    async def __anext__(self) -> str:
        """Return the next piece. Raises like `__next__`."""
        self._home.check()
        if self._is_over:
            raise StopAsyncIteration
        with self._reader.reading(), self._ended_by_errors():
            piece = await asyncio.wrap_future(self._flowing().next())
            if self._is_check_due(piece):
                await asyncio.to_thread(self._check)
            piece = self._kept(piece)
        if piece is None:
            raise StopAsyncIteration
        return piece

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Stop the answer and the model; nothing is stored. After the end, and in a forked child, this does nothing."""
        self._is_over = True
        if self._flow is not None:
            self._flow.stop()

    def _is_check_due(self, piece: str | None) -> bool:
        """Whether the last check was a while ago, or the answer ends; then the next one counts from now."""
        if is_due := piece is None or time.monotonic() - self._checked >= CHECK_AFTER:
            self._checked = time.monotonic()
        return is_due

    def _flowing(self) -> Flow[str]:
        if self._flow is None:
            self._flow = self._begin()
        return self._flow

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """End the stream after an error or an interrupt."""
        is_well = False
        try:
            yield
            is_well = True
        finally:
            if not is_well:
                self.close()

    def _kept(self, piece: str | None) -> str | None:
        """Keep the piece; after the last one the answer is complete. If it was closed meanwhile, it just ends."""
        if self._is_over:
            return None
        if piece is not None:
            self._said.append(piece)
            return piece
        self._is_over = True
        text = "".join(self._said).strip()
        if not text:
            raise ModelError(EMPTY)
        self.answer = self._whole(text)
        return None
