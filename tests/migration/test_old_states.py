"""In stores before schema 0009 the state was the pager's note, too: each row keeps its meaning."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memoryos import stores
from memoryos.clock import micros
from memoryos.cube import Behaviour, Fact, MemCube, from_json
from memoryos.kinds import State, Subject, Tier
from memoryos.lifecycle import CubeMark
from memoryos.models.hashing import Hashing

from .test_old_stores import ANN, MEMBER, START, ask, cube, migrate, old_document, opened, page, segment

INSERT = """
    INSERT INTO cubes
    (tenant, user_id, agent_id, namespace, id, position, kind, subject, tier, state, event_at, version, document)
    VALUES (?, ?, ?, 'private', ?, ?, ?, ?, ?, ?, ?, 1, ?)
"""
VECTOR = "INSERT INTO vectors (tenant, cube_id, part, data) VALUES (?, ?, 0, ?)"
STM, MTM, LPM, ARCHIVE = Tier
CHAINED, PROPOSED, REJECTED = CubeMark.CHAINED, CubeMark.PROPOSED, CubeMark.REJECTED
PAGES = {  # tier and state in the old store -> state and mark now
    (STM, State.GENERATED): (State.GENERATED, None),
    (STM, State.ACTIVATED): (State.GENERATED, CHAINED),
    (STM, State.EXPIRED): (State.EXPIRED, None),
    (MTM, State.ACTIVATED): (State.GENERATED, CHAINED),
    (MTM, State.EXPIRED): (State.EXPIRED, CHAINED),
    (ARCHIVE, State.ARCHIVED): (State.GENERATED, CHAINED),
    (ARCHIVE, State.FROZEN): (State.FROZEN, CHAINED),
}
FACTS = {
    (LPM, State.GENERATED): (State.GENERATED, None),
    (LPM, State.ACTIVATED): (State.GENERATED, None),
    (LPM, State.EXPIRED): (State.EXPIRED, None),
    (ARCHIVE, State.ARCHIVED): (State.GENERATED, None),
    (ARCHIVE, State.MERGED): (State.MERGED, None),
    (ARCHIVE, State.FROZEN): (State.GENERATED, PROPOSED),
    (ARCHIVE, State.EXPIRED): (State.GENERATED, REJECTED),
}


def insert(connection: sqlite3.Connection, made: MemCube, position: int, state: State) -> None:
    scope = made.scope
    subject = made.subject and made.subject.value
    place = (scope.tenant, scope.user, scope.agent or "", made.id, position, made.kind.value)
    values = (
        *place,
        subject,
        made.tier.value,
        state.value,
        micros(made.descriptive.event_at),
        old_document(made, state),
    )
    connection.execute(INSERT, values)
    vector = Hashing().embed([made.text])[0].astype("<f4").tobytes()
    connection.execute(VECTOR, (scope.tenant, made.id, vector))


def named(name: str, tier: Tier, state: State) -> str:
    return f"{name}-{tier.value}-{state.value}"


@pytest.fixture(params=["0001", "0008"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A store with a page and a fact in each tier and state that there could be."""
    found = tmp_path / "memory.db"
    migrate(found, request.param)
    cubes = [(cube(named("page", *key), ANN, key[0], page(1, ANN).payload), key[1]) for key in PAGES]
    for number, key in enumerate(FACTS):
        fact = Fact(subject=Subject.USER, text=f"Ann mended {number} bicycles")
        cubes.append((cube(named("fact", *key), ANN, key[0], fact), key[1]))
    with closing(sqlite3.connect(found)) as connection:
        connection.execute("INSERT INTO meta VALUES ('embedder', ?)", (Hashing.name,))
        for position, (made, state) in enumerate(cubes, 1):
            insert(connection, made, position, state)
        connection.commit()
    return found


def test_each_row_and_each_document_says_the_same_in_the_new_words(path: Path) -> None:
    opened(path).close()
    wanted = {named("page", *key): now for key, now in PAGES.items()}
    wanted |= {named("fact", *key): now for key, now in FACTS.items()}
    columns = {name: (state, mark) for name, state, mark in ask(path, "SELECT id, state, mark FROM cubes")}
    assert columns == {name: (state.value, mark and mark.value) for name, (state, mark) in wanted.items()}
    documents = {name: from_json(text) for name, text in ask(path, "SELECT id, document FROM cubes")}
    assert {name: (made.state, made.mark) for name, made in documents.items()} == wanted
    assert not [damage for damage in stores.verify(path).damages if damage.fault.value == "columns"]


def test_a_proposal_still_waits_and_one_that_was_rejected_does_not_come_back(path: Path) -> None:
    with opened(path) as memory:
        (proposal,) = memory.proposals.list()
        assert proposal.id == named("fact", ARCHIVE, State.FROZEN)
        accepted = memory.proposals.accept(proposal.id)
        assert (accepted.tier, accepted.mark) == (LPM, None)
        assert accepted.id in {fact.id for fact in memory.facts.list()}
        assert named("fact", ARCHIVE, State.EXPIRED) not in {fact.id for fact in memory.facts.list()}


def test_the_page_that_had_not_found_its_chain_finds_it_now(path: Path) -> None:
    with opened(path) as memory:
        memory.stats()
        waiting = memory.get(named("page", STM, State.GENERATED))
        assert waiting.mark is CHAINED


def test_what_had_expired_is_not_shown(path: Path) -> None:
    with opened(path) as memory:
        expired = {named("page", STM, State.EXPIRED), named("page", MTM, State.EXPIRED)}
        assert not expired & {one.id for one in memory.pages.list()}
        assert len(memory.pages.list()) == len(PAGES) - len(expired)
        assert named("fact", LPM, State.EXPIRED) not in {one.id for one in memory.facts.list()}


def test_the_pages_that_were_read_are_those_before_the_unread_ones(tmp_path: Path) -> None:
    found = tmp_path / "memory.db"
    migrate(found, "0008")
    topic = replace(segment(ANN), behaviour=Behaviour(last_access=START, interactions=1))
    members = [cube(f"member-{number}", ANN, MTM, page(1, ANN).payload) for number in range(3)]
    with closing(sqlite3.connect(found)) as connection:
        connection.execute("INSERT INTO meta VALUES ('embedder', ?)", (Hashing.name,))
        for position, made in enumerate([topic, *members], 1):
            insert(connection, made, position, State.ACTIVATED)
        for made in members:
            connection.execute(MEMBER, (ANN.tenant, made.id, topic.id))
        connection.commit()
    opened(found).close()
    assert ask(found, "SELECT source, target FROM links WHERE kind = 'extracted' ORDER BY source") == [
        ("member-0", "member-0"),
        ("member-1", "member-1"),
    ]
