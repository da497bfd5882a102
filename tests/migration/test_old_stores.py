"""A store of schema 0001, with memory in it: it opens, migrates, and its pages are found at the first search."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, event

import memoryos
from memoryos import Caller, Memory, MemoryOS, Role, Scope, Strategy, Tier, load_settings, stores
from memoryos.api_key import hashed, written
from memoryos.cube import Behaviour, Descriptive, MemCube, Page, Segment, Turn, to_json
from memoryos.errors import PermissionDenied, StorageError
from memoryos.infrastructure.vault import migrations
from memoryos.infrastructure.vault.records import JobKind, JobState, Operation, Spending
from memoryos.kinds import Origin, SemanticType, State
from memoryos.models.hashing import Hashing
from migration.before_checksums import BACK_TO_0007

ANN = Scope(user="ann", agent="default")
BOB = Scope(user="bob", agent="default", tenant="acme")
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = [
    "My teapot is in the kitchen.",
    "我在杭州养蜜蜂 🐝",
    "The zanzibarquux is under the mat.",
    "Bees like lavender.",
]
TIERS = [Tier.ARCHIVE, Tier.MTM, Tier.MTM, Tier.STM]
LAST = int(migrations.HEAD) - 1
OLD = [  # the first one, the last one, and each third one between them; the others with --long
    pytest.param(f"{number:04}", marks=() if number in (*range(1, LAST, 3), LAST) else pytest.mark.long)
    for number in range(1, LAST + 1)
]

# As the program that knew schema 0001 stored them.
CUBE = "INSERT INTO cubes VALUES (?, ?, ?, 'private', ?, ?, ?, NULL, ?, 'generated', NULL, ?, NULL, 1, ?)"
VECTOR = "INSERT INTO vectors VALUES (?, ?, 0, ?)"
EVENT = """
    INSERT INTO events (tenant, user_id, agent_id, namespace, at, operation, kind, cube_id, version)
    VALUES (?, ?, ?, 'private', ?, 'add', ?, ?, 1)
