"""Policies: which caller may do what with which memory, in which context."""
