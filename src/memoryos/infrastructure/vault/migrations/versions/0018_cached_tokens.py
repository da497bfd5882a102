"""Tokens of prompts that a server or a KV state had already, in the usage of models."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("usage", sa.Column("cached_tokens", sa.BigInteger, nullable=False, server_default="0"))
