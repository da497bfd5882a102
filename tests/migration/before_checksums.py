"""What takes away from a SQLite file what schemas 0008 to 0021 added, as if an older program had made it."""

from __future__ import annotations

OLD_STATES = """
    UPDATE cubes SET state = CASE mark
    WHEN 'chained' THEN 'activated' WHEN 'proposed' THEN 'frozen' WHEN 'rejected' THEN 'expired' ELSE state END;
"""
CHECKED = ("cubes", "versions", "vectors", "passages")
BACK_TO_0011 = (
    "ALTER TABLE usage DROP COLUMN cached_tokens;"
    "ALTER TABLE versions DROP COLUMN packed;ALTER TABLE versions DROP COLUMN base;"
    "DROP TABLE keys;DROP TABLE delegations;DROP TABLE role_grants;DROP INDEX cubes_by_end;DROP INDEX cubes_expired;"
    "DROP TABLE audit;DROP TABLE audit_heads;"
)
BACK_TO_0008 = BACK_TO_0011 + "DROP TABLE attached;DROP TABLE blobs;ALTER TABLE jobs DROP COLUMN payload;"
BACK_TO_0007 = BACK_TO_0008 + "".join(
    [f"DROP TRIGGER {table}_checksum;" for table in CHECKED if table != "versions"]
    + [f"ALTER TABLE {table} DROP COLUMN checksum;" for table in CHECKED]
    + [OLD_STATES, "ALTER TABLE cubes DROP COLUMN mark;"]
    + ["UPDATE alembic_version SET version_num = '0007';"]
)
