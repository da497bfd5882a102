"""Version diff: what one version of a memory says that another one does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from memoryos.cube import MemCube
from memoryos.plain import Plain, plain

MOST_UNITS = 1_000  # words or lines of one text: `difflib` takes quadratic time for similar ones
AROUND = 3  # unchanged words or lines before and after a change

_NOT_SAID = ("type", "chain_summary", "chain_written")  # the kind, and what other pages say


@dataclass(frozen=True, slots=True)
class FieldChange(Plain):
    """One field of a memory that two versions do not share."""

    field: str  #: its name, such as `text`, `value` or `turns[0].text`
    before: str  #: its text in the older version; empty: it has none
    after: str  #: its text in the newer version; empty: it has none

    @property
    def unified(self) -> tuple[str, ...]:
        """The change, word by word: `-` before removed words, `+` before added ones, a space before three around them.

        Texts of more than 1,000 words are compared line by line; with more than 1,000 lines, as a whole.
        """
        before, after = _units(self.before, self.after)
        return tuple(unified_diff(before, after, lineterm="", n=AROUND))[2:]  # without the names of files

    def to_dict(self) -> dict[str, Any]:
        """The field, its texts, and the change word by word."""
        return {"field": self.field, "before": self.before, "after": self.after, "unified": list(self.unified)}


@dataclass(frozen=True, slots=True)
class VersionDiff(Plain):
    """The difference between two versions of one memory."""

    memory_id: str  #: the id of the memory
    older: int  #: the number of one version
    newer: int  #: the number of the other one
    changes: tuple[FieldChange, ...]  #: the fields that differ; empty: both say the same


def version_diff(older: MemCube, newer: MemCube) -> VersionDiff:
    """Compare what two versions of a memory say, and their labels."""
    before, after = dict(_texts(older)), dict(_texts(newer))
    changes = tuple(
        FieldChange(name, before.get(name, ""), after.get(name, ""))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )
    return VersionDiff(newer.id, older.number, newer.number, changes)


def _texts(cube: MemCube) -> Iterator[tuple[str, str]]:
    """The fields with content, as text."""
    said = {name: value for name, value in plain(cube.payload).items() if name not in _NOT_SAID}
    known = cube.descriptive
    labels = {"tags": list(known.tags), "metadata": cube.metadata, "title": known.title, "source": known.source}
    yield from _flat("", said | labels)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}".lstrip("."), inner)
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for number, inner in enumerate(value):
            yield from _flat(f"{name}[{number}]", inner)
    elif value not in (None, "", []):
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _units(before: str, after: str) -> tuple[Sequence[str], Sequence[str]]:
    """The texts in words, in lines or as they are: the smallest parts that differ and are not too many."""
    splits: tuple[Callable[[str], list[str]], ...] = (str.split, str.splitlines)
    for split in splits:
        old, new = split(before), split(after)
        if old != new and max(len(old), len(new)) <= MOST_UNITS:
            return old, new
    return [before], [after]
