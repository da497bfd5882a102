"""Encryption at rest: the user's key, the sealed keys of a store, and sealed files and objects beside it."""
