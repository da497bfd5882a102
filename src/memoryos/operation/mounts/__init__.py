"""Several memories searched as one: the mounts, and how their results are fused."""
