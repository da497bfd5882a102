"""STM, MTM, LPM and the moves between them."""

from __future__ import annotations
