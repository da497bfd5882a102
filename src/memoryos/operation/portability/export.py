"""Export: all memories of some owners as JSON Lines, for `load` (docs/explanation/export.md has the schema).

Vectors, words, jobs, counters, KV states and adapters are left out, because they can be made again. So is what has
expired, as in reads, unless a hold keeps it for whoever asked for the hold.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoryos.caller import current
from memoryos.cube import MemCube, to_json
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Link
from memoryos.kinds import MADE_OF_MEMORIES, Kind
from memoryos.operation.attachments.parcels import all_bytes_of
from memoryos.operation.hierarchy.protected import protected
from memoryos.operation.hierarchy.told_topics import without_pages
from memoryos.operation.portability.content_marks import mark_head, marked_lines
from memoryos.plain import Plain
from memoryos.privacy.protection import UNPROTECTED, Protection
from memoryos.scope import Scope

FORMAT, VERSION = "memoryos-export", 1
AT_ONCE = 256  # memories read at a time


@dataclass(frozen=True, slots=True)
class Exported(Plain):
    """Counts of what was written."""

    memories: Mapping[str, int] = field(default_factory=dict)  #: memories by kind
    versions: int = 0  #: earlier versions of these memories
    damaged: int = 0  #: memories that could not be read and are missing in the file


class Exporter:
    """Writes the memories of owners as lines and counts them in `exported`."""

    def __init__(
        self,
        vault: Vault,
        owners: Sequence[Scope],
        now: datetime,
        protection: Protection = UNPROTECTED,
        key: bytes | None = None,
    ) -> None:
        self._vault = vault
        self._owners = owners
        self._now = now
        self._protection = protection
        self._key = key
        self._kinds: Counter[str] = Counter()
        self._versions = 0
        self._damaged = 0

    @property
    def exported(self) -> Exported:
        """Counts of what was written so far."""
        return Exported(dict(self._kinds), self._versions, self._damaged)

    def lines(self) -> Iterator[str]:
        """Yield the lines with their line ends and marks; the last line has the number of memories."""
        return self._lines(None) if self._key is None else marked_lines(self._lines(self._key), self._key)

    def _lines(self, key: bytes | None) -> Iterator[str]:
        owner, by = self._owners[0], current().identity
        marked = {} if key is None else {"marked": mark_head(by, owner.tenant, owner.user, key)}
        yield _line({"format": FORMAT, "version": VERSION, "exported_at": self._now.isoformat(), **marked})
        for owner in self._owners:
            with self._vault.view(owner) as reader:
                for record in self._records(reader):
                    yield _line(record)
        yield _line({"end": self._kinds.total()})

    def _records(self, reader: Reader) -> Iterator[dict[str, Any]]:
        after, gone = 0, _gone(reader)
        while places := reader.placed(after=after, limit=AT_ONCE):
            ids = [one.id for one in places if one.kind not in MADE_OF_MEMORIES and one.id not in gone]
            cubes, links = reader.get(ids), _by_source(reader.links_of(ids))
            self._damaged += len(ids) - len(cubes)
            for cube in filter(None, map(cubes.get, ids)):
                if told := _told(reader, cube, gone):
                    there = [link for link in links.get(cube.id, ()) if link.target not in gone]
                    earlier = reader.history(cube.id) if told == cube and cube.version.number > 1 else []
                    yield self._record(told, earlier, there)
            after = places[-1].position

    def _record(self, cube: MemCube, earlier: Sequence[MemCube], links: Sequence[Link]) -> dict[str, Any]:
        self._kinds[cube.kind.value] += 1
        self._versions += len(earlier)
        privacy = self._protection.for_owner(cube.scope)
        if not privacy.is_off:
            cube, *earlier = (protected(privacy, one) for one in (cube, *earlier))
        record: dict[str, Any] = {"memory": json.loads(to_json(cube))}
        if files := self._files(cube.scope.owner, [cube, *earlier]):
            record["blobs"] = files
        if links:
            record["links"] = [{"kind": link.kind.value, "target": link.target} for link in links]
        if earlier:
            record["earlier"] = [json.loads(to_json(one)) for one in earlier]
        return record

    def _files(self, owner: Scope, cubes: Sequence[MemCube]) -> list[dict[str, Any]]:
        """The attachment bytes of all versions of a page."""
        return [
            {"sha256": one.id, "media_type": one.media_type, "base64": b64encode(one.data).decode()}
            for one in all_bytes_of(self._vault, owner, cubes)
        ]


def _gone(reader: Reader) -> Collection[str]:
    """What has expired and is not on hold."""
    expired = reader.expired()
    return set(expired).difference(reader.retention.held(expired))


def _told(reader: Reader, cube: MemCube, gone: Collection[str]) -> MemCube | None:
    """The memory; a topic without the words of pages that are gone, and None if it has no other page.

    What differs from the stored one has no versions in the file: they may quote those pages.
    """
    told = without_pages(reader, [cube], gone) if cube.kind is Kind.SEGMENT else [cube]
    return told[0] if told else None


def _by_source(links: Sequence[Link]) -> dict[str, list[Link]]:
    found: dict[str, list[Link]] = {}
    for link in links:
        found.setdefault(link.source, []).append(link)
    return found


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
