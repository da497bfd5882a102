"""Doors: each holds only the MemoryOS object."""

from __future__ import annotations
