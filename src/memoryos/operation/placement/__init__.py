"""Placement (MemScheduler): which memories take part in a task, in which form and order, and what is kept ready."""

from __future__ import annotations
