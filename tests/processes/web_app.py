"""An application for gunicorn: with --preload, it has one store open and one closed when the workers are forked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

import memoryos
from memoryos import Memory, load_settings
from memoryos.errors import StorageError

SETTINGS = load_settings(embedder="hashing")

early = memoryos.open(os.environ["EARLY"], user="ann", settings=SETTINGS)
early.add("I bought a kite.")
with memoryos.open(os.environ["OWN"], user="ann", settings=SETTINGS) as closed:
    closed.add("I bought a drum.")

opened: dict[int, Memory] = {}  # by process


def own() -> Memory:
    """The memory that this process opened itself."""
    if os.getpid() not in opened:
        opened[os.getpid()] = memoryos.open(os.environ["OWN"], user="ann", settings=SETTINGS)
    return opened[os.getpid()]


def early_search() -> str:
    """What a search says of the memory that was open before the fork."""
    try:
        return str(len(early.search("kite").hits))
    except StorageError as error:
        return str(error)


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Add what is to be said, or tell what the early memory says; the id of the process comes first."""
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    said = parse_qs(environ["QUERY_STRING"]).get("say")
    answer = own().add(said[0]) if said else early_search()
    return [f"{os.getpid()} {answer}".encode()]
