"""Where memory lives."""

from __future__ import annotations
