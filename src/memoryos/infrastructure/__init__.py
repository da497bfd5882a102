"""Storage: vaults, object stores, candidate indexes and archived packs."""

from __future__ import annotations
