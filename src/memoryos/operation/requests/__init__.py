"""Requests: what people ask of their memory in plain words (MemReader), as a MemoryCall."""
