"""Branch: a copy of an owner's memory in a namespace of its own, on which things can be tried.

A branch is a scope like any other, so each operation works on it, and none reaches the owner's own memory. The id of a
copy is made of the branch and of the id of the original, so both can be compared without a list of pairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from uuid import NAMESPACE_OID, UUID, uuid5

from pydantic import AwareDatetime
from uuid_utils.compat import uuid7

from memoryos.clock import micros
from memoryos.cube import Fact, MemCube, ProfileField, Trait
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.making_note import MAKING
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.kinds import State
from memoryos.plain import Plain
from memoryos.regex import regex
from memoryos.scope import BRANCH, Scope

_EARLIER = "-"  # in the ids of branches that an earlier version made, with copies that have other ids
_UUID = regex(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWN_BYTES = 4  # of an id, the last, which are random: those before them count up


def new_branch_id() -> str:
    """An id for a branch."""
    return uuid7().hex


@dataclass(frozen=True, slots=True)
class BranchPlace(Plain):
    """Where the copy of an owner's memory lies."""

    id: str  #: id of the branch; its namespace ends with it
    name: str  #: name, unique among the branches of the owner

    def scope(self, home: Scope) -> Scope:
        """Where the copy of a home of the owner lies: of its own memory, or of a persona that agents share."""
        return replace(home.owner, namespace=(*home.namespace, f"{BRANCH}{self.name}:{self.id}"))

    def id_of(self, original: str) -> str:
        """The id of the copy of a memory.

        Copies have the order of the originals: of facts that were said at one moment, the one with the last id holds.
        """
        if _EARLIER in self.id or not _UUID.fullmatch(original):
            return str(uuid5(NAMESPACE_OID, f"{self.id}\n{original}"))
        own = int.from_bytes(sha256(self.id.encode()).digest()[:_OWN_BYTES])
        return str(UUID(int=UUID(original).int ^ own))


@dataclass(frozen=True, slots=True)
class Branch(BranchPlace):
    """A copy of an owner's memory."""

    created_at: AwareDatetime  #: the moment that it shows, besides its own writes
    by: str  #: identity of the caller who made it
    expires_at: AwareDatetime  #: when it is discarded
    is_whole: bool = False  #: whether all memories are copied
    sequence: int = 0  #: number of the last event of the owner that it shows
    own_sequence: int = 0  #: number of the last event that made the copy

    def copy_of(self, cube: MemCube, scope: Scope, known: Callable[[str], bool]) -> MemCube:
        """The copy of a memory, for a scope; ids of memories that are `known` to be copied are those of their copies.

        What is frozen is thawed in the copy.
        """

        def named(one: str) -> str:
            return self.id_of(one) if known(one) else one

        told, version, payload = cube.descriptive, cube.version, cube.payload
        mentions = tuple(replace(one, source=named(one.source)) for one in told.mentions)
        if isinstance(payload, Trait):
            payload = replace(payload, counter=tuple(map(named, payload.counter)))
        return replace(
            cube,
            id=self.id_of(cube.id),
            scope=replace(scope, session=cube.scope.session),
            payload=payload,
            state=State.ACTIVATED if cube.is_frozen else cube.state,
            descriptive=replace(told, provenance=tuple(map(named, told.provenance)), mentions=mentions),
            version=replace(
                version,
                supersedes=version.supersedes and named(version.supersedes),
                superseded_by=version.superseded_by and named(version.superseded_by),
            ),
        )


BRANCHES = Note("branches", as_json(list[Branch]))


def branches(reader: Reader) -> list[Branch]:
    """All branches of an owner, also those that have ended or are not whole, by name."""
    return sorted(BRANCHES.of(reader) or [], key=lambda one: one.name)


def places_in(scopes: Iterable[Scope], homes: Sequence[Scope]) -> list[BranchPlace]:
    """Where the branches of the owner with these homes lie, of all scopes of its user: this needs no list of them.

    The first home is the owner's alone. A branch of a home that agents share is that of another agent if that one has
    memory in it.
    """
    trunks: dict[str, set[Scope]] = {}
    for scope in scopes:
        if scope.is_branch:
            trunks.setdefault(scope.namespace[-1], set()).add(scope.trunk)
    labels = [label for label, found in trunks.items() if homes[0] in found or found.issubset(homes)]
    parts = [label.removeprefix(BRANCH).rpartition(":") for label in labels]
    return [BranchPlace(branch_id, name) for name, _, branch_id in parts]


def write_branch(writer: Writer, branch: Branch) -> None:
    """Store a branch; it replaces one of the same name."""
    _write(writer, [*(one for one in branches(writer) if one.name != branch.name), branch])


def drop_branch(writer: Writer, branch: BranchPlace) -> None:
    """Remove a branch, and not another one of the same name."""
    _write(writer, (one for one in branches(writer) if one.id != branch.id))


def note_making(writer: Writer, at: datetime) -> None:
    """Note in a branch that it is being made."""
    writer.write_note(MAKING.key, str(micros(at)))


def made_until(reader: Reader) -> datetime | None:
    """When a branch was worked on last; None if it is discarded."""
    return MAKING.of(reader)


def stop_making(writer: Writer) -> None:
    """Have nothing more copied into a branch."""
    writer.write_note(MAKING.key, None)


def is_alike(one: MemCube, other: MemCube) -> bool:
    """Whether a memory and its copy say the same and hold alike."""
    return _said(one) == _said(other) and (one.state is State.MERGED) == (other.state is State.MERGED)


def _said(cube: MemCube) -> tuple[object, ...]:
    payload = cube.payload
    if isinstance(payload, Fact | ProfileField):
        return (payload.text, cube.descriptive.valid_to)
    return (payload.text,)


def _write(writer: Writer, kept: Iterable[Branch]) -> None:
    told = [one.to_dict() for one in kept]
    writer.write_note(BRANCHES.key, json.dumps(told, ensure_ascii=False) if told else None)
