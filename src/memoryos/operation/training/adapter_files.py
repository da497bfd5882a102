"""Adapter files: an adapter as a folder for as long as it is used, because runtimes read folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.models.local.lora_trainer import FOLDERS
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter
from memoryos.operation.training.adapter_pack import CONFIG, WEIGHTS, write_folder


@contextmanager
def in_folders(adapters: Sequence[tuple[Mapping[str, bytes], float]]) -> Iterator[Adapters]:
    """Write adapters with their weights into folders that are gone after the block."""
    with TemporaryDirectory(prefix=FOLDERS) as place:
        made = []
        for number, (files, weight) in enumerate(adapters):
            write_folder(files, folder := Path(place, str(number)))
            made.append(WeightedAdapter(sha256(files[CONFIG] + files[WEIGHTS]).hexdigest(), weight, folder))
        yield tuple(made)
