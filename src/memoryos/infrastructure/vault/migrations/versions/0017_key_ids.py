"""An index of the ids of keys: a request names its key by the id alone."""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_index("keys_by_id", "keys", ["id"])
