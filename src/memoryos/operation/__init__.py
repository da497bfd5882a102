"""The operations of the memory operating system, as functions over values and a vault."""

from __future__ import annotations
