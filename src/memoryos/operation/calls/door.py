"""Door: what each public method passes on its way in, whatever class it belongs to.

A copy in a forked child is refused. The rest runs in the hand of the store, where no interrupt reaches it, as one call
for what it waits, and in the name of its caller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any, Protocol, TypeVar

from memoryos.caller import Caller, acting
from memoryos.clock import zoned
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.patience import in_one_call
from memoryos.operation.calls.hand import Hand

T = TypeVar("T")
C = TypeVar("C", bound=type)


class BehindDoor(Protocol):
    """What has a hand for its calls, and somebody who makes them."""

    @property
    def _hand(self) -> Hand: ...

    @property
    def _caller(self) -> Caller: ...


def door(cls: C) -> C:
    """Let each public method of the class be entered through the door."""
    for name, method in list(vars(cls).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _entered(method))
    return cls


def _entered(method: Callable[..., T]) -> Callable[..., T]:
    @wraps(method)
    def call(self: BehindDoor, *args: Any, **kwargs: Any) -> T:
        if self._hand.is_forked:
            raise StorageError("this memory was opened before the process forked: open it again in the child")
        inside = lambda: zoned(self._hand.zone, lambda: acting(self._caller, lambda: method(self, *args, **kwargs)))  # noqa: E731
        return self._hand.run(lambda: in_one_call(inside))

    return call
