"""What follows a write: moves between tiers, repair, rebuilding, re-embedding, cold storage, the worker."""
