"""Users: whose memories a store holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memoryos import arguments
from memoryos.caller import Action, Caller
from memoryos.engine import Engine
from memoryos.errors import NotFound
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.nouns.admin import Admin
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.correction.forget import Forgotten
from memoryos.plain import Plain
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


@dataclass(frozen=True, slots=True)
class UserInfo(Plain):
    """A user of a store: how much memory it has, and when that last changed."""

    user: str  #: name of the user
    tenant: str  #: its tenant
    memories: Mapping[str, int] = field(hash=False)  #: number of memories by kind
    scopes: int  #: number of agents and namespaces with a memory
    last_activity: datetime  #: when a memory was last added, changed or moved


@door
class Users:
    """The users of a store. All of it needs the right to administer the store."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def list(
        self, *, tenant: str = "default", limit: int | None = None, cursor: str | None = None
    ) -> Listing[UserInfo]:
        """List the users of a tenant who have a memory, ordered by name, with counts and last activity.

        `limit` bounds the length of the list, and the `cursor` of a list returns the next part.
        """
        self._engine.admit(Action.ADMINISTER)
        checked = checked_text("tenant", tenant, limit=ID_LIMIT)
        (after,), most = key_in("users", cursor, [str]) or (None,), arguments.optional("limit", limit, least=1)
        asked = None if most is None else most + 1
        names = self._engine.vault.users(checked, after=after, limit=asked)
        shown = self._told(checked, names[:most])
        return Listing(shown, cursor_after("users", names[len(shown) - 1]) if len(shown) < len(names) else None)

    def show(self, user: str, *, tenant: str = "default") -> UserInfo:
        """Return one user, with counts and last activity. Raises NotFound if it has no memory."""
        self._engine.admit(Action.ADMINISTER)
        checked, name = checked_text("tenant", tenant, limit=ID_LIMIT), checked_text("user", user, limit=ID_LIMIT)
        found = self._told(checked, [name])
        if not found:
            raise NotFound(f"the user {name!r} has no memory in this store")
        return found[0]

    def forget(self, user: str, *, tenant: str = "default") -> Forgotten:
        """Remove everything about a user, as `admin.forget` does, with a signed receipt. Raises NotFound."""
        return Admin(self._engine, self._caller).forget(user, tenant=tenant)

    def _told(self, tenant: str, names: Sequence[str]) -> Sequence[UserInfo]:
        found = self._engine.vault.tallies.tallies(tenant, names)
        return [UserInfo(name, tenant, *found[name]) for name in names if name in found]

    @property
    def _hand(self) -> Hand:
        return self._engine.hand
