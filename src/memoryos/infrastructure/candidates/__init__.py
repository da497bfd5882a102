"""Candidate indexes: where the turns of a scope that is too large for memory are found."""
