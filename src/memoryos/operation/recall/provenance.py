"""Provenance: where a memory comes from, what changed it, and what was derived from it, as a tree.

The tree has what the caller may read; the rest is counted. It is bounded, and each memory is in it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from memoryos.about import about_of
from memoryos.caller import CallContext, concerns
from memoryos.choice import Choice
from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.authors import Author
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind, Origin, Trust
from memoryos.label_change import LabelChange
from memoryos.language.orders import gives_orders, may_give_orders
from memoryos.language.sentences import split_sentences
from memoryos.lifecycle import Transition
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.trust import sources_of, trust_of
from memoryos.plain import Plain
from memoryos.scope import Scope

MOST_STEPS = 8  # from the memory to a source
MOST_MEMORIES = 100  # in one tree


class VersionChange(Choice):
    """What changed from one version of a memory to the next."""

    CREATED = "created"  # the oldest version that is kept
    WORDS = "words"  # the content
    SOURCES = "sources"  # what it was derived from
    VALIDITY = "validity"  # when it holds, or what replaced it
    LABELS = "labels"  # tags, sensitivity, access, end, metadata, title or source
    OTHER = "other"  # anything else


@dataclass(frozen=True, slots=True)
class VersionNote(Plain):
    """One version of a memory."""

    number: int  #: number of the version
    at: datetime  #: when it was written
    change: VersionChange  #: what it changed
    by: str | None  #: identity of the caller, or "memoryos" for background work; None: an older store did not note it
    call: str | None  #: the method that wrote it, such as `memory.update`; None: not noted
    reason: str  #: why, as the caller said it; empty: nothing was said
    restored: int | None  #: number of the version that a rollback brought back; None: it is no rollback
    context: CallContext  #: the job that wrote it, and the purpose, session and application of the caller


@dataclass(frozen=True, slots=True)
class Provenance(Plain):
    """Where a memory comes from, and what became of it."""

    id: str  #: id of the memory
    kind: Kind  #: page, fact, ...
    origin: Origin  #: how it came here
    trust: Trust  #: the least trust in its lineage
    has_orders: bool  #: whether its words give orders to a model
    created_at: datetime  #: when this store first held it
    created_by: (
        str | None
    )  #: identity of the caller, or "memoryos" for background work; None: an older store did not note it
    created_call: str | None  #: the method that created it, such as `memory.add`; None: not noted
    created_context: CallContext  #: the job that created it, and the purpose, session and application of the caller
    derived_by: str | None  #: rule set or model that derived it
    title: str | None  #: title of its document
    source: str | None  #: origin of its document
    source_ids: tuple[str, ...]  #: ids in the source data
    versions: tuple[VersionNote, ...]  #: the versions that are kept, oldest first
    transitions: tuple[Transition, ...]  #: the changes of its state, oldest first
    labels: tuple[LabelChange, ...]  #: the changes of its tags, sensitivity, access and end, oldest first
    continues: str | None  #: id of the page whose chain it continues
    replaces: tuple[str, ...]  #: ids of the facts that it replaced or contradicts
    replaced_by: str | None  #: id of the fact that replaced it
    derived_from: tuple[Provenance, ...]  #: the memories that it was derived from
    derived: tuple[str, ...]  #: ids of the memories that were derived from it
    hidden: int  #: how many of these memories the caller may not read, or this memory does not hold
    more: int  #: how many sources the tree has elsewhere, or has no room for


@dataclass
class _Node:
    cube: MemCube
    reader: Reader
    steps: int = 0
    children: list[str] = field(default_factory=list)
    hidden: int = 0
    more: int = 0


def provenance_of(vault: Vault, homes: Sequence[Scope], memory_id: str) -> Provenance:
    """Return the provenance of a memory of these scopes. Raises NotFound."""
    with ExitStack() as stack:
        readers = [stack.enter_context(vault.view(home)) for home in homes]
        nodes = _nodes(readers, memory_id)
        cubes = [node.cube for node in nodes.values()]
        for cube in cubes:
            concerns(cube.scope.owner, cube.id, cube.kind)
        return _Tree(readers, nodes, trust_of(readers, cubes)).of(memory_id)


def has_orders(cube: MemCube) -> bool:
    """Whether the words of a memory give orders to whoever keeps it."""
    said = [turn.words for turn in turns_of(cube)] or [cube.text]
    return any(may_give_orders(text) and any(map(gives_orders, split_sentences(text))) for text in said)


@dataclass(frozen=True, slots=True)
class _Tree:
    readers: Sequence[Reader]
    nodes: Mapping[str, _Node]
    trusts: Mapping[str, Trust]

    def of(self, memory_id: str) -> Provenance:
        node = self.nodes[memory_id]
        cube, known, authors = node.cube, node.cube.descriptive, node.reader.authors(memory_id)
        creator = authors.get(min(authors, default=0), Author())
        derived, hidden = self._derived(cube)
        heirs = [cube.version.superseded_by] if cube.version.superseded_by else []
        replaced_by = next(iter(node.reader.permitted(heirs)), None)
        return Provenance(
            id=cube.id,
            kind=cube.kind,
            origin=known.origin,
            trust=self.trusts[cube.id],
            has_orders=has_orders(cube),
            created_at=known.recorded_at,
            created_by=creator.by,
            created_call=creator.call,
            created_context=creator.context,
            derived_by=known.derived_by,
            title=known.title,
            source=known.source,
            source_ids=known.source_ids,
            versions=tuple(_versions([*node.reader.history(cube.id), cube], authors)),
            transitions=tuple(node.reader.transitions(cube.id)),
            labels=tuple(node.reader.label_changes([cube.id]).get(cube.id, ())),
            continues=next(iter(_linked(node, LinkKind.CHAIN)), None),
            replaces=tuple(_linked(node, LinkKind.SUPERSEDES)),
            replaced_by=replaced_by,
            derived_from=tuple(map(self.of, node.children)),
            derived=tuple(derived),
            hidden=node.hidden + hidden + len(heirs) - bool(replaced_by),
            more=node.more,
        )

    def _derived(self, cube: MemCube) -> tuple[list[str], int]:
        """What was derived from it, and how much of that the caller may not read."""
        shown, everything = [], 0
        for reader in self.readers:
            made = [link.source for link in reader.whole.sources([cube.id], LinkKind.DERIVED_FROM)]
            made += [link.target for link in reader.whole.targets([cube.id], LinkKind.MEMBER_OF)]
            known = reader.permitted(made)
            everything += len(made)
            shown += [one for one in made if one in known]
        return shown, everything - len(shown)


def _nodes(readers: Sequence[Reader], memory_id: str) -> dict[str, _Node]:
    """The memory and those that it was derived from, nearest first."""
    root = next((_Node(cube, reader) for reader in readers if (cube := reader.one(memory_id))), None)
    if root is None:
        raise NotFound(f"there is no memory {memory_id!r} of this user and agent")
    nodes = {memory_id: root}
    queue = [root]
    for node in queue:  # which grows
        sources = sources_of(readers, node.cube)
        room = MOST_MEMORIES - len(nodes) if node.steps < MOST_STEPS else 0
        wanted = [one for one in dict.fromkeys(sources) if one not in nodes][:room]
        found = {
            cube_id: _Node(cube, reader, node.steps + 1)
            for reader in readers
            for cube_id, cube in reader.get(wanted).items()
        }
        node.children = [one for one in wanted if one in found]
        node.hidden, node.more = len(wanted) - len(found), len(sources) - len(wanted)
        nodes |= found
        queue += [found[one] for one in node.children]
    return nodes


def _linked(node: _Node, kind: LinkKind) -> list[str]:
    return [link.target for link in node.reader.targets([node.cube.id], kind)]


def _versions(cubes: Sequence[MemCube], authors: Mapping[int, Author]) -> Iterable[VersionNote]:
    changes = [VersionChange.CREATED, *(_change(before, after) for before, after in pairwise(cubes))]
    for cube, change in zip(cubes, changes, strict=True):
        number = cube.version.number
        author = authors.get(number, Author())
        at = cube.descriptive.updated_at
        yield VersionNote(number, at, change, author.by, author.call, author.reason, author.restored, author.context)


def _change(before: MemCube, after: MemCube) -> VersionChange:
    old, new = before.descriptive, after.descriptive
    if before.text != after.text:
        return VersionChange.WORDS
    if old.provenance != new.provenance or (before.kind is Kind.SEGMENT and before.payload != after.payload):
        return VersionChange.SOURCES
    if (old.valid_from, old.valid_to, before.version.superseded_by) != (
        new.valid_from,
        new.valid_to,
        after.version.superseded_by,
    ):
        return VersionChange.VALIDITY
    return VersionChange.OTHER if about_of(before) == about_of(after) else VersionChange.LABELS
