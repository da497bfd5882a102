"""Readers of other systems' data."""

from __future__ import annotations
