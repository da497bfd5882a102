"""Embedders and chat models behind small protocols."""

from __future__ import annotations
