"""Write src/memoryos/infrastructure/vault/sqlite/new_file.sql: the tables that the migrations make in an empty file.

    PYTHONPATH=src python tools/build_new_file.py

Run it after a new migration; `tests/migration/test_schema.py` fails until then.
"""

from __future__ import annotations

from sqlalchemy import create_engine

from memoryos.infrastructure.vault import migrations
from memoryos.infrastructure.vault.sqlite import new_file


def main() -> None:
    with create_engine("sqlite://").begin() as connection:
        migrations.upgrade(connection)
        statements = new_file.statements_of(connection)
    new_file.FILE.write_text("\n\n".join(statements) + "\n", "utf-8")
    print(f"{new_file.FILE}: {len(statements)} statements of schema {migrations.HEAD}")


if __name__ == "__main__":
    main()