"""
MEMBER = "INSERT INTO links VALUES (?, ?, 'member_of', ?)"
TEXT = "INSERT INTO texts VALUES (?, ?, ?)"
TERMS = "INSERT INTO text_terms (rowid, terms) VALUES (?, ?)"


def cube(name: str, scope: Scope, tier: Tier, payload: Page | Segment) -> MemCube:
    described = Descriptive(
        event_at=START,
        recorded_at=START,
        updated_at=START,
        origin=Origin.USER_INPUT,
        semantic_type=SemanticType.DIALOGUE,
    )
    behaviour = Behaviour(last_access=START)
    return MemCube(id=name, scope=scope, tier=tier, payload=payload, descriptive=described, behaviour=behaviour)


def page(number: int, scope: Scope) -> MemCube:
    at = START + timedelta(minutes=number)
    turns = (Turn(role=Role.USER, text=SAID[number], at=at), Turn(role=Role.ASSISTANT, text="I see.", at=at))
    return cube(f"page-{number}", scope, TIERS[number], Page(turns=turns))


def segment(scope: Scope) -> MemCube:
    payload = Segment(summary="all", keywords=(("bees", 2),), pages=2, first_at=START, last_at=START)
    return cube("segment", scope, Tier.MTM, payload)


def old_document(made: MemCube, state: State = State.GENERATED) -> str:
    """As a program that knew schema 0001 wrote it."""
    values = json.loads(to_json(made)) | {"state": state.value, "schema_version": 1}
    del values["mark"]
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False)


def insert(connection: sqlite3.Connection, made: MemCube, position: int) -> None:
    scope, at = made.scope, int(START.timestamp()) * 10**6
    owner = (scope.tenant, scope.user, scope.agent)
    connection.execute(CUBE, (*owner, made.id, position, made.kind.value, made.tier.value, at, old_document(made)))
    vector = np.asarray(Hashing().embed([made.text])[0], "<f4").tobytes()
    connection.execute(VECTOR, (scope.tenant, made.id, vector))
    connection.execute(EVENT, (*owner, at, made.kind.value, made.id))
    if made.tier is Tier.MTM and isinstance(made.payload, Page):
        connection.execute(MEMBER, (scope.tenant, made.id, "segment"))
    if isinstance(made.payload, Page):
        row = connection.execute("SELECT count(*) FROM texts").fetchone()[0] + 1
        connection.execute(TEXT, (row, scope.tenant, made.id))
        connection.execute(TERMS, (row, made.text.lower()))


def migrate(path: Path, revision: str) -> None:
    """Bring the file to that schema, as the program did whose newest it was."""
    engine = create_engine(f"sqlite:///{path}")
    event.listen(engine, "connect", lambda driver, _: setattr(driver, "isolation_level", None))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


@pytest.fixture
def path(tmp_path) -> Path:
    """A store of schema 0001 with four pages and a segment each of Ann and of Bob at Acme."""
    found = tmp_path / "memory.db"
    migrate(found, "0001")
    with closing(sqlite3.connect(found)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("INSERT INTO meta VALUES ('embedder', ?)", (Hashing.name,))
        for scope in (ANN, BOB):
            made = [segment(scope), *(page(number, scope) for number in range(len(SAID)))]
            for position, one in enumerate(made, 1):
                insert(connection, one, position)
        connection.commit()
    return found


def opened(path: Path) -> Memory:
    return memoryos.open(path, user="ann", settings=load_settings(embedder="hashing"), clock=lambda: START)


def ask(path: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def results(memory: Memory, query: str, strategy: Strategy = Strategy.HYBRID) -> list[tuple[str, float]]:
    return [(hit.id, round(hit.score, 4)) for hit in memory.search(query, strategy=strategy, archive=True).hits]


def test_it_migrates_when_it_is_opened_and_keeps_every_memory(path):
    with opened(path) as memory:
        assert [made.id for made in memory.pages.list()] == ["page-0", "page-1", "page-2", "page-3"]
        assert [one.id for one in memory.of(BOB).pages.list()] == ["page-0", "page-1", "page-2", "page-3"]
        assert memory.get("page-1").payload.turns[0].text == SAID[1]
        assert [view.page_ids for view in memory.segments.list()] == [("page-1", "page-2")]
    assert ask(path, "SELECT version_num FROM alembic_version") == [(migrations.HEAD,)]
    assert ask(path, "SELECT name FROM sqlite_schema WHERE name LIKE 'text%'") == []
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert ask(path, "PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("schema", OLD)
def test_one_of_each_schema_keeps_every_memory_and_goes_on(path, schema):
    migrate(path, schema)
    assert ask(path, "SELECT version_num FROM alembic_version") == [(schema,)]
    with opened(path) as memory:
        assert memory.search("lavender").hits[0].id == "page-3"
        assert memory.of(BOB).search("杭州").hits[0].id == "page-1"
        assert [view.page_ids for view in memory.segments.list()] == [("page-1", "page-2")]
        memory.update("page-2", "The zanzibarquux is in the drawer.")
        memory.delete("page-1")
        new = memory.add("I live in Porto.")
        memory.facts.add("I keep bees.")
        assert memory.search("Porto").hits[0].id == new
        assert "I keep bees." in [fact.text for fact in memory.profile.get().user.facts]
        assert memory.search("drawer").hits[0].id == "page-2"
        assert "page-1" not in [page for page, _ in results(memory, "杭州")]
    assert {damage.id for damage in stores.verify(path).damages} == {"page-0"}  # archived above without its segment


@pytest.mark.parametrize("strategy", ["hybrid", "bm25"])
@pytest.mark.parametrize(("query", "number"), [("lavender", 3), ("杭州", 1), ("zanzibarquux", 2)])
def test_its_pages_are_found_at_the_first_search(path, strategy, query, number):
    with opened(path) as memory:
        assert memory.search(query, strategy=strategy).hits[0].id == f"page-{number}"
        assert memory.of(BOB).search(query, strategy=strategy).hits[0].cube.scope == BOB


def test_its_archive_is_found_on_request(path):
    with opened(path) as memory:
        for strategy in ("hybrid", "bm25"):
            assert "page-0" not in [hit.id for hit in memory.search("teapot", strategy=strategy, archive=False).hits]
            assert memory.search("teapot", strategy=strategy, archive=True).hits[0].id == "page-0"


def test_each_turn_is_indexed_once_and_only_where_somebody_searches(path):
    with opened(path) as memory:
        assert ask(path, "SELECT count(*) FROM passages") == [(0,)]
        first = results(memory, "bees")
        assert ask(path, "SELECT tenant, count(*) FROM passages GROUP BY tenant") == [("default", 2 * len(SAID))]
        written = memory.log.events()
        assert [one.cube_id for one in written if one.operation is Operation.REFRESH] == [
            f"page-{number}" for number in range(len(SAID))
        ]
        assert results(memory, "bees") == first
        assert memory.log.events() == written
    with opened(path) as memory:
        assert results(memory, "bees") == first


def test_a_page_that_is_corrected_before_the_first_search_keeps_its_place_in_the_talk(path):
    with opened(path) as memory:
        memory.update("page-2", "The zanzibarquux is in the drawer.")
        answers = [results(memory, said, strategy) for said in SAID for strategy in Strategy]
    with opened(path) as memory:
        assert [results(memory, said, strategy) for said in SAID for strategy in Strategy] == answers


def test_a_page_that_is_deleted_before_the_first_search_is_not_found(path):
    with opened(path) as memory:
        memory.delete("page-2")
        assert "page-2" not in [page for page, _ in results(memory, "zanzibarquux")]
        assert results(memory, "zanzibarquux", Strategy.BM25) == []


LONG = "The bees of the old monastery fly to the lavender fields. " * 40
FACT = "Agatha keeps her passport in the blue drawer."
BACK_TO_0006 = f"""
    {BACK_TO_0007}
    DELETE FROM passages WHERE part > 1;
    UPDATE passages SET words = :words;
    ALTER TABLE passages DROP COLUMN turn; ALTER TABLE passages DROP COLUMN start;
    ALTER TABLE passages DROP COLUMN "end";
    UPDATE alembic_version SET version_num = '0006';
