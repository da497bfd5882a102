"""Answers: what a reader model says from what a memory hands it, and how good that is."""

from __future__ import annotations
