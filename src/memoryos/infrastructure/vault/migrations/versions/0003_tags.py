"""Tags beside the cube, so that a search can filter by them without reading documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_TAGGED = 'SELECT tenant, id, document FROM cubes WHERE document LIKE \'%"tags":["%\''


def upgrade() -> None:
    op.add_column("cubes", sa.Column("tags", sa.Text))
    connection = op.get_bind()
    if rows := list(_rows(connection)):
        connection.execute(sa.text("UPDATE cubes SET tags = :tags WHERE tenant = :tenant AND id = :id"), rows)


def _rows(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    for tenant, cube, document in connection.execute(sa.text(_TAGGED)):
        if tags := _tags(document):
            yield {"tenant": tenant, "id": cube, "tags": json.dumps(tags, ensure_ascii=False)}


def _tags(document: str) -> list[str]:
    try:
        tags: list[str] = json.loads(document)["descriptive"]["tags"]
    except (ValueError, LookupError, TypeError):
        return []  # a cube that cannot be read is reported when it is, and keeps no other from being opened
    return tags
