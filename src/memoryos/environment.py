"""Environment: the variables that settings are read from, and those with our prefix that nothing reads."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic_settings import BaseSettings, EnvSettingsSource

from memoryos.regex import regex
from memoryos.text import nearest, visible

_OPENAI = {"llm_api_key": "openai_api_key", "llm_base_url": "openai_base_url"}
_SHORT = "memoryos_llm"  # MEMORYOS_LLM=local: is short for MEMORYOS_LLM_MODEL=local:

# What Kubernetes sets for a service named memoryos, and what tools/fuzz_api.toml reads.
_OF_OTHERS = regex(r"memoryos_(service_(host|port\w*)|port(_\d+_\w+)?|fuzz_key)")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnknownVariable:
    """A variable with our prefix that nothing reads."""

    name: str
    near: str | None  # the known name that is spelled most like it

    @property
    def fix(self) -> str:
        """What to do about it."""
        return f"Did you mean {self.near}?" if self.near else "Unset it, or correct its name"


class Environment(EnvSettingsSource):
    """The environment variables. If none starts with our prefix, no field is looked up."""

    def __init__(self, settings_cls: type[BaseSettings], passed: Collection[str]) -> None:
        super().__init__(settings_cls)
        self._passed = passed

    def __call__(self) -> dict[str, Any]:
        """The fields that are set. Variables that nothing reads are logged."""
        found = super().__call__() if self._ours() else {}
        if unknown := self.unknown():
            _warn_of(unknown)
        if short := self.env_vars.get(_SHORT):
            found = {"llm_model": short, **found}
        return found if set(_OPENAI).intersection((*self._passed, *found)) else {**self._of_openai(), **found}

    def unknown(self) -> tuple[UnknownVariable, ...]:
        """The variables with our prefix that nothing reads."""
        known = {*map(str.lower, self.settings_cls.model_fields), _SHORT.removeprefix(self._prefix)}
        others = (one for one in self._ours() if not _OF_OTHERS.fullmatch(one))
        names = sorted({one.removeprefix(self._prefix) for one in others} - known)
        near = {one: next(map(self._named, nearest(one, sorted(known))), None) for one in names}
        return tuple(UnknownVariable(self._named(one), near[one]) for one in names)

    @property
    def _prefix(self) -> str:
        return self.env_prefix.lower()

    def _named(self, field: str) -> str:
        return visible(f"{self.env_prefix}{field}".upper())

    def _ours(self) -> list[str]:
        return [name for name in self.env_vars if name.startswith(self._prefix)]

    def _of_openai(self) -> dict[str, str]:
        """OPENAI_API_KEY and OPENAI_BASE_URL, unless one of ours is set: no key is sent to the wrong URL."""
        return {field: value for field, name in _OPENAI.items() if (value := self.env_vars.get(name))}


@lru_cache(maxsize=8)
def _warn_of(unknown: tuple[UnknownVariable, ...]) -> None:
    """Log them once in a process: by their names, because values may be secrets."""
    told = ", ".join(f"{one.name} ({one.fix[0].lower()}{one.fix[1:]})" for one in unknown)
    logger.warning("No setting is read from these environment variables: %s", told)
