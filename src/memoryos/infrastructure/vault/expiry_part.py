"""ExpiryPart: the part of a session that knows which memories have expired, and when the next one will."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, literal_column, select

from memoryos.clock import Clock, from_micros, micros
from memoryos.cube import MemCube
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.guard import StateChange
from memoryos.infrastructure.vault.statements import ask
from memoryos.infrastructure.vault.tables import OWNER
from memoryos.kinds import Kind, State

_cubes = tables.cubes
_mine = [_cubes.c[name] == bindparam(name) for name in OWNER]


def _named(state: State) -> object:
    """A state as a literal, so that both databases see that an index of some rows serves the query."""
    return literal_column(f"'{state.value}'")


_ENDED = (
    select(_cubes.c.id)
    .where(*_mine, _cubes.c.expires_at <= bindparam("now"), _cubes.c.state != _named(State.FROZEN))
    .order_by(_cubes.c.expires_at, _cubes.c.position)
)
# The sum keeps SQLite from following the order through all that the owner has, rather than look for the few.
_EXPIRED = select(_cubes.c.id).where(*_mine, _cubes.c.state == _named(State.EXPIRED)).order_by(_cubes.c.position + 0)
# The kind as an expression, so that SQLite keeps to the index of the ends. Nothing is in order: they are to be few.
_is_page = _cubes.c.kind.concat("") == literal_column(f"'{Kind.PAGE.value}'")
_ENDED_PAGES = _ENDED.where(_is_page).order_by(None).limit(bindparam("limit"))
_EXPIRED_PAGES = _EXPIRED.where(_is_page).limit(bindparam("limit"))
_NEXT = select(func.min(_cubes.c.expires_at)).where(*_mine, _cubes.c.expires_at > bindparam("now"))


class ExpiryPart:
    """The ends of the memories of one owner, within one transaction."""

    def __init__(self, connection: Connection, owner: dict[str, str], clock: Clock) -> None:
        self._connection = connection
        self._owner = owner
        self._clock = clock

    def expired(self) -> list[str]:
        """The memories that have expired and are not frozen; those whose lifespan ended first come first."""
        now = {**self._owner, "now": micros(self._clock())}
        ended = [cube_id for (cube_id,) in ask(self._connection, _ENDED, now)]
        stated = (cube_id for (cube_id,) in ask(self._connection, _EXPIRED, self._owner))
        return list(dict.fromkeys([*ended, *stated]))

    def expired_pages(self, limit: int) -> set[str]:
        """So many of the pages that have expired and are not frozen, or more."""
        now = {**self._owner, "now": micros(self._clock()), "limit": limit}
        return {page for query in (_ENDED_PAGES, _EXPIRED_PAGES) for (page,) in ask(self._connection, query, now)}

    def next_expiry(self) -> datetime | None:
        """When the next lifespan ends after now; None if none does."""
        now = {**self._owner, "now": micros(self._clock())}
        (moment,) = next(iter(ask(self._connection, _NEXT, now)))
        return None if moment is None else from_micros(moment)

    def first_end(self, cubes: Iterable[MemCube], changes: Iterable[StateChange] = ()) -> datetime | None:
        """When the first of the memories that are written has to be swept; None if none ever has."""
        return min([*_ends(cubes), *self._ends_now(list(changes))], default=None)

    def _ends_now(self, changes: list[StateChange]) -> Iterator[datetime]:
        """Now, if a memory expires by its state, or if one is thawed that kept expired memories from being removed."""
        is_thawed = any(one.before is State.FROZEN for one in changes)
        if any(one.cube.state is State.EXPIRED for one in changes) or (is_thawed and self.expired()):
            yield self._clock()


def _ends(cubes: Iterable[MemCube]) -> list[datetime]:
    ending = [(cube.governance.lifespan.expires_at, cube) for cube in cubes]
    return [end for end, cube in ending if end is not None and not cube.is_frozen]
