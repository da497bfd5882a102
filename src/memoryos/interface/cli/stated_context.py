"""StatedContext: what options before the name of a command say: the context of its calls, and its branch."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryos.config import Settings

_BRANCH: ContextVar[str | None] = ContextVar("memoryos_branch", default=None)
_STATED: ContextVar[Mapping[str, str]] = ContextVar("memoryos_stated", default={})  # noqa: B039 - nothing changes it


def state(**told: str | None) -> None:
    """Note what the options say, for this command."""
    _STATED.set({name: one for name, one in told.items() if one is not None})


def state_branch(name: str | None) -> None:
    """Note the branch that this command works on."""
    _BRANCH.set(name)


def stated_branch() -> str | None:
    """The branch that this command works on; None: the memory itself."""
    return _BRANCH.get()


def stated_settings(**changed: Any) -> Settings:
    """The settings of the command: what the options say, and the environment. Raises InvalidInput."""
    from memoryos.config import load_settings

    return load_settings(**_STATED.get(), **changed)
