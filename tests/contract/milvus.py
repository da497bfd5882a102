"""A Milvus Lite for the tests: started when the first of them asks, by each pytest process for itself."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from pymilvus import MilvusClient


@cache
def uri() -> str:
    """Where it is."""
    folder = Path(tempfile.mkdtemp(prefix="memoryos-milvus-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(folder / "candidates.db")


def clear() -> None:
    """Remove what it holds; it would take long to write it down at the end."""
    client = MilvusClient(uri())
    for name in client.list_collections():
        client.drop_collection(name)
    client.close()
