"""Filters: the labels by which memories are found. Each filter is defined once.

A definition says which labels a memory has and which labels a value requires. Everything else follows: the store keeps
the labels in one column (`tables.cube_row`), a list selects by them in SQL (`queries.labelled`), and a search selects
rows in memory (`Facets.labelled`). A new filter is one entry of FILTERS.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from itertools import islice
from math import isfinite
from typing import Any

from memoryos.cube import MemCube
from memoryos.errors import InvalidInput
from memoryos.items import items
from memoryos.kinds import AccessMode
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text, shown

RESERVED = "\x1f"  # begins each label but tags, which are labels as they are; no tag may begin with it

METADATA_LABEL, SENSITIVITY_LABEL, ACCESS_LABEL = (
    f"{RESERVED}{name}:" for name in ("metadata", "sensitivity", "access")
)

MOST_LABELS = 1_000  # of one memory, or in another list: they are compared and written under the lock
LABEL_CHARS = 16_000  # of all tags of one memory, or of another list of labels

_DEEPEST = 100  # lists and dicts in each other
_FIRST_PARTS = 3  # of a path to a part of a value, shown before its last one
_LONGEST = 200  # characters of a value in a label; of a longer one it has a digest

Labels = frozenset[str]


@dataclass(frozen=True, slots=True)
class Filter:
    """The labels that a memory must have, and those that it must not have."""

    all_of: Labels = frozenset()
    any_of: tuple[Labels, ...] = ()  #: at least one of each set
    none_of: Labels = frozenset()

    def __bool__(self) -> bool:
        return bool(self.all_of or self.any_of or self.none_of)

    def __and__(self, other: Filter) -> Filter:
        """The filter that admits what both admit."""
        return Filter(self.all_of | other.all_of, (*self.any_of, *other.any_of), self.none_of | other.none_of)

    @classmethod
    def of(cls, wanted: Mapping[str, Any] | None, *, tags: Iterable[str] = ()) -> Filter:
        """Build the filter from a caller's arguments, with required tags. Raises InvalidInput with the field name."""
        if wanted is not None and not isinstance(wanted, Mapping):
            raise InvalidInput("filters", f"expected a dict, got {type(wanted).__name__}", _EXAMPLE)
        parts = [_definition(name).asks(value) for name, value in (wanted or {}).items()]
        return reduce(Filter.__and__, parts, cls(all_of=frozenset(tags)))

    @property
    def wants(self) -> Filter:
        """The filter without its exclusions."""
        return Filter(self.all_of, self.any_of)

    def admits(self, labels: Collection[str]) -> bool:
        """Whether a memory with these labels passes."""
        held = frozenset(labels)
        has_all = self.all_of <= held and not self.none_of & held
        return has_all and all(some & held for some in self.any_of)


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Definition:
    """One filter: the labels that a memory has for it, and the labels that a value requires."""

    asks: Callable[[Any], Filter]  #: raises InvalidInput
    labels: Callable[[MemCube], Iterable[str]] = lambda _: ()


def one_of(name: str, value_of: Callable[[MemCube], str | None]) -> Definition:
    """A filter by one text of each memory, such as its origin; it takes a text or a list of alternatives."""

    def texts_of(cube: MemCube) -> Iterable[str]:
        text = value_of(cube)
        return () if text is None else (text,)

    return some_of(name, texts_of)


def some_of(name: str, values_of: Callable[[MemCube], Iterable[str]]) -> Definition:
    """The same for memories that may have several texts."""

    def asks(value: Any) -> Filter:
        texts = (value,) if isinstance(value, str) else value
        return Filter(any_of=(frozenset(_label(name, text) for text in _texts(f"filters.{name}", texts)),))

    return Definition(asks, lambda cube: (_label(name, text) for text in values_of(cube)))


def labels_of(cube: MemCube) -> tuple[str, ...]:
    """All labels of a memory."""
    found = [label for one in FILTERS.values() for label in one.labels(cube)]
    return tuple(dict.fromkeys(found)) if found else ()


def labels_about(tags: Iterable[str], sensitivity: Iterable[str], access: AccessMode | None) -> tuple[str, ...]:
    """The labels of a memory that has these tags, sensitivity and access: what policies can ask for."""
    of_sensitivity = (SENSITIVITY_LABEL + one for one in sensitivity)
    return (*tags, *of_sensitivity, *(ACCESS_LABEL + mode for mode in _shared_mode(access)))


def _shared_mode(access: AccessMode | None) -> tuple[str, ...]:
    """Only what is not private has a label for it."""
    return () if access in (None, AccessMode.PRIVATE) else (access.value,)


def checked_sensitivity(field: str, value: object) -> tuple[str, ...]:
    """Check the sensitivity of a memory. Raises InvalidInput."""
    names = _texts(field, value)
    if long := next((name for name in names if len(name) > _LONGEST), None):
        raise InvalidInput(field, f"has a name of {len(long)} characters", f"Use at most {_LONGEST}")
    return names


def checked_tags(field: str, value: object) -> tuple[str, ...]:
    """Check tags. Raises InvalidInput."""
    tags = _texts(field, value)
    if any(tag.startswith(RESERVED) for tag in tags):
        raise InvalidInput(field, "has a tag that begins with U+001F", "Begin it with a visible character")
    return tags


def read_labels(stored: str | None) -> list[str] | None:
    """The labels of a memory as the store keeps them; None if they are damaged."""
    try:
        found = json.loads(stored or "[]")
    except ValueError:
        return None
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None


