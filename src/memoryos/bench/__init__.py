"""Benchmarks: recall, speed and answers, each beside a baseline."""

from __future__ import annotations
