"""A role that may create schemas cannot put its tables before ours: every transaction names our schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy.engine import URL

import memoryos
from contract import server
from memoryos import Memory, stores
from memoryos.errors import StorageError
from memoryos.infrastructure.vault import tables
from memoryos.models.hashing import Hashing


@pytest.fixture(params=["postgres"])
def back_end(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def url() -> URL:
    """An empty database of its own: what is done to it here nobody else is to find."""
    return server.new_database()


@pytest.fixture
def shadow(url: URL) -> Iterator[str]:
    """The name of a schema of another role, which the server searches before ours."""
    mallory, space = f"mallory_{uuid4().hex[:8]}", url.username
    with server.administrator(url.database) as connection:
        connection.execute(f"CREATE ROLE {mallory}")
        connection.execute(f'CREATE SCHEMA "{space}" AUTHORIZATION {mallory}')
    yield f'"{space}"'
    with server.administrator(url.database) as connection:
        connection.execute(f'DROP SCHEMA "{space}" CASCADE')
        connection.execute(f"DROP ROLE {mallory}")


def fill(url: URL, shadow: str) -> None:
    """Put tables with our columns into the schema, which everybody may use."""
    with server.administrator(url.database) as connection:
        names = [*tables.metadata.tables, "alembic_version"]
        for name in names:
            connection.execute(f"CREATE TABLE {shadow}.{name} (LIKE public.{name} INCLUDING ALL)")
        wanted = "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = %s"
        (owner,) = connection.execute(wanted, [shadow[1:-1]]).fetchone()
        for name in names:
            connection.execute(f"ALTER TABLE {shadow}.{name} OWNER TO {owner}")
        connection.execute(f"INSERT INTO {shadow}.alembic_version SELECT * FROM public.alembic_version")
        connection.execute(f"INSERT INTO {shadow}.meta SELECT * FROM public.meta")
        connection.execute(f"GRANT USAGE ON SCHEMA {shadow} TO PUBLIC")
        connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA {shadow} TO PUBLIC")


def pages(url: URL, space: str) -> int:
    with server.administrator(url.database) as connection:
        return connection.execute(f"SELECT count(*) FROM {space}.cubes").fetchone()[0]


def opened(url: URL) -> Memory:
    return memoryos.open(url.render_as_string(hide_password=False), user="ann", embedder=Hashing())


def test_the_server_would_search_the_shadow_first(url, shadow):
    opened(url).close()
    fill(url, shadow)
    with closing(psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False))) as connection:
        space = connection.execute("SELECT current_schema()").fetchone()[0]
    assert space == shadow[1:-1]


def test_a_memory_that_is_open_goes_on_in_its_own_tables(url, shadow):
    with opened(url) as memory:
        memory.add("I live in Paris.")
        fill(url, shadow)
        memory.add("I like jazz.")
        memory.consolidate()
        assert len(memory.pages.list()) == 2
    assert pages(url, "public") >= 2
    assert pages(url, shadow) == 0


def test_a_memory_that_is_opened_later_finds_its_own_tables(url, shadow):
    with opened(url) as memory:
        memory.add("I live in Paris.")
    fill(url, shadow)
    with opened(url) as memory:
        assert [page.text for page in memory.pages.list()] == ["user: I live in Paris."]
        memory.add("I like jazz.")
    assert pages(url, shadow) == 0


def test_a_role_that_owns_neither_is_told_to_name_the_schema(url, shadow):
    opened(url).close()
    fill(url, shadow)
    with server.administrator(url.database) as connection:
        connection.execute("ALTER TABLE public.alembic_version OWNER TO CURRENT_USER")
        connection.execute(f'GRANT SELECT ON public.alembic_version TO "{url.username}"')
    with pytest.raises(StorageError, match="search_path"):
        opened(url)
    named = url.update_query_dict({"options": "-csearch_path=public"})
    with opened(named) as memory:
        assert memory.pages.list() == []


def test_to_scrub_rewrites_our_tables_and_not_the_shadow(url, shadow):
    with opened(url) as memory:
        memory.add("I live in Paris.")
    fill(url, shadow)
    scrubbed = stores.scrub(url.render_as_string(hide_password=False))
    assert any(name.startswith("cubes_") for name in scrubbed.done)
    assert not any(shadow[1:-1] in name for name in (*scrubbed.done, *scrubbed.refused))
    assert [one.split(":")[0] for one in scrubbed.refused] == ["checkpoint"]


def test_what_runs_in_the_database_is_in_our_schema_and_searches_nobody_elses(url):
    """A trigger runs with the search path of whoever changes the row, unless its function has one."""
    opened(url).close()
    about = "pronamespace::regnamespace::text, proconfig"
    with server.administrator(url.database) as connection:
        ours = connection.execute(f"SELECT {about} FROM pg_proc WHERE proname LIKE 'memoryos%'").fetchall()
        called = "pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid WHERE NOT tgisinternal"
        by_triggers = connection.execute(f"SELECT DISTINCT {about} FROM {called}").fetchall()
    assert ours == by_triggers == [("public", ["search_path=pg_catalog, pg_temp"])]


def test_a_program_that_knows_no_checksums_takes_ours_away_whatever_it_searches_first(url, shadow):
    with opened(url) as memory:
        memory.add("I live in Paris.")
    fill(url, shadow)
    with server.administrator(url.database) as connection:
        connection.execute(f"SET search_path = {shadow}, public")
        connection.execute("UPDATE public.cubes SET document = document || ' '")
        assert connection.execute("SELECT count(checksum) FROM public.cubes").fetchone() == (0,)


def test_an_upgrade_leaves_the_shadow_as_it_is(url, shadow):
    opened(url).close()
    with server.administrator(url.database) as connection:
        connection.execute("DROP FUNCTION memoryos_drop_checksum() CASCADE")
        for table in ("cubes", "versions", "vectors", "passages"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        connection.execute("UPDATE alembic_version SET version_num = '0007'")
    fill(url, shadow)
    with server.administrator(url.database) as connection:
        connection.execute("DROP INDEX public.cubes_by_end, public.cubes_expired")
        connection.execute("DROP TABLE public.audit, public.audit_heads, public.keys, public.delegations")
        connection.execute("DROP TABLE public.role_grants")
        connection.execute("ALTER TABLE public.versions DROP COLUMN packed, DROP COLUMN base")
        connection.execute("ALTER TABLE public.usage DROP COLUMN cached_tokens")
        connection.execute("DROP TABLE public.attached, public.blobs; ALTER TABLE public.jobs DROP COLUMN payload")
        connection.execute("ALTER TABLE public.cubes DROP COLUMN mark")
    with opened(url) as memory:
        memory.add("I live in Paris.")
    with server.administrator(url.database) as connection:
        columns = "SELECT DISTINCT table_schema FROM information_schema.columns WHERE column_name = 'checksum'"
        assert connection.execute(columns).fetchall() == [("public",)]
        functions = "SELECT pronamespace::regnamespace::text FROM pg_proc WHERE proname LIKE 'memoryos%'"
        assert connection.execute(functions).fetchall() == [("public",)]
        assert connection.execute(f"SELECT version_num FROM {shadow}.alembic_version").fetchone() == ("0007",)
