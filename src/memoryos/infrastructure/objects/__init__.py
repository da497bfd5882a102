"""Bytes that no row should hold: the object store, and the blobs in it."""
