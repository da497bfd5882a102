"""Served embedders: any OpenAI-compatible embeddings endpoint, through the official SDK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, StrictInt, ValidationError

from memoryos.config import SERVED, Settings
from memoryos.errors import ModelError, ModelNotConfigured
from memoryos.models.endpoint import OPENAI_URL, Endpoint, checked_key
from memoryos.models.shapes import described

_TEXTS = 32  # a request; some servers (TEI) refuse more unless told otherwise
_CHARS = 60_000  # a request; the model's tokens for them stay far below OpenAI's limit of 300,000
_LONGEST = 6_000  # characters of a text: models refuse more than they can read, often 8,192 tokens
_PROBE = "How many numbers?"
_MOST_NUMBERS = 12_288  # of a vector whose length is not known yet
_NUMBER_BYTES = 40  # of JSON at most for each: the longest has 24, and some servers indent lists
_FRAME_BYTES = 2**16  # of JSON for the rest of an answer


class _Vector(BaseModel):
    index: StrictInt
    embedding: Any  # numpy looks at it as a whole


class _Answer(BaseModel):
    data: list[_Vector]


class OpenAIEmbedder:
    """An embedder behind the OpenAI API or a compatible one. Threads may share one."""

    def __init__(self, model: str, settings: Settings) -> None:
        """Without the setting `embedder_dim`, a small request finds the length of a vector; ModelError if it fails."""
        self._model = model
        self._endpoint = _endpoint(model, settings)
        self._connection = self._endpoint.connect()
        # Several memories may share an embedder, so none of them closes it.
        finalize(self, self._connection.close)
        self._options: dict[str, Any] = {"dimensions": settings.embedder_dim} if settings.embedder_dim else {}
        self.dim = settings.embedder_dim or self._sent([_PROBE], _MOST_NUMBERS, quoting=True).shape[1]
        self.name = f"{SERVED}{model}@{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text; only its first 6,000 characters count. Raises ModelError."""
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        vectors[:, 0] = 1.0  # for a blank text, which servers refuse: a direction like any other, never NaN
        for batch in _batches(texts):
            rows = self._sent([texts[index][:_LONGEST] for index in batch], self.dim)
            if rows.shape[1] != self.dim:
                raise self._refusal(f"vectors of {rows.shape[1]:,} numbers instead of {self.dim:,}")
            vectors[batch] = rows
        return vectors

    def _sent(self, texts: list[str], dim: int, *, quoting: bool = False) -> NDArray[np.float64]:
        """The unit vectors from the server, in the order of the texts; `dim` is how long they are at most."""
        body = {"model": self._model, "input": texts, "encoding_format": "float", **self._options}
        most = _FRAME_BYTES + len(texts) * dim * _NUMBER_BYTES
        answer = self._read(self._connection.ask("/embeddings", body, quoting=quoting, most=most))
        sent = {item.index: item.embedding for item in answer.data}
        if len(answer.data) != len(texts) or set(sent) != set(range(len(texts))):
            raise self._refusal(f"{len(answer.data):,} vectors for {len(texts):,} texts, or numbered them wrongly")
        return self._unit(self._rows([sent[index] for index in range(len(texts))]))

    def _rows(self, vectors: list[Any]) -> NDArray[np.float64]:
        try:
            return np.asarray(vectors, dtype=np.float64)
        except (ValueError, TypeError, OverflowError):  # numpy quotes the value, and a server may send back the text
            raise self._refusal("something else than vectors of numbers") from None

    def _read(self, sent: Any) -> _Answer:
        try:
            return _Answer.model_validate(sent)
        except ValidationError as error:
            raise self._refusal(f"a reply that is not in the form of the OpenAI API ({described(error)})") from None

    def _unit(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if rows.ndim != 2:
            raise self._refusal("something else than vectors of numbers")
        with np.errstate(over="ignore"):
            lengths: NDArray[np.float64] = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        if not np.all((lengths > 0) & (lengths < np.inf)):
            raise self._refusal("a vector without a direction (all zeros, or not finite)")
        return rows / lengths

    def _refusal(self, sent: str) -> ModelError:
        return ModelError(f"the {self._endpoint.what} sent {sent}; nothing was stored")


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indexes of texts that fit into a request, in order, without the blank ones."""
    batch: list[int] = []
    chars = 0
    for index, text in enumerate(texts):
        length = min(len(text), _LONGEST)
        if not text.strip():
            continue
        if len(batch) == _TEXTS or chars + length > _CHARS:
            yield batch
            batch, chars = [], 0
        batch.append(index)
        chars += length
    if batch:
        yield batch


def _endpoint(model: str, settings: Settings) -> Endpoint:
    what = f"embedder {SERVED}{model}"
    chat_url = settings.llm_base_url or OPENAI_URL
    url = settings.embedder_base_url or chat_url
    # A key belongs to a server: the chat model's is not shown to another one.
    is_chats = not settings.embedder_api_key and url.rstrip("/") == chat_url.rstrip("/")
    name = "llm_api_key" if is_chats else "embedder_api_key"
    secret = settings.llm_api_key if is_chats else settings.embedder_api_key
    if not secret and url == OPENAI_URL:
        raise ModelNotConfigured(
            f"the {what} needs a key: set MEMORYOS_EMBEDDER_API_KEY (or MEMORYOS_EMBEDDER_BASE_URL for another server)"
        )
    return Endpoint(
        what=what,
        url=url,
        key=checked_key(name, secret),
        timeout_seconds=settings.llm_timeout_seconds,
        retries=settings.llm_retries,
    )
