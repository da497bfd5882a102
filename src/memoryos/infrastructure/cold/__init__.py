"""Cold: documents that lie as packs in an object store beside the store."""
