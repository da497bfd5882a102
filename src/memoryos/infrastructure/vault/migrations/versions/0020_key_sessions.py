"""The session in which the caller of a key acts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("keys", sa.Column("session", sa.Text))
