"""Kept results: what a measurement found so far, in a folder, so that it can be stopped and goes on later."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from memoryos.errors import InvalidInput, MemoryOSError
from memoryos.plain import Plain

FILE = "results.jsonl"
_ABOUT = "about"

Result = TypeVar("Result", bound=Plain)


class Unfinished(MemoryOSError):
    """The time of a measurement is over before it has all results."""


class KeptResults:
    """The results of one measurement, by their keys; each is written as soon as it is there."""

    def __init__(self, folder: Path | None, about: Mapping[str, Any], seconds: float | None = None) -> None:
        """Go on in a folder, or keep nothing, for so many seconds.

        Raises InvalidInput if the folder has results of something else or cannot be used.
        """
        self.folder, self._results = folder, dict[str, Any]()
        self._until = None if seconds is None else time.monotonic() + seconds
        if folder is not None:
            self._begin(folder, about)

    @property
    def seconds_left(self) -> float | None:
        """How much of the time is left; None: it has no end."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def __len__(self) -> int:
        return len(self._results)

    def once(self, key: str, kind: type[Result], measure: Callable[[], Result]) -> Result:
        """The result with that key: a kept one, or what `measure` returns. Raises Unfinished if the time is over."""
        if key not in self._results:
            self.check()
            self._keep(key, measure().to_dict())
        return TypeAdapter(kind).validate_python(self._results[key])

    def check(self) -> None:
        """Raise Unfinished if the time is over."""
        if self.seconds_left == 0:
            told = f"{len(self)} results are kept in {self.folder}" if self.folder else "nothing is kept"
            raise Unfinished(f"the time is over before the end; {told}: the same command goes on from there")

    def _begin(self, folder: Path, about: Mapping[str, Any]) -> None:
        fix = "Name a new folder, or measure the same as before"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lines = (folder / FILE).read_text("utf-8").splitlines() if (folder / FILE).exists() else []
        except OSError as error:
            raise InvalidInput("keep", f"{folder} cannot be used: {error.strerror}", fix) from error
        for line in lines:
            self._results |= _read(line)
        told = json.loads(json.dumps(dict(about)))
        known = self._results.pop(_ABOUT, told)
        if known != told:
            names = ", ".join(sorted(name for name in {*known, *told} if known.get(name) != told.get(name)))
            raise InvalidInput("keep", f"{folder} has results with another {names}", fix)
        if not lines:
            self._write(_ABOUT, told)

    def _keep(self, key: str, value: Any) -> None:
        self._results[key] = value
        if self.folder is not None:
            self._write(key, value)

    def _write(self, key: str, value: Any) -> None:
        assert self.folder  # noqa: S101 - who calls it has one
        with (self.folder / FILE).open("a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps({key: value}, ensure_ascii=False)}")  # the line before may have been cut off


def _read(line: str) -> dict[str, Any]:
    """The result of a line; none of one that a crash cut off."""
    try:
        found = json.loads(line or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
