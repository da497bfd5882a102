"""Walk: a value with each of its texts rewritten.

Every text of a dataclass, a sequence or a mapping is rewritten, unless its field is named in `_KEPT`. A field that is
added later is therefore rewritten, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import count
from typing import Any

from memoryos.regex import regex

Rewrite = Callable[[str, str], Any]  # the place and the text

# Fields with ids, names of the library and hashes. Whose a memory is, is no content: choose user ids that say nothing.
_KEPT = {
    "MemCube": {"id", "scope", "version"},
    "Descriptive": {"provenance"},
    "Mention": {"source"},
    "Trait": {"counter"},
    "Blob": {"sha256", "format"},
    "Activation": {"model", "fingerprint", "versions"},
    "Parameter": {"model", "method", "modules", "fingerprint"},
    "TrainedSource": {"id", "words"},
    "AdapterVersion": {"id", "model", "sources"},
    "Recollection": {"stored"},
    "Recall": {"query", "chosen", "missing"},  # what the caller asked is his
    "Job": {"id", "kind", "cube_id"},
    "Transition": {"by"},
    "AttachedFile": {"id"},
    "Provenance": {"id", "created_by", "created_call", "continues", "replaces", "replaced_by", "derived"},
    "VersionNote": {"by", "call"},
    "CallContext": {"job", "session", "application"},
    "LegalHold": {"id", "subject", "by"},
    "RetentionRule": {"name"},
    "UnusedRule": {"name"},
    "BranchDiff": {"name"},
    "BranchChange": {"id", "branch_id"},
    "VersionDiff": {"memory_id"},
}
_SEVERAL = (tuple, list, Mapping)
_LONG = 10**6  # a smaller number is no number of a person
_BYTES = regex(r"data:|blob:[0-9a-f]{64}/[0-9]{1,15}\Z")  # the URI of an attachment if it stands for bytes


@dataclass(frozen=True, slots=True)
class Walk:
    """Rewrites each text of a value; the value stays the same object if nothing changes."""

    rewrite: Rewrite
    instead: Mapping[type, Callable[[Any], Any]] = field(default_factory=dict)  #: what is done with values of a class

    def value(self, place: str, value: Any) -> Any:
        """Return the value with its texts rewritten. `place` names it."""
        if (own := self.instead.get(type(value))) is not None:
            return own(value)
        if type(value) is str:  # and no enum
            return self.rewrite(place, value)
        if (digits := _digits(value)) is not None:  # a card number may be a number of JSON
            told = self.rewrite(place, digits)
            return value if told == digits else told
        if isinstance(value, Mapping):
            return self._mapping(place, value)
        if isinstance(value, tuple | list) and value:
            walked = [self.value(f"{place}[{number}]", one) for number, one in enumerate(value)]
            return value if all(map(_is, walked, value)) else type(value)(walked)
        return self._fields(place, value) if _is_made_of_fields(value) else value

    def _mapping(self, place: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
        walked: dict[str, Any] = {}
        is_same = True
        for key, one in value.items():
            told, inner = self.rewrite(place, key), self.value(f"{place}.{key}", one)
            is_same = is_same and told == key and inner is one
            walked[_free(told, walked)] = inner
        return value if is_same else walked

    def _fields(self, place: str, value: Any) -> Any:
        changed = {}
        for name, old in _contents(value):
            inner = place if name == "text" and place else f"{place}.{name}".lstrip(".")
            new = self._json(inner, old) if name == "metadata" and old else self.value(inner, old)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value

    def _json(self, place: str, text: str) -> str:
        known = json.loads(text)
        walked = self.value(place, known)
        return (
            text if walked is known else json.dumps(walked, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        )


def _digits(value: Any) -> str | None:
    """A number that may be one of a person, without sign and decimal point; None for anything else."""
    is_whole = type(value) is int or (type(value) is float and value.is_integer())
    return str(abs(int(value))) if is_whole and abs(value) >= _LONG else None


def _contents(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields with content: no ids, no numbers, times or words of the library, no bytes."""
    for name in _names(type(value)):  # type: ignore[arg-type]
        inner = getattr(value, name)
        is_bytes = name == "uri" and isinstance(inner, str) and _BYTES.match(inner) is not None
        if (type(inner) is str or isinstance(inner, _SEVERAL) or _is_made_of_fields(inner)) and not is_bytes:
            yield name, inner


@cache
def _names(kind: type) -> tuple[str, ...]:
    kept: Set[str] = _KEPT.get(kind.__name__, set())
    return tuple(one.name for one in fields(kind) if one.name not in kept)


def _is_made_of_fields(value: object) -> bool:
    return hasattr(type(value), "__dataclass_fields__")  # `is_dataclass` takes longer


def _free(key: str, taken: Mapping[str, Any]) -> str:
    """The key, with a number if another one became the same: none of them is lost."""
    if key not in taken:
        return key
    return next(numbered for number in count(2) if (numbered := f"{key} {number}") not in taken)


def _is(new: object, old: object) -> bool:
    return new is old
