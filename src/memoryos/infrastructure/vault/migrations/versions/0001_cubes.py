"""Cubes and what hangs on them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

OWNER = ["tenant", "user_id", "agent_id", "namespace"]


def upgrade() -> None:
    op.create_table("meta", sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False))
    _create_cubes()
    _create_versions()
    _create_links()
    _create_vectors()
    _create_events()
    _create_jobs()
    if op.get_bind().dialect.name == "sqlite":
        _create_fts5()


def _owner() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in OWNER]


def _tenant() -> sa.Column[str]:
    return sa.Column("tenant", sa.Text, nullable=False)


def _to_cube(column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["tenant", column], ["cubes.tenant", "cubes.id"], ondelete="CASCADE")


def _create_cubes() -> None:
    op.create_table(
        "cubes",
        *_owner(),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text),
        sa.Column("tier", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text),
        sa.Column("event_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    op.create_index("cubes_by_owner", "cubes", [*OWNER, "kind", "tier", "position"])
    op.create_index("cubes_by_position", "cubes", [*OWNER, "position"], unique=True)


def _create_versions() -> None:
    op.create_table(
        "versions",
        _tenant(),
        sa.Column("cube_id", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "cube_id", "version"),
        _to_cube("cube_id"),
    )


def _create_links() -> None:
    op.create_table(
        "links",
        _tenant(),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "source", "kind", "target"),
        _to_cube("source"),
        _to_cube("target"),
    )
    op.create_index("links_by_target", "links", ["tenant", "target", "kind", "source"])
    member = sa.text("kind = 'member_of'")
    op.create_index(
        "links_one_segment", "links", ["tenant", "source"], unique=True, sqlite_where=member, postgresql_where=member
    )


def _create_vectors() -> None:
    op.create_table(
        "vectors",
        _tenant(),
        sa.Column("cube_id", sa.Text, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "cube_id", "part"),
        _to_cube("cube_id"),
    )


def _create_events() -> None:
    sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "events",
        sa.Column("sequence", sequence, primary_key=True, autoincrement=True),
        *_owner(),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("cube_id", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_owner", "events", [*OWNER, "sequence"])
    op.create_index("events_by_cube", "events", ["tenant", "cube_id", "sequence"])


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        *_owner(),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("cube_id", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("lease_until", sa.BigInteger),
        sa.Column("error", sa.Text),
        sa.PrimaryKeyConstraint("tenant", "id"),
        _to_cube("cube_id"),
    )
    op.create_index("jobs_by_owner", "jobs", [*OWNER, "state", "created_at"])


def _create_fts5() -> None:
    op.create_table(
        "texts",
        sa.Column("docid", sa.Integer, primary_key=True),
        _tenant(),
        sa.Column("cube_id", sa.Text, nullable=False),
        sa.UniqueConstraint("tenant", "cube_id"),
        _to_cube("cube_id"),
    )
    op.execute(
        "CREATE VIRTUAL TABLE text_terms USING fts5(terms, tokenize = \"unicode61 remove_diacritics 0 tokenchars '_'\")"
    )
