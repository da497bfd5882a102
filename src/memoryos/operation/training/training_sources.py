"""Training sources: the memories that an adapter is trained on, and whether they still say what it learned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from hashlib import sha256

from memoryos.built_memory import Parameter, TrainedSource
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind, Origin, State, Tier
from memoryos.operation.training.question_pairs import sentences_of
from memoryos.operation.training.wanted_adapter import WantedAdapter

TEACHING = (Kind.FACT, Kind.PROFILE, Kind.PAGE)  # kinds that are sources of an adapter
TRAINABLE = (*TEACHING, Kind.SEGMENT)  # a segment stands for its pages: in its summary, others speak, too
MOST_SOURCES = 500  # memories of one adapter


def chosen_sources(reader: Reader, wanted: WantedAdapter, now: datetime) -> list[MemCube]:
    """The memories that a wanted adapter is trained on, in a fixed order."""
    found = {cube.id: cube for kind in wanted.kinds for cube in _of_kind(reader, Kind(kind), wanted.ids)}
    tags = set(wanted.tags)
    fitting = [one for one in found.values() if not tags or tags.intersection(one.tags)]
    return sorted((one for one in fitting if can_teach(one, now)), key=lambda one: one.id)[:MOST_SOURCES]


def _of_kind(reader: Reader, kind: Kind, ids: Collection[str]) -> Collection[MemCube]:
    """The memories of a kind, or those of them with these ids; of segments their pages."""
    found = [one for one in reader.cubes(kind, tiers=_tiers(kind)) if not ids or one.id in ids]
    if kind is not Kind.SEGMENT:
        return found
    members = reader.sources([one.id for one in found], LinkKind.MEMBER_OF)
    return reader.get(dict.fromkeys(link.source for link in members)).values()


def can_teach(cube: MemCube, now: datetime) -> bool:
    """Whether a memory holds, was not told by an adapter, and has a sentence that may be trained."""
    return _holds(cube, now) and bool(sentences_of(cube))


def _holds(cube: MemCube, now: datetime) -> bool:
    is_out = cube.is_proposal or cube.is_withdrawn or cube.state is State.MERGED or cube.version.superseded_by
    is_told = cube.descriptive.origin is Origin.FINETUNING
    return not (is_out or is_told or cube.has_expired(now) or cube.is_over(now))


def as_trained(cubes: Iterable[MemCube]) -> tuple[TrainedSource, ...]:
    """What an adapter notes of its sources."""
    return tuple(TrainedSource(id=one.id, words=words_digest(one)) for one in cubes)


def words_digest(cube: MemCube) -> str:
    """The sha256 of what an adapter learns from a memory."""
    return sha256("\n".join(sentences_of(cube)).encode()).hexdigest()


def stale_source(reader: Reader, adapter: Parameter, now: datetime, learned: Iterable[MemCube] = ()) -> str | None:
    """The id of a memory that no longer says what the adapter learned, or that the reader may not show; or None.

    `learned` are these memories as they said it, if they are at hand: to compare them is quick, to split them is not.
    """
    known, said = reader.get(one.id for one in adapter.sources), {one.id: one.payload for one in learned}
    for source in adapter.sources:
        cube = known.get(source.id)
        if cube is None or not _holds(cube, now):
            return source.id
        if cube.payload != said.get(cube.id) and not (sentences_of(cube) and words_digest(cube) == source.words):
            return source.id
    return None


def _tiers(kind: Kind) -> Sequence[Tier]:
    return (Tier.LPM,) if kind in (Kind.FACT, Kind.PROFILE) else ()
