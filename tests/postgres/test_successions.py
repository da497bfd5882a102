"""Following a long succession of facts takes the server work in proportion to its length."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from memoryos.cube import Fact
from memoryos.infrastructure.vault import session, statements
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind
from memoryos.kinds import Subject, Tier
from memoryos.scope import Scope

ALICE = Scope(user="alice")
LINEAR = 2.8  # a little more than twice as much


def test_a_succession_twice_as_long_takes_the_server_twice_as_much(vault, entry, monkeypatch):
    def stored(count: int) -> list[str]:
        """The ids of facts, each of which supersedes the one before."""
        made = [entry(f"Town{number}") for number in range(count)]
        payloads = [Fact(subject=Subject.USER, text=one.cube.text) for one in made]
        facts = [replace(one.cube, tier=Tier.LPM, payload=said) for one, said in zip(made, payloads, strict=True)]
        with vault.write(ALICE) as writer:
            writer.insert([Entry(fact) for fact in facts])
            writer.link([Link(later.id, LinkKind.SUPERSEDES, earlier.id) for earlier, later in pairwise(facts)])
        return [fact.id for fact in facts]

    def blocks(ids: list[str]) -> int:
        """How many blocks the server reads for what the vault asks it."""
        told: list[int] = []

        def explained(connection, query, values, some=()):
            question = statements._question("postgresql", query)
            cursor = connection.connection.cursor()
            cursor.execute(
                f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {question.text}",
                {**question.constants, **values, "ids": some},
            )
            plan = cursor.fetchone()[0][0]["Plan"]
            told.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
            return statements.ask(connection, query, values, some)

        with monkeypatch.context() as patch, vault.read(ALICE) as reader:
            patch.setattr(session, "ask", explained)
            assert reader.successions(ids[-1:]) == set(ids)
        return told[0]

    few, many = blocks(stored(300)), blocks(stored(600))
    assert many < LINEAR * few
