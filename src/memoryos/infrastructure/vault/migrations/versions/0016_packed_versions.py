"""Earlier versions as differences to newer ones, and to which agents a key is limited."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    text = sa.Text(collation="C") if is_postgres else sa.Text()
    op.add_column("versions", sa.Column("packed", sa.LargeBinary))
    op.add_column("versions", sa.Column("base", sa.Integer))
    op.add_column("keys", sa.Column("agents", text))
