"""The queries of searches and of the work after a write, built once.

Each takes the owner's columns as parameters, so that none can be asked without an owner; `ids` are few enough for
one statement (`stored_cubes.IDS_PER_STATEMENT`).
"""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    CompoundSelect,
    FromClause,
    Select,
    Table,
    and_,
    bindparam,
    case,
    delete,
    exists,
    false,
    func,
    insert,
    literal_column,
    not_,
    null,
    or_,
    select,
    true,
    union,
    union_all,
)

from memoryos.filter import Filter
from memoryos.infrastructure.cold.pack import COLD
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.records import COLD_TIER, MERGED_TIER, RESTING, LinkKind, Operation
from memoryos.infrastructure.vault.tables import OWNER
from memoryos.infrastructure.vault.text_size import stored_size
from memoryos.kinds import Kind, State, Tier

NEIGHBOURHOOD = 64  # cubes, how far apart two turns of a talk are stored at most: other talks are stored meanwhile

WHOLE_CUBE = 0  # the vector part that stands for all of a cube

UNMARKED = ""  # stands for a cube without a mark

_cubes, _links, _events, _vectors = tables.cubes, tables.links, tables.events, tables.vectors
_passages, _versions = tables.passages, tables.versions


def same_cube(column: ColumnElement[str]) -> ColumnElement[bool]:
    """The condition that a row of another table belongs to this cube."""
    return and_(_cubes.c.tenant == column.table.c.tenant, _cubes.c.id == column)


def _owned(table: Table) -> ColumnElement[bool]:
    return and_(*(table.c[name] == bindparam(name) for name in OWNER))


def _owned_by_key(table: Table = _cubes) -> ColumnElement[bool]:
    """The same condition for a few rows found by their key.

    `coalesce` changes nothing but the plan: SQLite would rather read everything the owner has.
    """
    others = (func.coalesce(table.c[name], "") == bindparam(name) for name in OWNER if name != "tenant")
    return and_(table.c.tenant == bindparam("tenant"), *others)


def _among(column: ColumnElement[str]) -> ColumnElement[bool]:
    return column.in_(bindparam("ids", expanding=True))


def _links_by(end: ColumnElement[str]) -> Select[tuple[str, str]]:
    return (
        select(_links.c.source, _links.c.target)
        .join(_cubes, same_cube(_links.c.source))
        .where(_owned_by_key(), _links.c.kind == bindparam("kind"), _among(end))
        .order_by(_cubes.c.position)
    )


EMBEDDER = select(tables.meta.c.value).where(tables.meta.c.key == "embedder")

NOTE = select(tables.notes.c.value).where(_owned(tables.notes), tables.notes.c.key == bindparam("key"))

SEQUENCE = select(func.max(_events.c.sequence)).where(_owned(_events))

DOCUMENTS = select(_cubes.c.id, _cubes.c.document, _cubes.c.checksum).where(_owned_by_key(), _among(_cubes.c.id))

VECTORS = (
    select(_vectors.c.cube_id, _vectors.c.data, _vectors.c.checksum)
    .join(_cubes, same_cube(_vectors.c.cube_id))
    .where(_owned_by_key(), _among(_vectors.c.cube_id), _vectors.c.part == WHOLE_CUBE)
)

TARGETS = _links_by(_links.c.source)

SOURCES = _links_by(_links.c.target)

# The links of merged cubes, and of those with a damaged state: their documents tell it.
MERGED_SOURCES = SOURCES.where(*(_cubes.c.state != state.value for state in State if state is not State.MERGED))


def _unread() -> Select[tuple[str]]:
    """The pages of a `segment` that are not marked as read with it."""
    read = _links.alias("read")
    mark = [read.c.tenant == _links.c.tenant, read.c.source == _links.c.source]
    return (
        select(_links.c.source)
        .join(_cubes, same_cube(_links.c.source))
        .where(_owned_by_key(), _links.c.target == bindparam("segment"), _links.c.kind == LinkKind.MEMBER_OF.value)
        .where(~exists().where(*mark, read.c.kind == LinkKind.EXTRACTED.value))
        .order_by(_cubes.c.position)
    )


UNREAD = _unread()


