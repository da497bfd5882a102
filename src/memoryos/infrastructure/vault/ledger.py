"""The ledger: the notes about an owner, and the usage of models."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, Table, and_, delete, func, select

from memoryos.infrastructure.vault import queries, tables
from memoryos.infrastructure.vault.fence import whole_store
from memoryos.infrastructure.vault.records import Spending
from memoryos.infrastructure.vault.statements import ask, insert_or
from memoryos.infrastructure.vault.tables import OWNER

_EPOCH = date(1970, 1, 1)
_SUMMED = ("calls", "prompt_tokens", "completion_tokens", "cost", "cached_tokens")


class Ledger:
    """The notes and the spending of one owner."""

    def __init__(self, connection: Connection, owner: dict[str, str]) -> None:
        self._connection = connection
        self._owner = owner

    def note(self, key: str) -> str | None:
        """Return a note."""
        rows = ask(self._connection, queries.NOTE, {**self._owner, "key": key})
        return next((value for (value,) in rows), None)

    def write_note(self, key: str, value: str | None) -> None:
        """Write or delete a note."""
        notes = tables.notes
        self._connection.execute(delete(notes).where(self._mine(notes), notes.c.key == key))
        if value is not None:
            self._connection.execute(notes.insert(), {**self._owner, "key": key, "value": value})

    def spending(self, since: date | None) -> list[Spending]:
        """Return the usage since that day."""
        usage = tables.usage
        columns = [usage.c[name] for name in ("day", "purpose", "model", *_SUMMED)]
        query = select(*columns).where(self._mine(usage)).order_by(usage.c.day, usage.c.purpose, usage.c.model)
        if since is not None:
            query = query.where(usage.c.day >= _number(since))
        rows = self._connection.execute(query)
        return [Spending(_EPOCH + timedelta(days=day), *rest) for day, *rest in rows]

    def spend(self, spending: Spending) -> None:
        """Add to the usage of that day, purpose and model."""
        usage = tables.usage
        insertion = insert_or(self._connection, usage).values(**self._owner, **_row(spending))
        summed = {name: usage.c[name] + insertion.excluded[name] for name in _SUMMED}
        key = list(usage.primary_key)
        self._connection.execute(insertion.on_conflict_do_update(index_elements=key, set_=summed))

    def spent_by_all(self, day: date) -> tuple[int, int]:
        """Tokens and cost of the whole store: a budget protects who pays for it, not one owner."""
        usage = tables.usage
        tokens = func.sum(usage.c.prompt_tokens + usage.c.completion_tokens)
        query = select(func.coalesce(tokens, 0), func.coalesce(func.sum(usage.c.cost), 0))
        with whole_store(self._connection):
            row = self._connection.execute(query.where(usage.c.day == _number(day))).one()
        return int(row[0]), int(row[1])

    def _mine(self, table: Table) -> Any:
        return and_(*(table.c[name] == self._owner[name] for name in OWNER))


def _row(spending: Spending) -> dict[str, Any]:
    amounts = {name: getattr(spending, name) for name in _SUMMED}
    return {"day": _number(spending.day), "purpose": spending.purpose, "model": spending.model, **amounts}


def _number(day: date) -> int:
    return (day - _EPOCH).days
