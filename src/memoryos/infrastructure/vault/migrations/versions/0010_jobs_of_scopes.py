"""Jobs of a scope, with a payload: a job need not be about a cube.

SQLite cannot drop NOT NULL from a column, so there the table is made anew, with all its rows.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

OWNER = ["tenant", "user_id", "agent_id", "namespace"]

_KEPT = (
    "tenant, user_id, agent_id, namespace, id, kind, cube_id, state, attempts, created_at, lease_until, error,"
    " priority, not_before"
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("jobs", "cube_id", nullable=True)
        op.add_column("jobs", sa.Column("payload", sa.Text(collation="C")))
        return
    _create_jobs("new_jobs")
    op.execute(f"INSERT INTO new_jobs ({_KEPT}) SELECT {_KEPT} FROM jobs")  # noqa: S608 - names of ours
    op.drop_table("jobs")
    op.rename_table("new_jobs", "jobs")
    op.create_index("jobs_by_owner", "jobs", [*OWNER, "state", "created_at"])
    op.create_index("jobs_by_state", "jobs", ["state", *OWNER])


def _create_jobs(name: str) -> None:
    op.create_table(
        name,
        *(sa.Column(column, sa.Text, nullable=False) for column in OWNER),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("cube_id", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("lease_until", sa.BigInteger),
        sa.Column("error", sa.Text),
        sa.Column("priority", sa.Integer, nullable=False, server_default="0"),
        sa.Column("not_before", sa.BigInteger),
        sa.Column("payload", sa.Text),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.ForeignKeyConstraint(["tenant", "cube_id"], ["cubes.tenant", "cubes.id"], ondelete="CASCADE"),
    )
