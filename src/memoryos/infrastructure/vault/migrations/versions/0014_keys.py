"""Keys of callers, rights that were passed on, and the label of memories that are read-only: policies ask for it."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from memoryos.infrastructure.vault import postgres_tables

revision = "0014"
down_revision = "0013"

READ_ONLY = "\x1faccess:read_only"


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    split: Any = {"postgresql_partition_by": "HASH (tenant)"} if is_postgres else {}
    text = sa.Text(collation="C") if is_postgres else sa.Text()
    op.create_table(
        "keys",
        sa.Column("tenant", text, nullable=False),
        sa.Column("id", text, nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.Column("identity", text, nullable=False),
        sa.Column("roles", text, nullable=False),
        sa.Column("actions", text, nullable=False),
        sa.Column("users", text),
        sa.Column("created_by", text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("tenant", "id"),
        **split,
    )
    op.create_table(
        "delegations",
        *(sa.Column(name, text, nullable=False) for name in ("tenant", "id", "user_id", "delegator", "roles")),
        *(sa.Column(name, text, nullable=False) for name in ("delegate", "actions")),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
        **split,
    )
    op.create_index("delegations_by_delegate", "delegations", ["tenant", "delegate"])
    if is_postgres:
        for table in ("keys", "delegations"):
            postgres_tables.split(op.get_bind(), table)
    _label_read_only()


def _label_read_only() -> None:
    """Only published facts could be read-only; no filter asked for that."""
    cubes = sa.table("cubes", *map(sa.column, ("tenant", "id", "kind", "document", "tags")))
    asked = sa.select(cubes.c.tenant, cubes.c.id, cubes.c.tags).where(
        cubes.c.kind == "fact", cubes.c.document.like('%"mode":"read_only"%')
    )
    for tenant, cube_id, tags in op.get_bind().execute(asked).all():
        labels = json.loads(tags or "[]")
        if READ_ONLY not in labels:
            written = json.dumps([*labels, READ_ONLY], ensure_ascii=False)
            wanted = (cubes.c.tenant == tenant, cubes.c.id == cube_id)
            op.get_bind().execute(sa.update(cubes).where(*wanted).values(tags=written))
