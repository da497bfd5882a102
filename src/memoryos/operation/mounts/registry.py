"""Registry: the adapters that packages register as entry points of the group `memoryos.adapters`, by URL scheme."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from memoryos.errors import InvalidInput
from memoryos.operation.mounts.adapter import OpenAdapter
from memoryos.regex import regex

GROUP = "memoryos.adapters"

_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two characters at least: C: is a drive
_STORES = ("postgresql", "postgres", "postgresql+psycopg")


def adapter_for(place: str | Path | None) -> OpenAdapter | None:
    """The adapter that opens the place; None for a MemoryOS store. Raises InvalidInput for an unknown scheme."""
    found = _SCHEME.match(place) if isinstance(place, str) else None
    if found is None or found[1].lower() in _STORES:
        return None
    scheme = found[1].lower()
    known = {entry.name.lower(): entry for entry in entry_points(group=GROUP)}
    if scheme in known:
        return _loaded(known[scheme])
    if found.string[found.end() :].startswith("//"):
        names = ", ".join(sorted(known)) or "none"
        raise InvalidInput(
            "mount.place",
            f"no adapter is installed for {scheme}://",
            f"Install one (installed: {names}), or name a store",
        )
    return None


def _loaded(entry: EntryPoint) -> OpenAdapter:
    try:
        opener: OpenAdapter = entry.load()
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            "mount.place", f"the adapter {entry.value} cannot be loaded: {error}", "Reinstall it"
        ) from error
    return opener
