"""MemoryOS: a memory operating system for AI agents."""

from __future__ import annotations

from memoryos.async_memory import AsyncMemoryOS
from memoryos.compat import Memoryos
from memoryos.config import Settings, load_settings
from memoryos.cube import Attachment, Kind, MemCube, Role, Subject, Tier, Turn
from memoryos.errors import MemoryOSError
from memoryos.memory import MemoryOS
from memoryos.mount import Mount
from memoryos.operation.recall.hit import Hit, Recall, Strategy, TurnHit
from memoryos.scope import Namespace, Scope

__all__ = [
    "AsyncMemoryOS",
    "Attachment",
    "Hit",
    "Kind",
    "MemCube",
    "MemoryOS",
    "MemoryOSError",
    "Memoryos",
    "Mount",
    "Namespace",
    "Recall",
    "Role",
    "Scope",
    "Settings",
    "Strategy",
    "Subject",
    "Tier",
    "Turn",
    "TurnHit",
    "load_settings",
]
