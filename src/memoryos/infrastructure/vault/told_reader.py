"""ToldReader: a snapshot of one owner for callers, in which no page quotes another one that has expired.

A page says of others what its chain summary tells of those that it continues. So from when one of these has expired
until the sweep has removed it and described the chain anew, which a hold puts off, the page has no chain summary.
"""

from __future__ import annotations

from memoryos.cached_property import cached_property
from memoryos.cube import MemCube
from memoryos.infrastructure.vault import queries
from memoryos.infrastructure.vault.records import alone
from memoryos.infrastructure.vault.session import SqlReader
from memoryos.kinds import Kind

_MOST = 500  # expired pages, and pages behind them, that are looked for; while there are more, no page has a summary
_CONTINUING, _CONTINUING_STEP_BY_STEP = (
    query.limit(_MOST + 1) for query in (queries.CONTINUING, queries.CONTINUING_STEP_BY_STEP)
)


class ToldReader(SqlReader):
    """`contract.Reader` for a caller who may read everything that has not expired."""

    def shown(self, cube: MemCube) -> MemCube:
        """The cube without what it may say of expired pages."""
        return cube if cube.kind is not Kind.PAGE or self._is_clear(cube.id) else alone(cube)

    def _cube(self, cube_id: str, stored: str, told: int | None) -> MemCube:
        return self.shown(super()._cube(cube_id, stored, told))

    def _is_clear(self, page: str) -> bool:
        """Whether the page continues none that has expired."""
        return self._continuing is not None and page not in self._continuing

    @cached_property
    def _continuing(self) -> frozenset[str] | None:
        """What has expired, and the pages that continue it; None: they are too many."""
        gone = self._expiry.expired_pages(_MOST + 1)
        is_file = self._connection.dialect.name == "sqlite"
        query = _CONTINUING if is_file else _CONTINUING_STEP_BY_STEP
        found = frozenset(page for (page,) in self._asked(query, gone)) if len(gone) <= _MOST else gone
        return frozenset(found) if len(found) <= _MOST else None
