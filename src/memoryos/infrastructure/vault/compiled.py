"""The statements that were compiled in this process, for all stores that it opens.

SQLAlchemy keeps them for each engine, and compiling takes longer than running them: who opens a store for each user
would wait for every statement again and again.
"""

from __future__ import annotations

from typing import Any, Final

KEPT = 2_000  # statements; ours are some hundred

_Key = tuple[Any, ...]


class Compiled:
    """Compiled statements, by their form and by the kind and version of the database."""

    def __init__(self) -> None:
        self._statements: dict[_Key, Any] = {}

    def __len__(self) -> int:
        return len(self._statements)

    def get(self, key: _Key) -> Any:
        """Return the statement, or None."""
        return self._statements.get(_of_any_engine(*key))

    def __setitem__(self, key: _Key, statement: Any) -> None:
        if len(self._statements) >= KEPT:
            self._statements.clear()
        self._statements[_of_any_engine(*key)] = statement


# An option of every engine.
SHARED: Final = {"compiled_cache": Compiled()}


def _of_any_engine(dialect: Any, *form: Any) -> _Key:
    """SQLAlchemy's key begins with the engine's own dialect; those of one class and version compile alike."""
    return type(dialect), getattr(dialect, "server_version_info", None), *form
