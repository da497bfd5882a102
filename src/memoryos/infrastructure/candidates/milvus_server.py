"""MilvusServer: one Milvus, distributed or the Lite build in a local file, and what goes wrong with it."""

from __future__ import annotations

import logging
from threading import Lock
from typing import Any

import grpc
from pymilvus import CollectionSchema, MilvusClient
from pymilvus.exceptions import ConnectError, ConnectionConfigException, ConnectionNotExistException, MilvusException
from pymilvus.milvus_client import IndexParams

from memoryos.errors import IndexFailed, IndexUnreachable

CONNECTED_WITHIN = 5.0  # seconds
ANSWERED_WITHIN = 15.0
BUILT_WITHIN = 600.0  # what is asked for when an index is made

_CONNECT_FAILED = 2  # pymilvus.client.types.Status
_COLLECTION_NOT_FOUND = 100
_AWAY = {_CONNECT_FAILED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
# pymilvus pings an idle server every ten seconds, and a gRPC server ends connections that ping more often than every
# five minutes ("too_many_pings").
_QUIET = {"grpc.keepalive_time_ms": 310_000, "grpc.keepalive_permit_without_calls": False}
_UNREACHABLE = (ConnectError, ConnectionNotExistException, grpc.FutureTimeoutError)

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints what it raises; here that is handled


class MilvusServer:
    """A Milvus server, connected at the first call. A call that fails raises IndexFailed."""

    def __init__(self, uri: str, token: str) -> None:
        self._uri = uri
        self._token = token
        self._lock = Lock()
        self._client: MilvusClient | None = None
        self._loaded: set[str] = set()

    def ask(self, method: str, *values: Any, timeout: float | None = None, **named: Any) -> Any:
        """Call a method of the client."""
        try:
            return getattr(self._connected(), method)(*values, timeout=timeout or ANSWERED_WITHIN, **named)
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            self._loaded.clear()  # another process may have removed what was there
            raise _explained(error) from error

    def is_lite(self) -> bool:
        """Whether it is the Lite build, which indexes no arrays."""
        return str(self.ask("get_server_version")).startswith("milvus_lite")

    def has(self, collection: str) -> bool:
        """Whether the collection exists; an existing one is made ready for searches."""
        if collection not in self._loaded:
            if not self.ask("has_collection", collection):
                return False
            self.load(collection)
        return True

    def create(self, collection: str, schema: CollectionSchema) -> None:
        """Create a collection that other processes find."""
        self.ask("create_collection", collection, schema=schema, consistency_level="Strong")

    def index(self, collection: str, indexes: IndexParams) -> None:
        """Create the indexes of a collection and load it."""
        self.ask("create_index", collection, indexes, timeout=BUILT_WITHIN, sync=False)
        self.load(collection)  # waits for them

    def load(self, collection: str) -> None:
        """Load a collection for searches; Milvus Lite needs this after a restart."""
        if collection not in self._loaded:
            self.ask("load_collection", collection, timeout=BUILT_WITHIN)
            self._loaded.add(collection)

    def drop(self, collection: str) -> None:
        """Drop a collection, if it exists."""
        self._loaded.discard(collection)
        self.ask("drop_collection", collection)

    def close(self) -> None:
        """Close the connection; a later call opens a new one."""
        with self._lock:
            client, self._client = self._client, None
            self._loaded.clear()
        if client is not None:
            client.close()

    def _connected(self) -> MilvusClient:
        with self._lock:
            if self._client is None:
                self._client = MilvusClient(self._uri, token=self._token, timeout=CONNECTED_WITHIN, grpc_options=_QUIET)
            return self._client


def _explained(error: Exception) -> IndexFailed:
    code = error.code if isinstance(error, MilvusException) else getattr(error, "code", lambda: None)()
    if isinstance(error, ConnectionConfigException):
        return IndexUnreachable(
            "Milvus Lite cannot open its file: its folder must exist, and only one process can open it at a time"
        )
    if isinstance(error, _UNREACHABLE) or code in _AWAY:
        return IndexUnreachable()
    if code == _COLLECTION_NOT_FOUND:
        return IndexFailed("the candidate index was removed meanwhile; build it")
    return IndexFailed(f"Milvus failed: {type(error).__name__}, code {code}")
