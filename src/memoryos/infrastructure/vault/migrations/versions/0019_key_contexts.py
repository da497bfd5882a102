"""What the caller of a key may call for, and its program."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("keys", sa.Column("purposes", sa.Text))
    op.add_column("keys", sa.Column("application", sa.Text))
