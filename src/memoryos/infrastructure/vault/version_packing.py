"""Version packing: earlier versions as their differences, made before they are stored.

To make a difference takes a thousand times as long as to store it, so it is made beside other writers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from memoryos.infrastructure.vault import checksum
from memoryos.infrastructure.vault.records import Entry, PackedVersion
from memoryos.infrastructure.vault.version_delta import delta

WHOLE_EACH = 16  # a version with such a number stands by itself, so that damage reaches no further


def packed_versions(earlier: Sequence[Entry]) -> list[Entry]:
    """New versions of one cube, oldest first, as they are stored: each but the newest as its difference to the next."""
    known = [entry.prepared for entry in earlier]
    return [*(_packed(entry, newer) for entry, newer in pairwise(known)), *known[-1:]]


def packed_version(number: int, document: str, newer: int, later: str) -> PackedVersion | None:
    """A version as its difference to a newer one; None if it does not get smaller."""
    is_alone = number % WHOLE_EACH == 0
    data = delta(document, None if is_alone else later)
    if len(data) >= len(document):
        return None
    return PackedVersion(data, None if is_alone else newer, checksum.of_text(document))


def _packed(entry: Entry, newer: Entry) -> Entry:
    if entry.packed or entry.document is None or newer.document is None:
        return entry
    numbers = entry.cube.version.number, newer.cube.version.number
    return replace(entry, packed=packed_version(numbers[0], entry.document, numbers[1], newer.document))
