"""What the server does for what is asked again and again grows with the answer, and not with all that an owner has.

A store that was just filled has no statistics yet, so the statements leave the server no other way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from memoryos.cube import Fact, MemCube
from memoryos.infrastructure.vault import statements, stored_cubes, tables
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind
from memoryos.kinds import Subject, Tier
from memoryos.scope import Scope

ALICE = Scope(user="alice")
SAME, LINEAR = 1.5, 2.8  # times as much, at most, for twice as many
VECTOR = np.ones(4, np.float32)


@pytest.fixture
def stored(vault, entry) -> Callable[[int], list[MemCube]]:
    """stored(count): so many facts, each of which supersedes the one before."""

    def call(count: int) -> list[MemCube]:
        made = [entry(f"Town{number}").cube for number in range(count)]
        facts = [replace(one, tier=Tier.LPM, payload=Fact(subject=Subject.USER, text=one.text)) for one in made]
        with vault.write(ALICE) as writer:
            writer.insert([Entry(fact, VECTOR) for fact in facts])
            writer.link([Link(later.id, LinkKind.SUPERSEDES, earlier.id) for earlier, later in pairwise(facts)])
        return facts

    return call


def blocks(connection: Any, statement: str, values: dict[str, Any]) -> int:
    """How many blocks the server reads for a statement."""
    cursor = connection.connection.cursor()
    cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", values)
    plan = cursor.fetchone()[0][0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def test_a_succession_twice_as_long_takes_the_server_twice_as_much(vault, stored, monkeypatch):
    def taken(count: int) -> int:
        told: list[int] = []
        ids = [fact.id for fact in stored(count)]

        def explained(connection, query, values, some=()):
            question = statements._question("postgresql", query)
            told.append(blocks(connection, question.text, {**question.constants, **values, "ids": some}))
            return statements.ask(connection, query, values, some)

        with monkeypatch.context() as patch, vault.read(ALICE) as reader:
            patch.setattr(stored_cubes, "ask", explained)
            assert reader.successions(ids[-1:]) == set(ids)
        return told[0]

    few, many = taken(300), taken(600)
    assert many < LINEAR * few


def test_a_fact_is_stored_again_without_a_look_at_the_others(vault, stored):
    def taken(count: int) -> int:
        fact = stored(count)[-1]
        with vault.write(ALICE) as writer:
            return blocks(writer._connection, statements._cube_update("postgresql"), tables.cube_row(fact))

    few, many = taken(300), taken(900)
    assert many < SAME * few
