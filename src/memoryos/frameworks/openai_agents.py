"""OpenAI Agents: a `Session` whose items are the dialogue of one owner, in one session of it.

The SDK asks for a protocol and no base class, so this module needs nothing but its caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from memoryos import arguments
from memoryos.frameworks.session_items import SessionItems
from memoryos.memory import Memory

TAG = "openai-agents"  #: of the pages of such sessions


class AgentsSession:
    """The history of a session: `Runner.run(agent, "Hi", session=AgentsSession("chat-1", memory))`."""

    def __init__(self, session_id: str, memory: Memory, *, session_settings: Any = None) -> None:
        """Keep the items in this owner's memory. `session_settings` are the SDK's own: `limit` bounds `get_items`."""
        self.session_settings = session_settings
        self._items = SessionItems(memory, session_id, TAG)
        self.session_id = self._items.session_id

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items in their order; with a limit, the latest of them."""
        most = getattr(self.session_settings, "limit", None) if limit is None else limit
        checked = arguments.optional("limit", most)
        items = await asyncio.to_thread(self._items.all)
        return items if checked is None else items[max(0, len(items) - checked) :]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Store items, all of them or none. Raises InvalidInput, which names the item."""
        await asyncio.to_thread(self._items.add, items)

    async def pop_item(self) -> Any | None:
        """Remove the latest item and return it; None if there is none."""
        return await asyncio.to_thread(self._items.pop)

    async def clear_session(self) -> None:
        """Remove all that was said in the session, and what was learned from it alone."""
        await asyncio.to_thread(self._items.clear)
