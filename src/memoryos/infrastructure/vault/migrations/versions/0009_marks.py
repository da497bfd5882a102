"""Marks: what the program notes of a cube, apart from its state; and which pages were read with their segment.

Documents of schema 1 are read as `untangled` says. The pages of a segment that were not read were the last ones, as
many as its interactions: the others get a link.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("cubes", sa.Column("mark", sa.Text))
    cubes = sa.table("cubes", *map(sa.column, ("kind", "tier", "state", "mark")))
    kind, tier, state = cubes.c.kind, cubes.c.tier, cubes.c.state
    is_chained = sa.and_(kind == "page", sa.or_(tier != "stm", state.in_(["activated", "archived"])))
    op.execute(cubes.update().where(is_chained).values(mark="chained"))
    for old, mark in (("frozen", "proposed"), ("expired", "rejected")):
        is_proposal = sa.and_(kind == "fact", tier == "archive", state == old)
        op.execute(cubes.update().where(is_proposal).values(mark=mark, state="generated"))
    op.execute(cubes.update().where(state.in_(["activated", "archived"])).values(state="generated"))
    connection = op.get_bind()
    if rows := list(_read(connection)):
        connection.execute(sa.text(_LINK), rows)


_SEGMENTS = "SELECT tenant, id, document FROM cubes WHERE kind = 'segment'"

_MEMBERS = """
    SELECT links.source FROM links JOIN cubes ON cubes.tenant = links.tenant AND cubes.id = links.source
    WHERE links.tenant = :tenant AND links.target = :segment AND links.kind = 'member_of' ORDER BY cubes.position
"""

_LINK = """
    INSERT INTO links (tenant, source, kind, target) VALUES (:tenant, :page, 'extracted', :page) ON CONFLICT DO NOTHING
"""


def _read(connection: sa.Connection) -> Iterator[dict[str, str]]:
    for tenant, segment, document in connection.execute(sa.text(_SEGMENTS)).all():
        found = connection.execute(sa.text(_MEMBERS), {"tenant": tenant, "segment": segment})
        pages = list(found.scalars())
        for page in pages[: max(0, len(pages) - _interactions(document))]:
            yield {"tenant": tenant, "page": page}


def _interactions(document: str) -> int:
    try:
        return int(json.loads(document)["behaviour"]["interactions"])
    except (ValueError, LookupError, TypeError):
        return 0  # a segment that cannot be read is reported when it is
