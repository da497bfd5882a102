"""Several memories searched as one: what is mounted, and how what they find is fused."""
