"""Where a passage lies in its turn: of a long turn there are several. NULL is the whole of a turn, as it was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for name in ("turn", "start", "end"):
        op.add_column("passages", sa.Column(name, sa.Integer))
