"""Scrubbed: the result of removing the traces of deleted memories from a database's files."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class Scrubbed(Plain):
    """The completed and the refused steps of a scrub."""

    done: tuple[str, ...]  #: names of what was rewritten or emptied
    refused: tuple[str, ...]  #: what could not be, and why
    nbytes_before: int
    nbytes_after: int

    @property
    def is_complete(self) -> bool:
        """Whether nothing was refused."""
        return not self.refused
