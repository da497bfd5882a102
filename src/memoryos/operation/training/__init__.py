"""Parameter memory: adapters that are trained from memories, checked, used, exported and withdrawn."""
