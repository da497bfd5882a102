"""AsyncAnswerStream: an answer in pieces, for `async for`. The memory is searched when the first piece is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Self

from memoryos.models.chat import Answer
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.operation.answer.one_reader import OneReader
from memoryos.operation.recall.hit import Hit


class AsyncAnswerStream(AsyncIterator[str]):
    """The pieces of one answer, for one reader."""

    def __init__(self, begin: Callable[[], AnswerStream]) -> None:
        """`begin` searches the memory, in another thread."""
        self._begin = begin
        self._stream: AnswerStream | None = None
        self._reader = OneReader()
        self._is_over = False

    @property
    def answer(self) -> Answer | None:
        """The whole answer with its mark, after the last piece; tokens are counted."""
        return None if self._stream is None else self._stream.answer

    @property
    def recalled(self) -> tuple[Hit, ...]:
        """The memories that were found for the question and are in its prompt, once the first piece was taken."""
        return () if self._stream is None else self._stream.recalled

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        """Return the next piece. Raises ModelError if the model fails; then nothing is stored.

        Raises Refused while another task waits for a piece, who gets it.
        """
        if self._is_over:
            raise StopAsyncIteration
        with self._reader.reading():
            if self._stream is None:
                self._stream = await asyncio.to_thread(self._begin)
            if self._is_over:  # closed while the memory was searched
                self._stream.close()
            return await anext(self._stream)

    async def aclose(self) -> None:
        """Stop the answer and the model; nothing is stored. After the end, this does nothing."""
        self._is_over = True
        if self._stream is not None:
            self._stream.close()
