"""Selecting: the filters and the cursor that the verbs `list` and `count` of several nouns share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memoryos import arguments
from memoryos.cube import MemCube
from memoryos.filter import Filter
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Role, Subject, Tier
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.nouns.looking_back import LookBack
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


def selection(
    kind: Kind,
    now: datetime,
    *,
    tiers: Sequence[Tier] = (),
    subject: Subject | None = None,
    session: str | None = None,
    speaker: str | None = None,
    role: Role | str | None = None,
    segment: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    tags: Sequence[str] = (),
    filters: Mapping[str, Any] | None = None,
) -> Selection:
    """Check the filters of a caller and return the selection that they describe."""
    return Selection(
        kind,
        now,
        tuple(tiers),
        subject,
        arguments.session(session),
        *arguments.period(since, until),
        None if speaker is None else checked_text("speaker", speaker, limit=ID_LIMIT),
        None if role is None else arguments.one_of("role", role, Role),
        segment,
        Filter.of(filters, tags=arguments.tags(tags)),
    )


def listed(
    reader: Reader,
    wanted: Selection,
    limit: int | None,
    cursor: str | None,
    then: LookBack | None = None,
    *,
    is_latest: bool = False,
) -> Listing[MemCube]:
    """Return up to `limit` cubes after the cursor, in the order in which they were added; as they were `then`.

    With `is_latest`, the last one is the first.
    """
    if then is not None:
        return _listed_then(reader, wanted, limit, cursor, then, is_latest=is_latest)
    what = _what(wanted, is_latest=is_latest)
    key = key_in(what, cursor, [int])
    most = arguments.optional("limit", limit, least=1)
    asked = None if most is None else most + 1
    found = reader.listed(wanted, after=key[0] if key else 0, limit=asked, is_latest=is_latest)
    has_more = most is not None and len(found) > most
    shown = found[:most]
    return Listing((one.cube for one in shown), cursor_after(what, shown[-1].position) if has_more else None)


def counted(reader: Reader, wanted: Selection, then: LookBack | None = None) -> int:
    """Return the number of selected cubes; of those that there were `then`."""
    return reader.counted(wanted) if then is None else len(_listed_then(reader, wanted, None, None, then))


def holding(
    reader: Reader,
    wanted: Selection,
    limit: int | None = None,
    cursor: str | None = None,
    *,
    pages: Selection,
    then: LookBack | None = None,
) -> Listing[MemCube]:
    """Return up to `limit` segments after the cursor that have at least one of the selected pages; of those `then`."""
    what = f"{wanted.kind.value}s"
    key, most = key_in(what, cursor, [int]), arguments.optional("limit", limit, least=1)
    passing = [cube.id for cube in listed(reader, pages, None, None, then)]
    homes = {link.target for link in reader.targets(passing, LinkKind.MEMBER_OF)}
    found = [one for one in reader.listed(wanted, after=key[0] if key else 0) if one.cube.id in homes]
    shown = found[:most]
    return Listing((one.cube for one in shown), cursor_after(what, shown[-1].position) if shown != found else None)


def _what(wanted: Selection, *, is_latest: bool) -> str:
    """What a cursor is for: that of one order is none of the other."""
    return f"{wanted.kind.value}s-latest" if is_latest else f"{wanted.kind.value}s"


def _listed_then(
    reader: Reader,
    wanted: Selection,
    limit: int | None,
    cursor: str | None,
    then: LookBack,
    *,
    is_latest: bool = False,
) -> Listing[MemCube]:
    """The same at an earlier time; all of the selection is read, because its columns tell of the present."""
    what = _what(wanted, is_latest=is_latest)
    key, most = key_in(what, cursor, [int]), arguments.optional("limit", limit, least=1)
    found = reader.listed(replace(wanted, looks_back=True), after=key[0] if key else 0, is_latest=is_latest)
    places = {one.cube.id: one.position for one in found}
    cubes = then.cubes(reader, [one.cube for one in found])
    shown = cubes[:most]
    return Listing(shown, cursor_after(what, places[shown[-1].id]) if len(shown) < len(cubes) else None)
