"""An answer in pieces, for a `for` or an `async for`. Between two pieces it holds no thread and no place in a queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Self

from memoryos.errors import ModelError
from memoryos.interruptible import result
from memoryos.models.flow import Flow


class AnswerStream(Iterator[str], AsyncIterator[str]):
    """The pieces of one answer, for one reader. The model is asked when the first piece is taken."""

    def __init__(self, begin: Callable[[], Flow[str]], whole: Callable[[str], None]) -> None:
        """`begin` asks the model; `whole` is told the answer once its last piece has been taken."""
        self._begin = begin
        self._whole = whole
        self._flow: Flow[str] | None = None
        self._said: list[str] = []
        self._is_over = False

    def __next__(self) -> str:
        """The next piece. Raises ModelError when the model fails; then nothing is stored."""
        if self._is_over:
            raise StopIteration
        with self._ended_by_errors():
            piece = self._kept(result(self._flowing().next()))
        if piece is None:
            raise StopIteration
        return piece

    async def __anext__(self) -> str:
        """The next piece. Raises ModelError when the model fails; then nothing is stored."""
        if self._is_over:
            raise StopAsyncIteration
        with self._ended_by_errors():
            piece = self._kept(await asyncio.wrap_future(self._flowing().next()))
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
        """Take no more: the model is no longer listened to, and nothing is stored. Harmless at the end."""
        self._is_over = True
        if self._flow is not None:
            self._flow.stop()

    def _flowing(self) -> Flow[str]:
        if self._flow is None:
            self._flow = self._begin()
        return self._flow

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """After an error or an interrupt there is no next piece."""
        is_well = False
        try:
            yield
            is_well = True
        finally:
            if not is_well:
                self.close()

    def _kept(self, piece: str | None) -> str | None:
        """The piece; after the last one the answer is whole."""
        if piece is not None:
            self._said.append(piece)
            return piece
        self._is_over = True
        answer = "".join(self._said).strip()
        if not answer:
            raise ModelError("the chat model sent an empty answer; nothing was stored")
        self._whole(answer)
        return None
