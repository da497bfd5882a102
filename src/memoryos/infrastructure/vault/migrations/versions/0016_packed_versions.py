"""Earlier versions as differences to newer ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("versions", sa.Column("packed", sa.LargeBinary))
    op.add_column("versions", sa.Column("base", sa.Integer))
