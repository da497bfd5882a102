"""No vector of its own for a page that has passages: it is the mean of theirs."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("DELETE FROM vectors WHERE (tenant, cube_id) IN (SELECT tenant, cube_id FROM passages)")
