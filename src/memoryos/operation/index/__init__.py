"""The indexes that search and paging keep in memory for each owner; they follow the log."""

from __future__ import annotations
