"""Blobs: which bytes lie in the object store, and which cubes refer to them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from memoryos.infrastructure.vault import postgres_tables

revision = "0011"
down_revision = "0010"

OWNER = ["tenant", "user_id", "agent_id", "namespace"]


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    split: Any = {"postgresql_partition_by": "HASH (tenant)"} if is_postgres else {}
    text = sa.Text(collation="C") if is_postgres else sa.Text()
    op.create_table(
        "blobs",
        *(sa.Column(name, text, nullable=False) for name in OWNER),
        sa.Column("name", text, nullable=False),
        sa.Column("sha256", text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("media_type", text),
        sa.Column("remove_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("tenant", "name"),
        **split,
    )
    op.create_table(
        "attached",
        sa.Column("tenant", text, nullable=False),
        sa.Column("cube_id", text, nullable=False),
        sa.Column("sha256", text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "cube_id", "sha256"),
        sa.ForeignKeyConstraint(["tenant", "cube_id"], ["cubes.tenant", "cubes.id"], ondelete="CASCADE"),
        **split,
    )
    op.create_index("blobs_by_owner", "blobs", [*OWNER, "sha256"])
    op.create_index("attached_by_blob", "attached", ["tenant", "sha256"])
    if is_postgres:
        for table in ("blobs", "attached"):
            postgres_tables.split(op.get_bind(), table)
