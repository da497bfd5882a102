"""Capitals: the capital letters of Latin, Greek and Cyrillic, for expressions that look for a name."""

from __future__ import annotations

_BEYOND_ASCII = (range(0x00C0, 0x0530), range(0x1E00, 0x1F00))  # the second holds those of Vietnamese

CAPITALS = "A-Z" + "".join(chr(one) for part in _BEYOND_ASCII for one in part if chr(one).isupper())  #: inside [ ]
