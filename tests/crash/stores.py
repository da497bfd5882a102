"""What the tests and the processes that they kill have in common."""

from __future__ import annotations

import re
from pathlib import Path

import memoryos
from memoryos import Memory
from memoryos.clock import Clock, system_clock
from memoryos.config import Settings, load_settings
from memoryos.models.embedder import load_embedder
from memoryos.scope import Scope

OWNER = Scope(user="alice")

# So small that an add fills STM, opens a segment, extracts it and archives another one.
SETTINGS = load_settings(embedder="hashing", short_term_capacity=2, mid_term_capacity=2, heat_threshold=0)

OTHER = "static"  # the embedder that a store changes to

_TOPICS = (  # a reply that suits them all would make one topic of them
    ("I like spicy noodle soup with garlic and ginger from {}.", "Garlic and ginger go well with noodle soup."),
    ("I own a telescope that shows the rings of Saturn, a {}.", "Saturn's rings need a good telescope."),
    ("I play football with the team of {} and we won the final match.", "Football teams love a final match."),
    ("I hate my tax return and the accountant {}.", "Accountants like a tax return."),
)


def open_store(
    place: str | Path, clock: Clock = system_clock, embedder: str = SETTINGS.embedder, settings: Settings = SETTINGS
) -> Memory:
    """The store as all of them use it."""
    return memoryos.open(place, user=OWNER.user, settings=settings, embedder=load_embedder(embedder), clock=clock)


def cold_settings(path: Path) -> Settings:
    """With an object store beside the store."""
    objects_of(path).mkdir(exist_ok=True)
    return SETTINGS.model_copy(update={"object_store": objects_of(path).as_uri()})


def objects_of(path: Path) -> Path:
    """The folder of a store's packs."""
    return path.with_suffix(".objects")


def unique_word(number: int) -> str:
    """A word that only the page with this number has."""
    return f"zq{number:04d}x"


def add_page(memory: Memory, number: int, idempotency_key: str | None = None) -> str:
    """Add the page with this number, which states one fact; two in a row have the same topic."""
    said, reply = _TOPICS[number // 2 % len(_TOPICS)]
    return memory.add(said.format(unique_word(number)), reply, idempotency_key=idempotency_key)


def number_of(text: str) -> int:
    """The number of the page with this text."""
    return int(re.search(r"zq(\d{4,})x", text)[1])
