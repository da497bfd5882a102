"""The object store, and the blobs in it: bytes that are too large for rows."""
