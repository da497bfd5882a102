"""MemoryOS: a memory operating system for AI agents."""

from __future__ import annotations

from memoryos.async_memory import AsyncMemory, AsyncMemoryOS
from memoryos.compat import Memoryos
from memoryos.config import Settings, load_settings
from memoryos.cube import Attachment, Kind, MemCube, Role, Subject, Tier, Turn
from memoryos.errors import MemoryOSError
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.memory_os import open_memory as open  # noqa: A004 - as in `gzip.open`
from memoryos.mount import Mount
from memoryos.operation.recall.hit import Hit, Recall, Strategy, TurnHit
from memoryos.scope import Namespace, Scope

__all__ = [
    "AsyncMemory",
    "AsyncMemoryOS",
    "Attachment",
    "Hit",
    "Kind",
    "MemCube",
    "Memory",
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
    "open",
]
