"""Microsoft Agent Framework: a `ContextProvider` on one owner's memory. Needs the extra `agent-framework`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from memoryos import arguments, expected
from memoryos.errors import MissingExtra
from memoryos.language.memory_notes import notes_of
from memoryos.memory import Memory

try:
    from agent_framework import AgentSession, ContextProvider, Message, SessionContext, SupportsAgentRun
except ImportError:
    raise MissingExtra("A context provider for Agent Framework", "agent-framework") from None

SOURCE = "memoryos"
_SPOKEN = ("user", "assistant")


class MemoryProvider(ContextProvider):
    """Notes from memory before each run of an agent, and what was said stored after it."""

    def __init__(self, memory: Memory, *, source_id: str = SOURCE, tokens: int | None = None) -> None:
        """Use this owner's memory: `Agent(client, context_providers=[MemoryProvider(memory)])`.

        Notes have at most `tokens` (default: the setting `context_tokens`).
        """
        super().__init__(source_id)
        self._memory = expected.instance("memory", memory, Memory, "Pass memoryos.open(...)")
        self._tokens = arguments.optional("tokens", tokens, least=1)

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what bears on the last message of the user, as quotations."""
        said = _said([*(one for several in context.context_messages.values() for one in several), *_new(context)])
        question = next((one["content"] for one in reversed(_said(_new(context))) if one["role"] == "user"), None)
        if question is not None:
            found = await asyncio.to_thread(self._memory.context, question, tokens=self._tokens, dialogue=said)
            if found.ids:
                context.extend_messages(self, [Message("user", [notes_of(found.text)])])

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Store what the user and the agent said, in the session of the agent."""
        answered = context.response.messages if context.response else ()
        if said := _said([*_new(context), *answered]):
            memory = self._memory.of(replace(self._memory.scope, session=session.session_id))
            await asyncio.to_thread(memory.add, said)


def _new(context: SessionContext) -> list[Message]:
    return list(context.input_messages)


def _said(messages: Iterable[Message]) -> list[dict[str, str]]:
    """What user and agent say in words."""
    return [{"role": one.role, "content": one.text} for one in messages if one.role in _SPOKEN and one.text.strip()]
