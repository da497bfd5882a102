"""What takes away from a SQLite file what schema 0008 added, as if an older program had made it."""

from __future__ import annotations

CHECKED = ("cubes", "versions", "vectors", "passages")
BACK_TO_0007 = "".join(
    [f"DROP TRIGGER {table}_checksum;" for table in CHECKED if table != "versions"]
    + [f"ALTER TABLE {table} DROP COLUMN checksum;" for table in CHECKED]
    + ["UPDATE alembic_version SET version_num = '0007';"]
)
