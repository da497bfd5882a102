"""Checkpoint: what a training goes on from: the questions that a chat model wrote, and the state after the last step.

Without such questions it is the state alone, as older programs write it.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Container
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from memoryos.errors import ModelError
from memoryos.operation.training.adapter_pack import packed
from memoryos.operation.training.question_pairs import Written

_QUESTIONS, _STATE = "questions.json", "state"
_ZIP = b"PK\x03\x04"  # no state begins like this: it would have a header of 67 MB


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint of one training."""

    written: Written = field(default_factory=dict)  #: questions that a chat model wrote, for each sentence it was asked
    state: bytes = b""  #: of the trainer; empty before the first step

    def about(self, digests: Container[str]) -> Checkpoint:
        """Return it with the questions of these sentences alone."""
        return replace(self, written={name: some for name, some in self.written.items() if name in digests})

    def to_bytes(self) -> bytes:
        """Return it as bytes."""
        if not self.written:
            return self.state
        told = json.dumps({name: list(some) for name, some in self.written.items()}, ensure_ascii=False)
        return packed({_QUESTIONS: told.encode(), _STATE: self.state})

    @classmethod
    def of(cls, data: bytes) -> Checkpoint:
        """Read it. Raises ModelError if no program of ours wrote it."""
        if not data.startswith(_ZIP):
            return cls(state=data)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                told = TypeAdapter(dict[str, list[str]]).validate_json(archive.read(_QUESTIONS))
                return cls(told, archive.read(_STATE))
        except (zipfile.BadZipFile, KeyError, ValidationError, EOFError, NotImplementedError) as error:
            told_kind = type(error).__name__  # the message may quote a question
            raise ModelError(f"the checkpoint cannot be read ({told_kind}); ask for the training again") from None
