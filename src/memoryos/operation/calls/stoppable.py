"""Stoppable: a function about a whole store, which an interrupt of the main thread ends at its next step.

It runs in another thread (`hand`), so that no interrupt finds it between two bytecodes. After an interrupt, the main
thread waits until it has cleaned up, or is done: the step that runs is finished. A second interrupt ends this wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from memoryos.operation.calls.hand import opener
from memoryos.progress import Progress

P = ParamSpec("P")
T = TypeVar("T")


class Stopped(BaseException):
    """Ends the function; nobody but its thread sees it."""


def stoppable(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator; the steps are those after which the function calls its `progress`, if it has one."""
    has_steps = "progress" in signature(function).parameters

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.get_ident() != threading.main_thread().ident:
            return function(*args, **kwargs)
        hand, stop = opener(), list[bool]()
        given: Any = {**kwargs, "progress": _until(stop, kwargs.get("progress"))} if has_steps else kwargs
        try:
            return hand.run(partial(function, *args, **given))
        except BaseException:
            stop.append(True)
            hand.settle()
            raise

    return call


def _until(stop: list[bool], progress: Any) -> Progress:
    """The callback, which raises Stopped from then on."""
    if progress is not None and not callable(progress):
        return progress  # type: ignore[no-any-return] # which the function refuses

    def tell(done: int, total: int) -> None:
        if stop:
            raise Stopped
        if progress is not None:
            progress(done, total)

    return wraps(progress)(tell) if progress is not None else tell  # with its signature, which is checked
