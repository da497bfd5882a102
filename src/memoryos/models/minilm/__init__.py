"""all-MiniLM-L6-v2, shipped with the package: no download, no network, no GPU.

The weights are stored as int8 and computed with in float32. Int8 arithmetic would be twice as fast, but it scales the
activations of a whole batch by one number, and then a memory's vector depends on its neighbours (cosine down to 0.94).
`tools/build_minilm.py` makes the model and has the figures. English mostly: Chinese is matched by character.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from memoryos.models.word_pieces import WordPieces, word_pieces
from memoryos.process_lock import ProcessLock

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_FOLDER = Path(__file__).parent
_MAX_TOKENS = 256  # what the model was trained for; the rest of a text is not seen
_START, _END = 101, 102  # the marks around a text
_TOKENS_PER_BATCH = 2048  # padding included; larger batches are no faster and need more memory
_MAX_THREADS = 4  # the model is small: more threads wait for each other more than they work


class MiniLM:
    """Embeds by meaning, with 384 numbers a text. Threads may share one; the model loads at the first use."""

    name: Final = "minilm-l6-v2-w8"  # kept in stores: change it whenever the vectors change
    dim: Final = 384

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._model: _Model | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text; only the first 256 tokens of a text count."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return vectors
        model = self._loaded()
        token_ids = [model.token_ids(text) for text in texts]
        for batch in _batches([len(ids) for ids in token_ids]):
            vectors[batch] = model.run([token_ids[index] for index in batch])
        return vectors

    def _loaded(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _load()
            return self._model


@dataclass(frozen=True, slots=True)
class _Model:
    pieces: WordPieces
    session: InferenceSession

    def token_ids(self, text: str) -> list[int]:
        found = islice(self.pieces.cut(text), _MAX_TOKENS - 2)
        return [_START, *(piece.id for piece in found), _END]

    def run(self, batch: Sequence[list[int]]) -> NDArray[np.float32]:
        longest = max(len(ids) for ids in batch)
        input_ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(input_ids)
        for row, ids in enumerate(batch):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        output: NDArray[np.float32] = self.session.run(None, {"input_ids": input_ids, "attention_mask": mask})[0]
        return output


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indexes of texts of similar length, so that little padding is computed."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > _TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(index)
    yield batch


def _load() -> _Model:
    return _Model(word_pieces(), _session())


def _session() -> InferenceSession:
    # From 1.29 on, onnxruntime reports its use to its maker over the network unless this is set before its import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # for a program that had imported it before us
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only: a library does not write to stderr
    options.intra_op_num_threads = min(_MAX_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    # No faster for this model, and spinning threads would burn a core of the program around us after each call.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = gzip.decompress((_FOLDER / "model.onnx.gz").read_bytes())  # in a tenth of a second
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
