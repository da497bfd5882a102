"""Room for the vectors of another embedder, while the store still runs on the old ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "next_vectors",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("cube_id", sa.Text, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "cube_id", "part"),
        sa.ForeignKeyConstraint(["tenant", "cube_id"], ["cubes.tenant", "cubes.id"], ondelete="CASCADE"),
    )
