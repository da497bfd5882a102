"""Damage: the faults that a store can have, and the ones found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memoryos.infrastructure.vault.records import Link
from memoryos.plain import Plain
from memoryos.scope import Scope


class Fault(StrEnum):
    """The kinds of faults."""

    FILE = "file"  # the database itself finds an error in its pages or indexes
    BACKUP = "backup"  # a table is not what was backed up
    COLD = "cold"  # a document is in a pack that is missing, damaged or cannot be reached
    BLOB = "blob"  # the bytes of an attachment are missing, altered or cannot be reached
    DOCUMENT = "document"  # a cube cannot be read, or is not the one that its row says
    COLUMNS = "columns"  # they do not say what the document says
    VERSIONS = "versions"  # they do not lead up to the present one
    VECTOR = "vector"  # it is missing, or no vector of the store's embedder
    PASSAGES = "passages"  # they do not cover the turns
    LINK = "link"  # it joins what it cannot join, or puts a page into a second segment
    PLACE = (
        "place"  # a page is in no segment, or a segment counts other pages than it has; `memoryos upkeep rebuild` helps
    )
    STRAY = "stray"  # a row belongs to no cube, or is of an unknown kind
    POSITION = "position"  # no program gives it, or two cubes of an owner have the same one
    EVENT = "event"  # it is of an unknown kind, or of a cube that never was
    AUDIT = "audit"  # an entry of the audit log was changed, removed or moved
    JOB = "job"  # it is in no known state, has text for a number or no payload, or is not of its cube's owner
    NOTE = "note"  # its value is one that no program writes


DERIVED = frozenset({Fault.COLUMNS, Fault.VECTOR, Fault.PASSAGES, Fault.LINK, Fault.STRAY})


@dataclass(frozen=True, slots=True)
class Damage(Plain):
    """A fault with ids and names, but without words of a user."""

    fault: Fault
    detail: str
    id: str = ""  #: of the cube, if it is one's
    owner: Scope | None = None
    link: Link | None = None

    @property
    def can_be_repaired(self) -> bool:
        """Whether it concerns derived data, which can be made again."""
        return self.fault in DERIVED


@dataclass(frozen=True, slots=True)
class Report(Plain):
    """Counts of what was checked, and the faults."""

    checked: Mapping[str, int]  #: rows, by table
    damages: tuple[Damage, ...]
    repaired: int = 0  #: how many more damages there were

    @property
    def is_sound(self) -> bool:
        """Whether there is no fault left."""
        return not self.damages
