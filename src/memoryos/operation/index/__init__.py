"""What search and paging keep in memory of each owner, and how it follows the log."""

from __future__ import annotations
