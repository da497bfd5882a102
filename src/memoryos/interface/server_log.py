"""The log of the servers: JSON Lines on standard error, without the words of a request."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

log = logging.getLogger("memoryos.server")
_HTTP = logging.getLogger("uvicorn.error")
_TRACES = logging.getLogger("opentelemetry")


class _OthersLine(logging.Formatter):
    """What uvicorn or OpenTelemetry says, in one line: the trace of an error would have contents."""

    def format(self, record: logging.LogRecord) -> str:
        """The message and the class of the error."""
        kind = record.exc_info[0] if record.exc_info else None
        told = {"server": record.getMessage().strip(), "error": kind.__name__ if kind else None}
        return json.dumps(told)


@contextmanager
def logged() -> Iterator[None]:
    """Write the lines of the log to standard error."""
    with ExitStack() as stack:
        stack.enter_context(_written(log, logging.Formatter("%(message)s"), logging.INFO))
        handler = stack.enter_context(_written(_HTTP, _OthersLine(), logging.WARNING))
        handler.addFilter(_is_news)
        stack.enter_context(_written(_TRACES, _OthersLine(), logging.WARNING))
        yield


def _is_news(record: logging.LogRecord) -> bool:
    """Whether the log does not say it yet: an answer that is cut has its line as a request."""
    return not (record.exc_info and isinstance(record.exc_info[1], ConnectionAbortedError))


@contextmanager
def _written(logger: logging.Logger, form: logging.Formatter, least: int) -> Iterator[logging.Handler]:
    handler, level, goes_on = logging.StreamHandler(sys.stderr), logger.level, logger.propagate
    handler.setFormatter(form)
    logger.addHandler(handler)
    logger.setLevel(least)
    logger.propagate = False
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = goes_on
