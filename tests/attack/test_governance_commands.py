"""By command: neither words, nor numbers, nor work tell a caller who may read a part of a memory that there is more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import same_process
from contract import server
from frozen_clock import FrozenClock
from memoryos import MemoryOS, load_settings
from memoryos.models.hashing import Hashing

from .arguments import NOW
from .governed import UNKNOWN, statements_in
from .test_governance_words import ANN, OWNER, POLICIES, fill

OPERATING = 'permit (principal == User::"operator", action == Action::"administer", resource is Store);'
ASKED = [
    ["search", "zorbitis", "--strategy", "bm25", "--explain"],
    ["search", "What about the zorbitis and the tulips in May?", "--explain", "--limit", "30"],
    ["context", "What about the zorbitis and the tea?"],
    ["digest"],
    ["pages", "count"],
    ["pages", "list"],
    ["profile", "get"],
    ["tagged", "zorbtag"],
]
NAMED = [
    ["get"],
    ["history"],
    ["update", "ID", "new words"],
    ["delete", "ID", "--yes"],
    ["governance", "provenance"],
    ["governance", "transitions"],
    ["governance", "freeze"],
]


@pytest.fixture(scope="module")
def places(back_end: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Two stores with a key of a nurse in each, and the ids of what she may not read in one of them."""
    folder = tmp_path_factory.mktemp("seen")
    (folder / "ward.cedar").write_text(POLICIES + OPERATING)
    (folder / "bare").mkdir()
    (folder / "full").mkdir()
    settings = load_settings(policies=str(folder / "ward.cedar"), short_term_capacity=100, jobs="worker")
    found: dict[str, Any] = {"folder": folder, "hidden": []}
    for name in ("bare", "full"):
        clock, place = FrozenClock(NOW), str(folder / name / "memory.db")
        if back_end == "postgres":
            place = server.store_of(folder / name).render_as_string(hide_password=False)
        with MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock) as store:
            fill(store, clock, hidden=name == "full")
            ann = store.of(ANN, OWNER)
            ann.stats()  # no page waits to be moved
            for kind in (ann.pages, ann.facts):
                found["hidden"] += [one.id for one in kind.list() if "diagnosis" in one.governance.sensitivity][:1]
            key = MemoryOS(store._engine).keys.create("nurse-kim", roles=["nurse"], users=["ann"])
            found[name] = (place, key.key)
    yield found
    if back_end == "postgres":
        for name in ("bare", "full"):
            server.give_back(folder / name)


def told(places: dict[str, Any], name: str, command: list[str]) -> tuple[int, str]:
    """What the nurse is told by a command: the exit code, and the words."""
    place, key = places[name]
    known = {"EMBEDDER": "hashing", "POLICIES": str(places["folder"] / "ward.cedar"), "SHORT_TERM_CAPACITY": "100"}
    variables = {f"MEMORYOS_{one}": value for one, value in {**known, "KEY": key}.items()}
    asked = [*command, "--user", "ann", "--db", place, "--json"]
    done = same_process.memoryos(*asked, cwd=places["folder"], **variables)
    return done.returncode, (done.stdout + done.stderr).replace(place, "PLACE")


def plain(said: str) -> str:
    """What is said, without ids and the moments at which it was read."""
    return re.sub(r'[0-9a-f]{8}-[0-9a-f-]{27}|"(last_access|recorded_at|updated_at)": "[^"]*"', "", said)


@pytest.mark.each
def test_hidden_words_change_nothing_that_a_command_says(places: dict[str, Any], back_end: str, long: bool) -> None:
    for command in ASKED if long or back_end == "sqlite" else ASKED[::3]:  # search, digest, profile
        (code, full), (_, bare) = (told(places, name, command) for name in ("full", "bare"))
        assert code == 0, (command, full)
        differing = set(plain(full).splitlines()) ^ set(plain(bare).splitlines())
        assert not differing and len(plain(full)) == len(plain(bare)), (command, sorted(differing)[:3])
    pages = told(places, "full", ["pages", "list"])[1]
    assert '"zorbitis"' not in pages and "tulips" in pages


@pytest.mark.each
def test_a_hidden_id_takes_a_command_as_much_as_one_that_nothing_has(
    places: dict[str, Any], back_end: str, long: bool
) -> None:
    for named in NAMED if long or back_end == "sqlite" else NAMED[::2]:
        told(places, "full", _about(named, UNKNOWN))  # the first time something may be read that is kept
        expected = _with_statements(places, named, UNKNOWN)
        assert expected[0] in (3, 5) and expected[2] > 0, (named, expected)
        for one in places["hidden"]:
            code, said, sent = _with_statements(places, named, one)
            assert (code, said.replace(one, UNKNOWN), sent) == expected, named


def _with_statements(places: dict[str, Any], named: list[str], memory: str) -> tuple[int, str, int]:
    """What a command says about a memory, and how many statements it sends."""
    found: list[tuple[int, str]] = []
    sent = statements_in(lambda: found.append(told(places, "full", _about(named, memory))))
    return *found[0], sent


def _about(named: list[str], memory: str) -> list[str]:
    return [word.replace("ID", memory) for word in named] if "ID" in named else [*named, memory]
