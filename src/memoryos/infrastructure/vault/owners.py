"""Owners: the scopes that the columns of rows name. A byte that is no UTF-8 makes an owner whom nobody can ask for."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Select

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault import checksum, tables
from memoryos.scope import Scope

logger = logging.getLogger(__name__)


def told_owner(columns: Iterable[Any]) -> Scope | None:
    """The owner; None for columns that no program writes."""
    try:
        return tables.scope_of(*columns)
    except (InvalidInput, TypeError):  # a TypeError of a path that is no text
        return None


def told_owners(rows: Iterable[Sequence[Any]]) -> Iterator[Scope]:
    """The owners in the rows; one whose columns are damaged is left out, and logged."""
    for row in rows:
        if (owner := told_owner(row)) is not None:
            yield owner
        else:
            _log()


def first_owners(connection: Connection, query: Select[Any], limit: int | None) -> list[Scope]:
    """The first owners that the query finds; damaged ones do not count."""
    rows = connection.execute(query.limit(limit)).all()
    if not all(map(told_owner, rows)):
        rows = connection.execute(query).all()
    return list(islice(told_owners(rows), limit))


def first_names(connection: Connection, query: Select[Any], limit: int | None) -> list[str]:
    """The first names that the query finds; damaged ones do not count, and are logged."""
    names = connection.execute(query.limit(limit)).scalars().all()
    if not all(map(checksum.is_utf8, names)):
        _log()
        names = connection.execute(query).scalars().all()
    return list(islice(filter(checksum.is_utf8, names), limit))


def _log() -> None:
    told = "an owner with a damaged name is left out: `memoryos verify` lists the damage"
    logger.warning(told, extra={"action": "read"})
