"""A conversation in Chinese in LoCoMo's shape, so that what reads and measures LoCoMo reads and measures it.

Two friends talk in twelve sittings over a year; people, places of work and events are made up for this bench. The
questions often use other words than the turns that answer them, as people do who only remember roughly. They were
written before anything was measured on them and are not fitted to a result.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parent / "chinese.json"
