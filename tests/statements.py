"""Statements compiled once for all stores of a process, and not once for each: SQLAlchemy keeps them by engine."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sqlalchemy import Engine

from memoryos.infrastructure.vault.postgres import connections
from memoryos.infrastructure.vault.sqlite import store

_Key = tuple[Hashable, ...]


class _Compiled:
    """The compiled statements of every engine; those of one kind of database and version serve all of its engines."""

    def __init__(self) -> None:
        self._statements: dict[_Key, Any] = {}

    def get(self, key: _Key) -> Any:
        return self._statements.get(_of_any_engine(*key))

    def __setitem__(self, key: _Key, statement: Any) -> None:
        self._statements[_of_any_engine(*key)] = statement


def share() -> None:
    """Let the stores that this process opens from now on share what they compile."""
    compiled = _Compiled()
    for module in (connections, store):
        module.create_engine = _sharing(compiled, module.create_engine)


def _sharing(compiled: _Compiled, create_engine: Any) -> Any:
    def create(*arguments: Any, **options: Any) -> Engine:
        engine = create_engine(*arguments, **options)
        engine._compiled_cache = compiled
        return engine

    return create


def _of_any_engine(dialect: Any, *key: Hashable) -> _Key:
    return type(dialect), getattr(dialect, "server_version_info", None), *key
