"""A new program brings the store up to date while processes of the old one use it: neither waits for the other to end.

There is no newer program yet, so the next schema is made up: a table of its own and a column, as ours have been added.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

import forked
import memoryos
from contract import server
from memoryos import load_settings
from memoryos.errors import StoreTooNew
from memoryos.infrastructure.vault import migrations
from memoryos.infrastructure.vault.postgres_tables import PARTITIONS
from memoryos.operation.scheduler.job_kinds import JobType, OneByOne
from memoryos.scope import Scope

PATIENCE = 60.0  # seconds

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("cubes", sa.Column("mood", sa.Text))
    op.create_table("moods", sa.Column("tenant", sa.Text, primary_key=True), sa.Column("word", sa.Text))
"""

OLD_PROGRAM = """
import sys
from pathlib import Path

import memoryos
from memoryos import load_settings

url, folder = sys.argv[1], Path(sys.argv[2])
with memoryos.open(url, user="ann", settings=load_settings(embedder="hashing")) as memory:
    number = 0
    while not (folder / "stop").exists():
        number += 1
        page = memory.add(f"Entry number {number} about bees.", "Noted.")
        assert page in {hit.id for hit in memory.search(f"entry number {number}", pages=number).hits}
        (folder / "done").write_text(str(number))
print(number)
"""


@pytest.fixture
def url(tmp_path) -> str:
    """A store of the schema of today; it is not lent again."""
    place = server.new_database().render_as_string(hide_password=False)
    memoryos.open(place, user="ann", settings=load_settings(embedder="hashing")).close()
    return place


@contextmanager
def next_version(tmp_path: Path) -> Iterator[None]:
    """Within the block this process is of the next version."""
    folder = tmp_path / "migrations"
    shutil.copytree(Path(migrations.__file__).parent, folder)
    (folder / "versions" / "0022_moods.py").write_text(NEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "_FOLDER", folder)
        patch.setattr(migrations, "HEAD", "0022")
        yield


@pytest.fixture
def new_program(url, tmp_path) -> Iterator[None]:
    """A store of today, and a process of the next version."""
    with next_version(tmp_path):
        yield


def done(folder: Path) -> int:
    path = folder / "done"
    return int(path.read_text() or 0) if path.exists() else 0


def wait_for_more(folder: Path, process: subprocess.Popen[str]) -> None:
    """Return when the old program has added two more pages."""
    deadline, before = time.monotonic() + PATIENCE, done(folder)
    while done(folder) < before + 2:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.usefixtures("new_program")
def test_old_processes_go_on_while_a_new_one_brings_the_store_up_to_date(url, tmp_path):
    command = [forked.executable(), "-c", OLD_PROGRAM, url, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as old:
        wait_for_more(tmp_path, old)
        with memoryos.open(url, user="ann", settings=load_settings(embedder="hashing")) as new:
            wait_for_more(tmp_path, old)
            mine = new.add("The new program was here.", "Welcome.")
            wait_for_more(tmp_path, old)
            (tmp_path / "stop").touch()
            out, err = old.communicate(timeout=PATIENCE)
            assert (old.returncode, err) == (0, "")
            assert len(new.pages.list()) == int(out) + 1
            assert mine in {page.id for page in new.pages.list()}
            assert [event.sequence for event in new.log.events()] == sorted(
                event.sequence for event in new.log.events()
            )
    with server.administrator(make_url(url).database) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0022",)]
        assert connection.execute("SELECT count(*) FROM cubes WHERE mood IS NULL").fetchone()[0] > 0


def test_an_old_program_that_comes_later_is_told(url, tmp_path):
    with next_version(tmp_path):
        memoryos.open(url, user="ann", settings=load_settings(embedder="hashing")).close()
    with pytest.raises(StoreTooNew, match="0022"):
        memoryos.open(url, user="ann", settings=load_settings(embedder="hashing"))


@pytest.mark.usefixtures("new_program")
def test_two_new_processes_that_come_at_once_upgrade_it_once(url):
    def opened() -> int:
        with memoryos.open(url, user="ann", settings=load_settings(embedder="hashing")) as memory:
            memory.add("Together.")
            return len(memory.pages.list())

    with ThreadPoolExecutor(4) as pool:
        counts = [future.result(PATIENCE) for future in [pool.submit(opened) for _ in range(4)]]
    assert max(counts) == 4


BACK_TO_0008 = """
    ALTER TABLE usage DROP COLUMN cached_tokens;
    ALTER TABLE versions DROP COLUMN packed, DROP COLUMN base;
    DROP TABLE audit;
    DROP TABLE audit_heads;
    DROP INDEX cubes_by_end;
    DROP INDEX cubes_expired;
    DROP TABLE keys;
    DROP TABLE delegations;
    DROP TABLE role_grants;
    DROP TABLE attached;
    DROP TABLE blobs;
    ALTER TABLE jobs DROP COLUMN payload;
    ALTER TABLE cubes DROP COLUMN mark;
    ALTER TABLE jobs ALTER COLUMN cube_id SET NOT NULL;
    UPDATE alembic_version SET version_num = '0008';
"""


def test_a_store_before_scopes_had_jobs_and_blobs_gets_both(url, tmp_path):
    settings = load_settings(embedder="hashing", object_store=tmp_path.as_uri(), jobs="worker")
    with memoryos.open(url, user="ann", settings=settings) as memory:
        page = memory.add("I keep bees.")
        with memory._engine.vault.write(Scope(user="ann")) as writer:
            writer.enqueue("extract", [page], priority=7)
    with server.administrator(make_url(url).database) as connection:
        connection.execute(BACK_TO_0008)
    with memoryos.open(url, user="ann", settings=settings) as memory:
        assert 7 in {job.priority for job in memory.jobs.list() if job.cube_id == page}
        memory._engine.job_types.register(JobType("greet", OneByOne(memory._engine.vault, lambda *_: None)))
        memory.jobs.add("greet")
        picture = {"type": "image", "source": {"media_type": "image/png", "data": b"a boat"}}
        (shown,) = memory.add([{"role": "user", "content": ["Look.", picture]}])
        (file,) = memory.pages.attachments(shown)
        assert memory.pages.attachment(shown, file.id).data == b"a boat"
    with server.administrator(make_url(url).database) as connection:
        fenced = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relforcerowsecurity AND relname ~ %s"
        assert len(connection.execute(fenced, ["^(blobs|attached)"]).fetchall()) == 2 * (1 + PARTITIONS)