def json_text(field: str, value: object) -> str:
    """Return a value as canonical JSON. Raises InvalidInput."""
    try:
        return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        path, what = _misfit((), value, ()) or ((), type(value).__name__)
        problem = f"{what} cannot be written as JSON"
        raise InvalidInput(
            _place(field, path), problem, "Pass texts, numbers, booleans, None, lists and dicts"
        ) from None


def _place(field: str, path: Sequence[str]) -> str:
    """The place of a part of a value; of a long path only both ends."""
    shown_path = [*path[:_FIRST_PARTS], "...", path[-1]] if len(path) > _FIRST_PARTS + 1 else path
    return field + "".join(shown_path)


def _misfit(path: tuple[str, ...], value: object, around: tuple[int, ...]) -> tuple[tuple[str, ...], str] | None:
    """The path to the first part of a value that JSON does not have, and its kind; `around`: what it lies in."""
    if isinstance(value, float):
        return None if isfinite(value) else (path, str(value))
    if value is None or isinstance(value, str | int):
        return None
    if not isinstance(value, dict | list | tuple):
        return path, type(value).__name__
    if id(value) in around or len(around) > _DEEPEST:
        return path, "what holds itself, or is nested too deep,"
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if not isinstance(key, str | int | float | None):
            return path, f"a key of type {type(key).__name__}"
        if found := _misfit((*path, f"[{shown(key)}]"), one, (*around, id(value))):
            return found
    return None


def _plain(value: object) -> object:
    """Normalise numbers: 3.0 becomes 3."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _texts(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"expected a list of labels, got {type(value).__name__}", "Pass e.g. ['work']")
    texts = tuple(checked_text(field, one, limit=ID_LIMIT) for one in islice(items(field, value), MOST_LABELS + 1))
    if len(texts) > MOST_LABELS:
        raise InvalidInput(field, f"has more than {MOST_LABELS:,} labels", f"Pass at most {MOST_LABELS:,}")
    if (chars := sum(map(len, texts))) > LABEL_CHARS:
        raise InvalidInput(field, f"has {chars:,} characters in all", f"Keep them below {LABEL_CHARS:,}")
    return texts


def _definition(name: str) -> Definition:
    if name not in FILTERS:
        known = ", ".join(FILTERS)
        raise InvalidInput(
            "filters", f"{shown(name)} is unknown", f"Use some of: {known}; metadata goes into 'metadata'"
        )
    return FILTERS[name]


def _label(name: str, value: str) -> str:
    if len(value) > _LONGEST:
        value = "#" + blake2b(value.encode(), digest_size=16).hexdigest()
    return f"{RESERVED}{name}:{value}"


def _of_metadata(metadata: Mapping[str, Any]) -> Labels:
    pairs = ((key, json_text(f"filters.metadata.{key}", value)) for key, value in metadata.items())
    return frozenset(_label("metadata", f"{json.dumps(key, ensure_ascii=False)}={text}") for key, text in pairs)


def _asks_metadata(value: Any) -> Filter:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("filters.metadata", f"expected a dict, got {type(value).__name__}", _EXAMPLE)
    checked = {key: _checked_value(key, one) for key, one in value.items()}
    several = {key: one for key, one in checked.items() if isinstance(one, list)}
    return Filter(
        all_of=_of_metadata({key: one for key, one in checked.items() if key not in several}),
        any_of=tuple(_of_alternatives(key, one) for key, one in several.items()),
    )


def _of_alternatives(key: str, values: Sequence[object]) -> Labels:
    """The labels of these values, and of a memory that has the whole list."""
    return frozenset[str]().union(*(_of_metadata({key: one}) for one in (values, *values)))


def _checked_value(key: str, value: object) -> object:
    """A value to compare with; a tuple becomes a list. Raises InvalidInput for an operator of a query language."""
    names = [key, *(one for one in value if isinstance(one, str))] if isinstance(value, Mapping) else [key]
    if found := next((one for one in names if one in _OPERATORS), None):
        fix = "Pass equal values, such as {'n': 3}, or a list of alternatives, such as {'n': [3, 4]}"
        raise InvalidInput(f"filters.metadata.{key}", f"{found!r} is an operator, and there are none", fix)
    return list(value) if isinstance(value, tuple) else value


_OPERATORS = frozenset(
    f"${name}" for name in "eq ne gt gte lt lte in nin and or not nor exists regex contains like all".split()
)

_EXAMPLE = "Pass e.g. {'any_tags': ['work'], 'metadata': {'project': 'apollo'}}"

FILTERS: dict[str, Definition] = {
    "tags": Definition(
        lambda value: Filter(all_of=frozenset(checked_tags("filters.tags", value))),
        lambda cube: cube.descriptive.tags,
    ),
    "any_tags": Definition(lambda value: Filter(any_of=(frozenset(checked_tags("filters.any_tags", value)),))),
    "no_tags": Definition(lambda value: Filter(none_of=frozenset(checked_tags("filters.no_tags", value)))),
    "metadata": Definition(
        _asks_metadata, lambda cube: _of_metadata(cube.metadata) if cube.descriptive.metadata else ()
    ),
    "sensitivity": some_of("sensitivity", lambda cube: cube.governance.sensitivity),
    "access": some_of("access", lambda cube: _shared_mode(cube.governance.access.mode)),
}
