"""What consolidation needs: jobs that wait and pass each other, what model calls cost, notes, details of events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

OWNER = ["tenant", "user_id", "agent_id", "namespace"]


def upgrade() -> None:
    op.add_column("jobs", sa.Column("priority", sa.Integer, nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("not_before", sa.BigInteger))
    op.create_index("jobs_by_state", "jobs", ["state", *OWNER])
    op.add_column("events", sa.Column("detail", sa.Text))
    op.create_table(
        "notes",
        *_owner(),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint(*OWNER, "key"),
    )
    op.create_table(
        "usage",
        *_owner(),
        sa.Column("day", sa.BigInteger, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("calls", sa.BigInteger, nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(*OWNER, "day", "purpose", "model"),
    )


def _owner() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in OWNER]
