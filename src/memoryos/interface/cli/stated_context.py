"""StatedContext: the purpose, application and session of the calls of a command, which options before its name say."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryos.config import Settings

_STATED: ContextVar[Mapping[str, str]] = ContextVar("memoryos_stated", default={})  # noqa: B039 - nothing changes it


def state(**told: str | None) -> None:
    """Note what the options say, for this command."""
    _STATED.set({name: one for name, one in told.items() if one is not None})


def stated_settings(**changed: Any) -> Settings:
    """The settings of the command: what the options say, and the environment. Raises InvalidInput."""
    from memoryos.config import load_settings

    return load_settings(**_STATED.get(), **changed)
