"""Activation memory: prefixes of prompts whose KV states are computed once and kept as cubes."""
