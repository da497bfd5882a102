"""Door: what each public method passes through first, in every class.

A copy in a forked child is refused, and so is a new call once the store began to close, which only `close` itself may
follow. Everything else runs in the hand of the store, where no interrupt reaches it, as one call for its waiting time,
on behalf of its caller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import isfunction
from typing import Any, Protocol, TypeVar

from memoryos.caller import Call, Caller, acting, running_call
from memoryos.clock import zoned
from memoryos.infrastructure.vault.patience import in_one_call
from memoryos.operation.calls.hand import Hand
from memoryos.operation.calls.keywords import argument_check

T = TypeVar("T")
C = TypeVar("C", bound=type)


_operations: set[str] = set()  # each class adds its own when it is made


def operations() -> frozenset[str]:
    """The names of all operations, as the audit log has them."""
    return frozenset(_operations)


class BehindDoor(Protocol):
    """An object with a hand for its calls, and a caller."""

    @property
    def _hand(self) -> Hand: ...

    @property
    def _caller(self) -> Caller: ...


def door(cls: C) -> C:
    """Make each public method of the class pass through the door."""
    for name, method in list(vars(cls).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _entered(method))
    cls.__reduce__ = _refuse_pickling  # type: ignore[method-assign,assignment]
    return cls


def _refuse_pickling(self: BehindDoor) -> Any:
    raise TypeError(f"a {type(self).__name__} cannot be pickled: open the store in the other process")


def _entered(method: Callable[..., T]) -> Callable[..., T]:
    check = argument_check(method)
    is_end = method.__name__ == "close"
    operation = f"{method.__module__.rpartition('.')[2]}.{method.__name__}"
    _operations.add(operation)

    @wraps(method)
    def call(self: BehindDoor, *args: Any, **kwargs: Any) -> T:
        hand = self._hand
        _check_store(hand, is_end=is_end)
        check((self, *args), kwargs)
        entered = None if running_call() else Call(operation)
        work = lambda: hand.shown(method(self, *args, **kwargs))  # noqa: E731
        inside = lambda: zoned(hand.zone, lambda: acting(self._caller, work, entered))  # noqa: E731
        return hand.run(lambda: in_one_call(partial(entered.run, inside) if entered else inside))

    return call


def in_calls(method: Callable[..., T]) -> Callable[..., T]:
    """Check a method as the door does, and then run it outside: its work is done by calls, between which it waits."""
    check = argument_check(method)

    @wraps(method)
    def checked(self: BehindDoor, *args: Any, **kwargs: Any) -> T:
        _check_store(self._hand)
        check((self, *args), kwargs)
        return method(self, *args, **kwargs)

    return checked


def _check_store(hand: Hand, *, is_end: bool = False) -> None:
    hand.check_process()
    if not is_end:
        hand.check_open()
