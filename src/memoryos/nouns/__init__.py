"""Nouns: the parts of a memory and of a store, each with its verbs."""
