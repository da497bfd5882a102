"""About: what a caller tells about a memory beside its text: tags, metadata, title, source and expiry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypedDict

from memoryos.clock import parse_time
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput
from memoryos.filter import LABEL_CHARS, MOST_LABELS, checked_sensitivity, checked_tags, json_text, labels_about
from memoryos.kinds import AccessMode, Origin
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text, shown

METADATA_CHARS = 16_000  # of the JSON
TITLE_CHARS = 1_000
SOURCE_CHARS = 4_000

_LAST = datetime.max.year - 1


class AboutArguments(TypedDict, total=False):
    """The keyword arguments of `add`, `add_many` and `facts.add` that describe a memory."""

    tags: Sequence[str]  #: labels for filters: at most 1,000, of 16,000 characters in all
    metadata: Mapping[str, Any]  #: further details as JSON; searches can filter by its keys
    ttl: timedelta | float  #: time until it expires, as a timedelta or in seconds
    expires_at: datetime | str  #: when it expires; an alternative to `ttl`
    title: str  #: title of the document; shown with each part of it. A document is not read for facts
    source: str  #: origin of the document, such as a file name or a URL; as `title`
    sensitivity: Sequence[str]  #: what makes it sensitive, such as diagnosis; policies decide by it
    access: AccessMode | str  #: private (the default), shared or read_only; policies decide by it


@dataclass(frozen=True, slots=True)
class About:
    """The checked form of `AboutArguments`."""

    tags: tuple[str, ...] = ()
    metadata: str = ""  #: as JSON; empty when there is none
    expires_at: datetime | None = None
    title: str | None = None
    source: str | None = None
    sensitivity: tuple[str, ...] = ()
    access: AccessMode | None = None  #: None: as it is

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that policies can ask for."""
        return labels_about(self.tags, self.sensitivity, self.access)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but tags."""
        return self == About(self.tags)

    def tagged(self, tags: Sequence[str]) -> About:
        """Return these details with more tags."""
        return replace(self, tags=tuple(dict.fromkeys((*self.tags, *tags)))) if tags else self

    def describe(self, cube: MemCube) -> MemCube:
        """Return the memory with these details."""
        told = {name: value for name, value in self._told.items() if value}
        lifespan = cube.governance.lifespan
        if self.expires_at:
            lifespan = replace(lifespan, expires_at=self.expires_at, rule=None)
        access = replace(cube.governance.access, mode=self.access) if self.access else cube.governance.access
        sensitivity = tuple(dict.fromkeys((*cube.governance.sensitivity, *self.sensitivity)))
        return replace(
            cube,
            descriptive=replace(cube.descriptive, **told),
            governance=replace(cube.governance, lifespan=lifespan, access=access, sensitivity=sensitivity),
        )

    def add_to(self, cube: MemCube, *, is_told: bool = False) -> MemCube:
        """Return a known memory with these details added: tags and metadata join those that it has.

        If a caller tells them now, all together keep the limits of one memory: else this raises InvalidInput. What is
        stored already joins without: nobody could take back the labels that make it too long.
        """
        if self == NOTHING:
            return cube
        tags = tuple(dict.fromkeys((*cube.descriptive.tags, *self.tags)))
        known = {**cube.metadata, **(json.loads(self.metadata) if self.metadata else {})}
        metadata = json_text("metadata", known) if known else ""
        joined = replace(self, tags=tags, metadata=metadata, expires_at=None).describe(cube)
        if is_told:
            _check_joined(cube, joined)
        return joined

    def extend(self, cube: MemCube, *, is_stated: bool) -> MemCube:
        """Return a known memory with a new expiry: the later one, or the new one if the user stated it.

        What pages say does not change the end of a memory that the user stated.
        """
        if not is_stated and cube.descriptive.origin is not Origin.INFERENCE:
            return cube
        known, new = cube.governance.lifespan.own_end, self.expires_at
        end = new if is_stated and new else (max(known, new) if known and new else None)
        if end == known:
            return cube
        lifespan = replace(cube.governance.lifespan, expires_at=end, rule=None)
        return replace(cube, governance=replace(cube.governance, lifespan=lifespan))

    @property
    def _told(self) -> dict[str, Any]:
        return {"tags": self.tags, "metadata": self.metadata, "title": self.title, "source": self.source}


NOTHING = About()


def _check_joined(known: MemCube, joined: MemCube) -> None:
    """Raise InvalidInput if what was added makes the labels or the metadata of a memory longer than one may have."""
    before, after = known.descriptive, joined.descriptive
    labels = (
        ("tags", "".join(before.tags), "".join(after.tags), LABEL_CHARS),
        ("sensitivity", "".join(known.governance.sensitivity), "".join(joined.governance.sensitivity), LABEL_CHARS),
        ("metadata", before.metadata, after.metadata, METADATA_CHARS),
    )
    for field, old, new, most in labels:
        if len(new) > max(most, len(old)):
            problem = f"has {len(new):,} characters together with what the memory has"
            raise InvalidInput(field, problem, f"Keep all together below {most:,}")
    for field, old_labels, new_labels in (
        ("tags", before.tags, after.tags),
        ("sensitivity", known.governance.sensitivity, joined.governance.sensitivity),
    ):
        if len(new_labels) > max(MOST_LABELS, len(old_labels)):
            problem = f"has {len(new_labels):,} labels together with what the memory has"
            raise InvalidInput(field, problem, f"Keep all together below {MOST_LABELS:,}")


def about_of(cube: MemCube) -> About:
    """What was said of a stored memory beside its words."""
    known, mode = cube.descriptive, cube.governance.access.mode
    return About(
        known.tags,
        known.metadata,
        cube.governance.lifespan.own_end,
        known.title,
        known.source,
        cube.governance.sensitivity,
        None if mode is AccessMode.PRIVATE else mode,
    )


def about(
    now: datetime,
    *,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    ttl: timedelta | float | None = None,
    expires_at: datetime | str | None = None,
    title: str | None = None,
    source: str | None = None,
    sensitivity: Sequence[str] = (),
    access: AccessMode | str | None = None,
) -> About:
    """Check the details that a caller passes for a new memory. Raises InvalidInput, which names the field."""
    return About(
        checked_tags("tags", tags),
        _metadata(metadata),
        _end(now, ttl, expires_at),
        None if title is None else checked_text("title", title, limit=TITLE_CHARS),
        None if source is None else checked_text("source", source, limit=SOURCE_CHARS),
        checked_sensitivity("sensitivity", sensitivity),
        None if access is None else _mode(access),
    )


def _mode(value: AccessMode | str) -> AccessMode:
    if not isinstance(value, str) or value not in tuple(AccessMode):
        known = ", ".join(AccessMode)
        raise InvalidInput("access", f"{shown(value)} is unknown", f"Use one of: {known}")
    return AccessMode(value)


def _metadata(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, Mapping):
        raise InvalidInput(
            "metadata", f"expected a dict, got {type(value).__name__}", "Pass e.g. {'project': 'apollo'}"
        )
    if not value:
        return ""
    for key in value:
        if not isinstance(key, str):
            problem = f"the key {shown(key)} is no text but {type(key).__name__}"
            raise InvalidInput("metadata", problem, "Pass a str as the key, e.g. {'1': 2}")
        checked_text("metadata", key, limit=ID_LIMIT)
    text = json_text("metadata", dict(value))
    if "\\u0000" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidInput("metadata", "contains a NUL byte or a lone surrogate", "Remove it before storing")
    if len(text) > METADATA_CHARS:
        raise InvalidInput("metadata", f"has {len(text):,} characters as JSON", f"Keep it below {METADATA_CHARS:,}")
    return text


def _end(now: datetime, ttl: timedelta | float | None, expires_at: datetime | str | None) -> datetime | None:
    if ttl is not None and expires_at is not None:
        raise InvalidInput("ttl", "is passed together with `expires_at`", "Pass only one of them")
    if ttl is not None:
        return _after("ttl", now, ttl)
    if expires_at is None:
        return None
    end = parse_time("expires_at", expires_at)
    if end <= now:
        raise InvalidInput(
            "expires_at",
            f"{end.isoformat()} is in the past",
            "Pass a time in the future; `governance.expire` and `delete` end a stored memory now",
        )
    return end


def _after(field: str, now: datetime, ttl: timedelta | float) -> datetime:
    is_number = isinstance(ttl, int | float) and not isinstance(ttl, bool)
    if not is_number and not isinstance(ttl, timedelta):
        raise InvalidInput(field, f"expected a timedelta or seconds, got {type(ttl).__name__}", "Pass e.g. 3600")
    try:
        lasting = ttl if isinstance(ttl, timedelta) else timedelta(seconds=ttl)
        end = now + lasting
    except (OverflowError, ValueError):
        raise InvalidInput(field, f"{shown(ttl)} is outside the calendar", "Leave it out for no expiry") from None
    if lasting <= timedelta() or end.year > _LAST:
        raise InvalidInput(
            field, f"{shown(ttl)} is not a time in the future", "Pass a positive time, or leave it out for no expiry"
        )
    return end
