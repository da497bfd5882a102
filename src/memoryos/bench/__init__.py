"""Measuring: how well memory is recalled, how fast, and beside what floor."""

from __future__ import annotations
