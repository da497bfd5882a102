"""Added doors: what `memoryos serve` answers beside its own addresses."""

from __future__ import annotations

from memoryos.config import Settings
from memoryos.interface.mem0_routes import Mem0Routes
from memoryos.interface.proxy.openai_proxy import OpenAIProxy
from memoryos.interface.rest.added_routes import AddedRoutes


def added_doors(settings: Settings) -> list[AddedRoutes]:
    """mem0's addresses, and with a model server those of the OpenAI API. Raises InvalidInput."""
    proxy = OpenAIProxy.of(settings)
    return [Mem0Routes(), *([proxy] if proxy else [])]
