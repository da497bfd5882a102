"""Maintenance: moves between tiers, repair, rebuild, re-embedding, cold storage, the worker."""