def _reached() -> CTE:
    return select(_cubes.c.id.label("id")).where(_owned_by_key(), _among(_cubes.c.id)).cte("reached", recursive=True)


def _successions() -> Select[tuple[str]]:
    """The facts that SUPERSEDES links connect with these cubes, over any number of steps."""
    reached = _reached()
    ways = union_all(select(literal_column("0").label("way")), select(literal_column("1"))).subquery("ways")
    heirs, former = _links.alias("heirs"), _links.alias("former")  # each by its own index: an OR would have none

    def joined(links: FromClause, end: ColumnElement[str], way: int) -> ColumnElement[bool]:
        mine = and_(links.c.tenant == bindparam("tenant"), links.c.kind == LinkKind.SUPERSEDES.value)
        return and_(ways.c.way == literal_column(str(way)), mine, end == reached.c.id)

    step = (
        select(_cubes.c.id)
        .select_from(
            reached.join(ways, literal_column("1") == literal_column("1"))
            .outerjoin(former, joined(former, former.c.source, 0))
            .outerjoin(heirs, joined(heirs, heirs.c.target, 1))
            .join(_cubes, _cubes.c.id == func.coalesce(former.c.target, heirs.c.source))
        )
        .where(_owned_by_key(), _cubes.c.kind == Kind.FACT.value)
        .where(_cubes.c.mark.is_(None))
    )
    return select(reached.union(step).c.id)


SUCCESSIONS = _successions()


def _successions_step_by_step() -> Select[tuple[str]]:
    """The same for PostgreSQL, which would otherwise read all facts of the tenant again for each step.

    What is LATERAL is looked up for each row, and OFFSET keeps it so: each step finds its rows by their keys.
    """
    reached = _reached()
    heirs, former = _links.alias("heirs"), _links.alias("former")

    def joined(links: FromClause, end: ColumnElement[str]) -> ColumnElement[bool]:
        mine = and_(links.c.tenant == bindparam("tenant"), links.c.kind == LinkKind.SUPERSEDES.value)
        return and_(mine, end == reached.c.id)

    ways = union_all(
        select(former.c.target.label("id")).where(joined(former, former.c.source)),
        select(heirs.c.source).where(joined(heirs, heirs.c.target)),
    )
    near = ways.offset(0).lateral("near")
    is_fact = and_(func.coalesce(_cubes.c.kind, "") == Kind.FACT.value, _cubes.c.mark.is_(None))
    found = select(_cubes.c.id).where(_owned_by_key(), _cubes.c.id == near.c.id, is_fact).offset(0).lateral("found")
    return select(reached.union(select(found.c.id).select_from(reached.join(near, true()).join(found, true()))).c.id)


SUCCESSIONS_STEP_BY_STEP = _successions_step_by_step()


@cache
def cubes(
    tiers: int, states: int, marks: int, *, has_subject: bool, is_newest_first: bool, is_limited: bool
) -> Select[Any]:
    """The cubes of a `kind` with one of so many tiers, `tier_0` and on, states, `state_0`, and marks; 0: with any.

    If so, of a `subject`, and only the first `limit`.
    """
    position = _cubes.c.position
    stored = select(_cubes.c.id, _cubes.c.document, _cubes.c.checksum)
    query = stored.where(_owned(_cubes), _cubes.c.kind == bindparam("kind"))
    mark: ColumnElement[str] = func.coalesce(_cubes.c.mark, UNMARKED)
    for column, name, number in (
        (_cubes.c.tier, "tier", tiers),
        (_cubes.c.state, "state", states),
        (mark, "mark", marks),
    ):
        if number:
            query = query.where(column.in_([bindparam(f"{name}_{index}") for index in range(number)]))
    if has_subject:
        query = query.where(_cubes.c.subject == bindparam("subject"))
    query = query.order_by(position.desc() if is_newest_first else position)
    return query.limit(bindparam("limit")) if is_limited else query


PRESENT = select(_cubes.c.id).where(_owned_by_key(), _among(_cubes.c.id))

KEEP_VERSIONS = insert(_versions).from_select(
    ["tenant", "cube_id", "version", "document", "checksum"],
    select(_cubes.c.tenant, _cubes.c.id, _cubes.c.version, _cubes.c.document, _cubes.c.checksum).where(
        _owned_by_key(), _among(_cubes.c.id)
    ),
)

