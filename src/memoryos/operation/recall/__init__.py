"""From a question to the pages, facts and profile that answer it."""

from __future__ import annotations
