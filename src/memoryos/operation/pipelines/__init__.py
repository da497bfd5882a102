"""Pipelines: what a chain of operations is: its steps, their types, its parameters, its file, and what a run tells."""
