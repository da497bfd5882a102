"""Hint: what a command says beside an empty answer, when the store has no memory of that user with that agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memoryos.interface.cli.options import others_in
from memoryos.interface.cli.render import in_one_line
from memoryos.scope import Scope

if TYPE_CHECKING:
    from memoryos.memory_os import MemoryOS

_NAMES = 10  # of those who have a memory


def hint(store: MemoryOS, user: str, agent: str, tenant: str) -> str | None:
    """Say that nobody of this name has a memory here, and name some who have; None if the user has one."""
    stats = store.memory(user, agent=agent, tenant=tenant).stats()
    if stats.stm_pages or stats.mtm_pages or stats.archived_pages or stats.profile_fields or stats.traits:
        return None
    if stats.user_facts or stats.agent_facts:
        return None
    others = others_in(store, tenant, limit=_NAMES + 1)
    return f"There is no memory of {whose(user, agent)}. In this store: {named(others)}."


def named(scopes: Iterable[Scope]) -> str:
    """The users of these scopes with their agents, each once; of many, the first."""
    shown = list(dict.fromkeys(whose(one.user, one.agent) for one in scopes))
    return ", ".join((*shown[:_NAMES], *(["others"] if len(shown) > _NAMES else []))) or "nobody yet"


def whose(user: str, agent: str | None) -> str:
    """The owner of a memory in words."""
    return in_one_line(f"user {user} with {f'agent {agent}' if agent else 'every agent'}")
