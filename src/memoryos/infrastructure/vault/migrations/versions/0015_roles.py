"""Roles that identities have beside those with which they call."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from memoryos.infrastructure.vault import postgres_tables

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    split: Any = {"postgresql_partition_by": "HASH (tenant)"} if is_postgres else {}
    text = sa.Text(collation="C") if is_postgres else sa.Text()
    names = ("tenant", "id", "identity", "name", "roles", "granted_by")
    op.create_table(
        "role_grants",
        *(sa.Column(name, text, nullable=False) for name in names),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("tenant", "id"),
        **split,
    )
    op.create_index("role_grants_by_identity", "role_grants", ["tenant", "identity"])
    if is_postgres:
        postgres_tables.split(op.get_bind(), "role_grants")
