"""What a memory operating system does, as functions over values and a vault."""

from __future__ import annotations