ADDED = select(_events.c.cube_id).where(
    _owned_by_key(_events), _among(_events.c.cube_id), _events.c.operation == Operation.ADD.value
)

REMOVED = select(_events.c.cube_id).where(
    _owned_by_key(_events), _among(_events.c.cube_id), _events.c.operation == Operation.DELETE.value
)


def _beneath(cube: ColumnElement[str], page: ColumnElement[str], *kinds: LinkKind) -> Select[Any]:
    """The labels of what cubes rest on, and its id if they hold its words, for it may rest on others itself.

    The pages of a shared persona lie in other scopes of the tenant.
    """
    is_of_kind = or_(*(_links.c.kind == kind.value for kind in kinds))
    source = case((_links.c.kind == LinkKind.COMPUTED_FROM.value, page))
    return (
        select(cube, null(), _cubes.c.tags, source)
        .distinct()
        .join(_cubes, same_cube(page))
        .where(_links.c.tenant == bindparam("tenant"), is_of_kind, _among(cube))
    )


CLASSES: CompoundSelect[Any] = (
    union_all(  # cubes with their kind and labels, and without a kind with those of what is beneath them
        select(_cubes.c.id, _cubes.c.kind, _cubes.c.tags, null()).where(_owned_by_key(), _among(_cubes.c.id)),
        _beneath(_links.c.source, _links.c.target, *RESTING),
        _beneath(_links.c.target, _links.c.source, LinkKind.MEMBER_OF),
    )
)


def following(
    known: CTE, kind: LinkKind, end: ColumnElement[str], found: ColumnElement[str], *, is_file: bool
) -> tuple[FromClause, ColumnElement[str]]:
    """The cubes that links lead to from those in `known`: what to select from, and their ids.

    SQLite takes what the recursion finds for very much, and would look through all links to go on from it, unless they
    are joined from outside; on PostgreSQL, each step finds its rows by their keys, as in `SUCCESSIONS_STEP_BY_STEP`.
    """
    is_next = and_(_links.c.tenant == bindparam("tenant"), end == known.c.id, _links.c.kind == kind.value)
    if is_file:
        return known.outerjoin(_links, is_next), func.coalesce(found, "")  # no cube has that id
    near = select(found.label("id")).where(is_next).offset(0).lateral("near")
    return known.join(near, true()), near.c.id


def _labels_beneath(*, is_file: bool) -> CompoundSelect[Any]:
    """The labels of all that is beneath some cubes, but not their own; each with the cube that was asked."""
    beneath = partial(following, is_file=is_file)

    def labels(known: FromClause, cube: ColumnElement[str]) -> Select[Any]:
        is_it = and_(_cubes.c.tenant == bindparam("tenant"), _cubes.c.id == cube)
        return select(held.c.top, _cubes.c.tags).select_from(known.join(_cubes, is_it))

    asked = select(_cubes.c.id.label("top"), _cubes.c.id)
    begun = asked.where(_cubes.c.tenant == bindparam("tenant"), _among(_cubes.c.id)).cte("held", recursive=True)
    reached, lower = beneath(begun, LinkKind.COMPUTED_FROM, _links.c.source, _links.c.target)
    held = begun.union(select(begun.c.top, lower).select_from(reached))
    return union(
        labels(held, held.c.id).where(held.c.id != held.c.top),
        labels(*beneath(held, LinkKind.DERIVED_FROM, _links.c.source, _links.c.target)),
        labels(*beneath(held, LinkKind.MEMBER_OF, _links.c.target, _links.c.source)),
    )


LABELS_BENEATH = _labels_beneath(is_file=True)

LABELS_BENEATH_STEP_BY_STEP = _labels_beneath(is_file=False)


def _continuing(*, is_file: bool) -> Select[tuple[str]]:
    """These pages, and those that continue them, over any number of steps."""
    begun = _reached()
    reached, later = following(begun, LinkKind.CHAIN, _links.c.target, _links.c.source, is_file=is_file)
    return select(begun.union(select(later).select_from(reached)).c.id)


CONTINUING = _continuing(is_file=True)

CONTINUING_STEP_BY_STEP = _continuing(is_file=False)


