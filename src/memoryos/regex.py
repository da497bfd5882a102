"""Regex: a regular expression that is compiled when it is first used.

The library has hundreds of them, and a program uses few. Compiling all of them takes a tenth of the time of the import.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


class _Regex(Generic[AnyStr]):
    """Stands for a compiled expression. What was asked of it once is found without a detour from then on."""

    def __init__(self, expression: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # `copy` and `pickle` ask for such names before the object has its values
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(
            re.compile(self.pattern, self._flags), name
        )  # `re` keeps the compiled one
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return regex, (self.pattern, self._flags)


def regex(expression: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the expression, which is compiled at its first use. Functions of `re` do not take it: call its methods."""
    return cast("re.Pattern[AnyStr]", _Regex(expression, flags))
