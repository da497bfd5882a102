"""Value filter: equal values and comparisons of a JSON value, as LangGraph's stores have them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from memoryos.errors import InvalidInput
from memoryos.text import shown

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def admits(wanted: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Whether each wanted member is there, equal or in the named relation. Raises InvalidInput for another relation."""
    return all(_fits(one, value.get(name)) for name, one in wanted.items())


def _fits(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == (list(wanted) if isinstance(wanted, tuple) else wanted))
    if any(str(name).startswith("$") for name in wanted):
        return all(_compares(name, value, other) for name, other in wanted.items())
    return isinstance(value, Mapping) and admits(wanted, value)


def _compares(name: str, value: Any, other: Any) -> bool:
    if name not in _COMPARISONS:
        raise InvalidInput("filter", f"{shown(name)} is no comparison", f"Use one of: {', '.join(_COMPARISONS)}")
    try:
        return _COMPARISONS[name](value, other)
    except TypeError:  # such as a number and a text: neither is greater
        return False
