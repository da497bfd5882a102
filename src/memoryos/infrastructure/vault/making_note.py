"""The note in a branch that is being made, or was left half made: when its maker took the last step."""

from __future__ import annotations

from datetime import datetime

from memoryos.clock import from_micros
from memoryos.infrastructure.vault.note import Note

MAKING: Note[datetime] = Note("making", lambda value: from_micros(int(value)))