def _told_by(operation: Operation) -> Select[int, str | None]:
    """When events of that operation were written about some cubes, and what they tell, in order."""
    return (
        select(_events.c.at, _events.c.detail)
        .where(_owned_by_key(_events), _among(_events.c.cube_id), _events.c.operation == operation.value)
        .order_by(_events.c.sequence)
    )


TRANSITIONS, LABEL_CHANGES = _told_by(Operation.TRANSITION), _told_by(Operation.LABEL).add_columns(_events.c.cube_id)

REFRESHED = (
    select(_events.c.cube_id, _events.c.detail)
    .where(
        _owned_by_key(_events),
        _among(_events.c.cube_id),
        _events.c.operation == Operation.REFRESH.value,
        _events.c.detail.is_not(None),
    )
    .order_by(_events.c.sequence)
)

_is_retold = and_(  # a segment that the program describes again, whose earlier version is not kept
    _events.c.operation == Operation.REFRESH.value,
    _events.c.kind == Kind.SEGMENT.value,
    _events.c.detail.like('{"by":%'),
)

AUTHORS = (
    select(_events.c.version, _events.c.detail)
    .where(
        _owned_by_key(_events),
        _among(_events.c.cube_id),
        or_(_events.c.operation == Operation.ADD.value, _events.c.operation == Operation.REVISE.value, _is_retold),
    )
    .order_by(_events.c.sequence)
)

HEADS = select(_cubes.c.id, _cubes.c.kind, _cubes.c.version).where(_owned_by_key(), _among(_cubes.c.id))

STANDINGS = select(_cubes.c.id, _cubes.c.state, _cubes.c.tags, _cubes.c.expires_at).where(
    _owned_by_key(), _among(_cubes.c.id)
)

STATES = select(_cubes.c.id, _cubes.c.state).where(_owned_by_key(), _among(_cubes.c.id))

VERSIONS = select(_cubes.c.id, _cubes.c.version).where(_owned_by_key(), _among(_cubes.c.id))

REMOVAL = delete(_cubes).where(_owned_by_key(), _among(_cubes.c.id))

KEPT_VERSIONS = (
    select(_versions.c.cube_id, _versions.c.version, stored_size(_versions))
    .join(_cubes, same_cube(_versions.c.cube_id))
    .where(_owned_by_key(), _among(_versions.c.cube_id))
    .order_by(_versions.c.cube_id, _versions.c.version)
)

HISTORY = (
    select(_versions.c.version, _versions.c.document, _versions.c.checksum, _versions.c.packed, _versions.c.base)
    .join(_cubes, same_cube(_versions.c.cube_id))
    .where(_owned_by_key(), _versions.c.cube_id == bindparam("cube_id"))
    .order_by(_versions.c.version)
)

REPLACED = (  # when each kept version gave way to the next one: the first event that tells of a later one
    select(_versions.c.version, func.min(_events.c.at), func.min(_events.c.sequence))
    .join(_cubes, same_cube(_versions.c.cube_id))
    .join(
        _events,
        (_events.c.tenant == _versions.c.tenant)
        & (_events.c.cube_id == _versions.c.cube_id)
        & (_events.c.version > _versions.c.version),
    )
    .where(_owned_by_key(), _versions.c.cube_id == bindparam("cube_id"))
    .group_by(_versions.c.version)
    .order_by(_versions.c.version)
)


