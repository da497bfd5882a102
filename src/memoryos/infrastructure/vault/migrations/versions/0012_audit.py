"""Audit: who did what to which memory, in chains of hashes, and the last link of each chain."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from memoryos.infrastructure.vault import postgres_tables

revision = "0012"
down_revision = "0011"

OWNER = ["tenant", "user_id", "agent_id", "namespace"]


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    split: Any = {"postgresql_partition_by": "HASH (tenant)"} if is_postgres else {}
    text = sa.Text(collation="C") if is_postgres else sa.Text()
    op.create_table(
        "audit",
        *(sa.Column(name, text, nullable=False) for name in OWNER),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("caller", text, nullable=False),
        sa.Column("context", text),
        sa.Column("action", text, nullable=False),
        sa.Column("operation", text, nullable=False),
        sa.Column("change", text),
        sa.Column("cubes", text),
        sa.Column("decision", text, nullable=False),
        sa.Column("reason", text),
        sa.Column("hash", text, nullable=False),
        sa.PrimaryKeyConstraint(*OWNER, "number"),
        **split,
    )
    op.create_table(
        "audit_heads",
        *(sa.Column(name, text, nullable=False) for name in OWNER),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.PrimaryKeyConstraint(*OWNER),
        **split,
    )
    op.create_index("audit_by_time", "audit", ["tenant", "at"])
    if is_postgres:
        for table in ("audit", "audit_heads"):
            postgres_tables.split(op.get_bind(), table)
