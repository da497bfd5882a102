"""MemoryOS: a memory operating system for AI agents."""

from __future__ import annotations
