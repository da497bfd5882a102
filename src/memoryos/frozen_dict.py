"""FrozenDict: a dict that nobody changes, for frozen values that are pickled and returned from web handlers.

`MappingProxyType` can be neither pickled nor copied, and so no value that has one.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict whose items stay. A try to change one raises TypeError, like that of an item of a tuple."""

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return type(self), (dict(self),)

    def _refuse(self, *_given: Any, **_named: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be changed: make another one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
