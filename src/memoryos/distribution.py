"""The distribution name for pip, and the version. Programs import it as `memoryos`."""

from __future__ import annotations

NAME = "memoryos-engine"  # the distribution `memoryos` on PyPI is another product
VERSION = "0.1.0"  # pyproject.toml takes it from here
