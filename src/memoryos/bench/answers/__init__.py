"""Answers of a reader model from the context of a memory, and their quality."""

from __future__ import annotations
