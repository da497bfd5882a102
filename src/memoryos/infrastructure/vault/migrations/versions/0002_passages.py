"""Turns of pages as search knows them, in place of the FTS5 index.

A page without them is indexed when its scope is next read: that takes the embedder, which a migration does not have.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "passages",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("cube_id", sa.Text, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("said_at", sa.BigInteger, nullable=False),
        sa.Column("speaker", sa.Text),
        sa.Column("marks", sa.Integer, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "cube_id", "part"),
        sa.ForeignKeyConstraint(["tenant", "cube_id"], ["cubes.tenant", "cubes.id"], ondelete="CASCADE"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE text_terms")
        op.drop_table("texts")
