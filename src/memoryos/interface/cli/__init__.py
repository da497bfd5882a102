"""The memoryos command."""

from __future__ import annotations
