"""The store contract and its back ends."""

from __future__ import annotations