"""


@pytest.fixture
def with_a_long_page(tmp_path) -> Path:
    """A store of schema 0006: of a short page and of a long one, which is indexed as one."""
    made = tmp_path / "long.db"
    with opened(made) as memory:
        memory.add_many([Turn(role=Role.USER, text=text) for text in ("Tea?", f"{LONG}\n\n{FACT}\n\n{LONG}", "Bread.")])
    words = " ".join(f"{LONG} {FACT} {LONG}".lower().replace(".", "").split())
    with closing(sqlite3.connect(made)) as connection:
        for statement in BACK_TO_0006.split(";"):
            connection.execute(statement, {"words": words} if ":words" in statement else {})
        connection.commit()
    return made


def test_a_long_page_gets_its_passages_by_the_first_search(with_a_long_page):
    with opened(with_a_long_page) as memory:
        assert ask(with_a_long_page, "SELECT count(*) FROM passages") == [(3,)]
        (hit, *_) = memory.search("Where does Agatha keep her passport?").turns
        assert (FACT in hit.text, hit.is_part, hit.turn.text.count(FACT)) == (True, True, 1)
        written = memory.log.events()
        assert ask(with_a_long_page, "SELECT count(*) FROM passages WHERE turn IS NULL") == [(0,)]
        again = memory.search("Where does Agatha keep her passport?").turns[0]
        assert (again.start, again.end) == (hit.start, hit.end)
        assert memory.log.events() == written
    assert not stores.verify(with_a_long_page).damages


def test_a_store_that_is_only_read_answers_by_whole_turns(with_a_long_page):
    with opened(with_a_long_page) as memory:
        memory.stats()  # which brings the schema up to date, and searches nothing
    settings = load_settings(embedder="hashing")
    with memoryos.open(with_a_long_page, user="ann", settings=settings, read_only=True) as memory:
        (hit, *_) = memory.search("Where does Agatha keep her passport?").turns
        assert (hit.start, hit.end, FACT in hit.text) == (0, None, True)


def test_a_long_page_of_an_older_program_is_sound(with_a_long_page):
    with opened(with_a_long_page) as memory:
        memory.stats()
    assert not stores.verify(with_a_long_page).damages


BACK_TO_0003 = f"""
    {BACK_TO_0007}
    ALTER TABLE passages DROP COLUMN turn; ALTER TABLE passages DROP COLUMN start;
    ALTER TABLE passages DROP COLUMN "end";
    DROP TABLE next_vectors; DROP TABLE notes; DROP TABLE usage;
    ALTER TABLE events DROP COLUMN detail;
    DROP INDEX jobs_by_state; ALTER TABLE jobs DROP COLUMN priority; ALTER TABLE jobs DROP COLUMN not_before;
    UPDATE alembic_version SET version_num = '0003';
