"""Agents: which agents have memories in a store, of how many users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memoryos import arguments
from memoryos.caller import Action, Caller
from memoryos.engine import Engine
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.plain import Plain
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


@dataclass(frozen=True, slots=True)
class AgentInfo(Plain):
    """An agent of a tenant: of how many users it has memories, how many, and when they last changed."""

    agent: str | None  #: name of the agent; None: the memory that all agents of a user share
    tenant: str  #: its tenant
    users: int  #: number of users of whom it has a memory
    memories: Mapping[str, int] = field(hash=False)  #: number of memories by kind
    last_activity: datetime  #: when a memory was last added, changed or moved


@door
class Agents:
    """The agents of a store. All of it needs the right to administer the store."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def list(
        self,
        *,
        user: str | None = None,
        tenant: str = "default",
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Listing[AgentInfo]:
        """List the agents of a tenant that have a memory, ordered by name, with counts and last activity.

        With a `user`, only the agents and memories of that user count. `limit` bounds the length of the list, and the
        `cursor` of a list returns the next part.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = checked_text("tenant", tenant, limit=ID_LIMIT)
        owner = None if user is None else checked_text("user", user, limit=ID_LIMIT)
        (after,), most = key_in("agents", cursor, [str]) or (None,), arguments.optional("limit", limit, least=1)
        part = self._engine.vault.agents
        names = part.names(checked, owner, after=after, limit=None if most is None else most + 1)
        found = part.tallies(checked, owner, names[:most])
        shown = [AgentInfo(name or None, checked, *found[name]) for name in names[:most] if name in found]
        more = most is not None and len(names) > most
        return Listing(shown, cursor_after("agents", names[most - 1]) if more and most else None)

    @property
    def _hand(self) -> Hand:
        return self._engine.hand
