"""MemoryOS: a memory operating system for AI agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memoryos.distribution import VERSION

if TYPE_CHECKING:
    from memoryos.about import AboutArguments
    from memoryos.async_memory import AsyncMemory, AsyncMemoryOS
    from memoryos.caller import Action, Caller, Gate
    from memoryos.compat import Memoryos
    from memoryos.config import Settings, load_settings
    from memoryos.cube import Attachment, MemCube, Turn
    from memoryos.errors import MemoryOSError
    from memoryos.kinds import Kind, Role, Subject, Tier
    from memoryos.memory import Memory
    from memoryos.memory_os import (
        MemoryOS,
        open,  # noqa: A004 - as `gzip.open`
    )
    from memoryos.mount import Mount
    from memoryos.operation.recall.hit import Hit, Recall, Strategy, TurnHit
    from memoryos.scope import Namespace, Scope

__version__ = VERSION

__all__ = [
    "AboutArguments",
    "Action",
    "AsyncMemory",
    "AsyncMemoryOS",
    "Attachment",
    "Caller",
    "Gate",
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
    "__version__",
    "load_settings",
    "open",
]

# Where each name comes from. Its module is imported when the name is first used: a program that needs only the errors
# does not load the database.
_MODULES = {
    "AboutArguments": "about",
    "Action": "caller",
    "AsyncMemory": "async_memory",
    "AsyncMemoryOS": "async_memory",
    "Attachment": "cube",
    "Caller": "caller",
    "Gate": "caller",
    "Hit": "operation.recall.hit",
    "Kind": "kinds",
    "MemCube": "cube",
    "Memory": "memory",
    "MemoryOS": "memory_os",
    "MemoryOSError": "errors",
    "Memoryos": "compat",
    "Mount": "mount",
    "Namespace": "scope",
    "Recall": "operation.recall.hit",
    "Role": "kinds",
    "Scope": "scope",
    "Settings": "config",
    "Strategy": "operation.recall.hit",
    "Subject": "kinds",
    "Tier": "kinds",
    "Turn": "cube",
    "TurnHit": "operation.recall.hit",
    "load_settings": "config",
    "open": "memory_os",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