def is_cold(document: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether the document is a reference to a pack."""
    return func.substr(document, 1, len(COLD)) == COLD


def labelled(wanted: Filter) -> ColumnElement[bool]:
    """Whether a cube has the labels that a filter asks for, and none that it excludes."""
    all_of = [_has(label) for label in sorted(wanted.all_of)]
    any_of = [or_(false(), *(_has(label) for label in sorted(some))) for some in wanted.any_of]
    return and_(true(), *all_of, *any_of, *(not_(_has(label)) for label in sorted(wanted.none_of)))


def _has(label: str) -> ColumnElement[bool]:
    """Whether the JSON list of labels has this one; no other label can contain it with both its quotation marks."""
    held: ColumnElement[str] = func.coalesce(_cubes.c.tags, "")
    return func.replace(held, json.dumps(label, ensure_ascii=False), "") != held


REFERENCES = select(_cubes.c.id, _cubes.c.document).where(
    _owned_by_key(), _among(_cubes.c.id), is_cold(_cubes.c.document)
)

_IS_COLD = and_(_cubes.c.tier == Tier.ARCHIVE.value, is_cold(_cubes.c.document))  # only there a document is looked at

_FOUND_IN: tuple[
    tuple[ColumnElement[bool], str], ...
] = (  # where searches look for a page that is not found in its tier
    (_cubes.c.state == State.MERGED.value, MERGED_TIER),
    (_IS_COLD, COLD_TIER),
    (_cubes.c.state == State.ARCHIVED.value, Tier.ARCHIVE.value),
)

_EXPIRES_AT = case(
    (_cubes.c.state == State.EXPIRED.value, 0), (_cubes.c.state != State.FROZEN.value, _cubes.c.expires_at)
)  # NULL, as of a frozen cube: it does not expire

_WITH_SEGMENTS = _cubes.outerjoin(
    _links,
    and_(
        _links.c.tenant == _cubes.c.tenant,
        _links.c.source == _cubes.c.id,
        _links.c.kind == LinkKind.MEMBER_OF.value,
    ),
)

_FIRST_PARTS = 16  # of a page: only with these its tier is told, for it stands in a document that may be large

_TURNS = (  # in the order of StoredPassage
    select(
        _cubes.c.id,
        _cubes.c.position,
        func.coalesce(_passages.c.part, 0),
        case(
            (_passages.c.part > _FIRST_PARTS, None),
            *_FOUND_IN,
            else_=_cubes.c.tier,
        ),
        _cubes.c.session_id,
        func.coalesce(_passages.c.said_at, _cubes.c.event_at),
        _passages.c.speaker,
        func.coalesce(_passages.c.marks, 0),
        func.coalesce(_passages.c.words, ""),
        _passages.c.vector,
        _cubes.c.tags,
        _EXPIRES_AT,
        _links.c.target,
        _passages.c.turn,
        _passages.c.start,
        _passages.c.end,
        _passages.c.checksum,
    )
    .select_from(
        _WITH_SEGMENTS.outerjoin(
            _passages, and_(_passages.c.tenant == _cubes.c.tenant, _passages.c.cube_id == _cubes.c.id)
        )
    )
    .where(_cubes.c.kind == Kind.PAGE.value)
    .order_by(_cubes.c.position, _passages.c.part)
)

PASSAGES = _TURNS.where(_owned(_cubes))

PASSAGES_OF = _TURNS.where(_owned_by_key(), _among(_cubes.c.id))

FACETS_OF = (  # the page, then in the order of Facet
    select(_cubes.c.id, case(*_FOUND_IN, else_=_cubes.c.tier), _cubes.c.tags, _EXPIRES_AT, _links.c.target)
    .select_from(_WITH_SEGMENTS)
    .where(_cubes.c.kind == Kind.PAGE.value, _owned_by_key(), _among(_cubes.c.id))
)


def _neighbour(step: int) -> ColumnElement[str | None]:
    """The page of the same session before (-1) or after (1) a page, if it is near: others may talk meanwhile."""
    near = _cubes.alias()
    same = [near.c[name] == _cubes.c[name] for name in OWNER]
    position, far = _cubes.c.position, step * NEIGHBOURHOOD
    return (
        select(near.c.id)
        .where(*same, near.c.kind == Kind.PAGE.value, near.c.session_id.is_not_distinct_from(_cubes.c.session_id))
        .where(near.c.position.between(position + min(step, far), position + max(step, far)))
        .order_by(near.c.position if step > 0 else near.c.position.desc())
        .limit(1)
        .correlate(_cubes)
        .scalar_subquery()
    )


BESIDE = select(_neighbour(-1), _neighbour(1)).where(_owned_by_key(), _among(_cubes.c.id))

EVENTS = (
    select(
        _events.c.sequence,
        _events.c.at,
        _events.c.operation,
        _events.c.kind,
        _events.c.cube_id,
        _events.c.version,
        _events.c.detail,
    )
    .where(_owned(_events), _events.c.sequence > bindparam("after"))
    .order_by(_events.c.sequence)
    .limit(bindparam("limit"))
)