"""


def test_a_page_with_passages_keeps_no_vector_of_its_own(path):
    with opened(path) as memory:
        memory.search("bees")
    count = "SELECT count(*) FROM vectors JOIN cubes USING (tenant) WHERE id = cube_id AND kind = 'page'"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(BACK_TO_0003)
        connection.execute(VECTOR, ("default", "page-1", b"as schema 0003 had it"))
        connection.commit()
    assert ask(path, count) == [(1 + len(SAID),)]
    with opened(path) as memory:
        assert memory.search("bees", strategy="two_stage").hits
    assert ask(path, count) == [(len(SAID),)]  # Bob's, whose pages nobody searched yet


def test_published_facts_get_the_label_that_policies_ask_for(tmp_path):
    place = tmp_path / "published.db"
    with opened(place) as memory:
        memory.proposals.publish(["The limit is 4 pages"], source="v1")
        memory.facts.add("has bees", tags=["hobby"])
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript(BACK_TO_0007 + "UPDATE cubes SET tags = NULL WHERE document LIKE '%4 pages%';")
        connection.commit()
    with opened(place) as memory:
        assert [fact.text for fact in memory.facts.list(filters={"access": ["read_only"]})] == ["The limit is 4 pages"]
        assert [fact.text for fact in memory.facts.list(tags=["hobby"])] == ["has bees"]
    assert stores.verify(place).is_sound


def test_it_can_be_added_to_before_the_first_search(path):
    with opened(path) as memory:
        new = memory.add("Lavender honey is the best.")
        found = [hit.id for hit in memory.search("lavender", strategy="bm25").hits]
        assert sorted(found) == sorted([new, "page-3"])


def test_its_tags_are_known_and_a_cube_that_cannot_be_read_is_in_nobody_s_way(path):
    with closing(sqlite3.connect(path)) as connection:
        for number, tags in ((1, ["home", "蜜蜂 🐝"]), (3, ["home"])):
            old = page(number, ANN)
            tagged = old_document(replace(old, descriptive=replace(old.descriptive, tags=tuple(tags))))
            connection.execute("UPDATE cubes SET document = ? WHERE id = ? AND tenant = 'default'", (tagged, old.id))
        broken = '"tags":["home"] and no more of it'
        connection.execute("UPDATE cubes SET document = ? WHERE id = 'page-0' AND tenant = 'acme'", (broken,))
        connection.commit()
    with opened(path) as memory:
        assert {hit.id for hit in memory.search("bees", tags=["home"]).hits} == {"page-1", "page-3"}
        assert [hit.id for hit in memory.search("bees", tags=["蜜蜂 🐝", "home"]).hits] == ["page-1"]
        assert memory.search("bees", tags=["other"]).hits == ()
    assert ask(path, "SELECT count(*) FROM cubes WHERE tags IS NOT NULL") == [(2,)]


def test_a_migration_that_fails_leaves_the_old_store_as_it_was(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE passages (in_the_way)")
        connection.commit()
    with pytest.raises(StorageError, match="passages"):
        opened(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]
        assert connection.execute("SELECT count(*) FROM texts").fetchall() == [(2 * len(SAID),)]
        connection.execute("DROP TABLE passages")
        connection.commit()
    with opened(path) as memory:
        assert memory.search("lavender").hits[0].id == "page-3"


@pytest.mark.parametrize("schema", ["0001", "0004", "0008"])
def test_jobs_that_wait_in_an_older_schema_wait_on_and_go_with_their_cube(path, schema):
    migrate(path, schema)
    with closing(sqlite3.connect(path)) as connection:
        for scope, state in ((ANN, "queued"), (BOB, "dead")):
            owner = (scope.tenant, scope.user, scope.agent, "private")
            row = (*owner, f"job-{scope.user}", "extract", "segment", state, 2, 1, "no answer")
            columns = "tenant, user_id, agent_id, namespace, id, kind, cube_id, state, attempts, created_at, error"
            connection.execute(f"INSERT INTO jobs ({columns}) VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    with opened(path) as memory:
        with memory._engine.vault.read(BOB) as reader:
            (dead,) = reader.jobs()
        with memory._engine.vault.read(ANN) as reader:
            (job,) = reader.jobs()
        assert (job.id, job.kind, job.cube_id, job.attempts, job.error) == (
            "job-ann",
            JobKind.EXTRACT,
            "segment",
            2,
            "no answer",
        )
        assert (job.payload, job.priority, dead.state) == (None, 0, JobState.DEAD)
        with memory._engine.vault.write(ANN) as writer:
            writer.delete(["segment"])
            assert writer.jobs() == []


def test_a_key_of_an_older_schema_has_no_purposes_and_no_session(path):
    migrate(path, "0018")
    with closing(sqlite3.connect(path)) as connection:
        row = (
            "default",
            "0" * 16,
            hashed("0" * 16, "x" * 43),
            "lee",
            "[]",
            '["read"]',
            None,
            "operator",
            0,
            None,
            None,
        )
        connection.execute(f"INSERT INTO keys VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    key = written("0" * 16, "x" * 43)
    with MemoryOS.open(path, settings=load_settings(embedder="hashing")) as store:
        (old,) = store.keys.list()
        assert (old.purposes, old.application, old.session) == (frozenset(), None, None)
        assert store.keys.caller(key) == Caller("lee", key="0" * 16)
        with pytest.raises(PermissionDenied, match="State none"):
            store.keys.caller(key, purpose="treatment")


def test_usage_of_an_older_schema_had_nothing_cached_and_adds_up(path):
    migrate(path, "0017")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO usage VALUES ('default', 'ann', 'default', 'private', 1, 'facts', 'm', 2, 30, 4, 5)"
        )
        connection.commit()
    more = Spending(date(1970, 1, 2), "facts", "m", 1, 10, 1, 0, 8)
    with opened(path) as memory:
        (old,) = memory.log.usage()
        assert old == replace(more, calls=2, prompt_tokens=30, completion_tokens=4, cost=5, cached_tokens=0)
        with memory._engine.vault.write(ANN) as writer:
            writer.spend(more)
        (both,) = memory.log.usage()
        assert (both.calls, both.prompt_tokens, both.cached_tokens) == (3, 40, 8)
