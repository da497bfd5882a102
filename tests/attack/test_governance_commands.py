"""By command: neither words, nor numbers, nor work tell a caller who may read a part of a memory that there is more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import forked
from conftest import FrozenClock
from contract import server
from memoryos import MemoryOS, load_settings
from memoryos.models.hashing import Hashing

from .arguments import NOW
from .governed import UNKNOWN
from .test_governance_words import ANN, OWNER, POLICIES, fill

OPERATING = 'permit (principal == User::"operator", action == Action::"administer", resource is Store);'
ASKED = [
    ["search", "zorbitis", "--strategy", "bm25", "--explain"],
    ["search", "What about the zorbitis and the tulips in May?", "--explain", "--limit", "30"],
    ["context", "What about the zorbitis and the tea?"],
    ["digest"],
    ["count", "pages"],
    ["list", "pages"],
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

# Each command with its exit code, what it said, and how many statements it sent to the database.
RUN_ALL = """
import contextlib, io, json, sys
from sqlalchemy import Engine, event
from memoryos.interface.cli.app import main
told, sent = [], []
event.listen(Engine, "before_cursor_execute", lambda *said: sent.append(said[2]))
for arguments in json.loads(sys.argv[-1]):
    sys.argv, _ = ["memoryos", *arguments], sent.clear()
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    told.append([code, out.getvalue(), len(sent)])
print(json.dumps(told))
"""


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
            found["hidden"] += [one.id for one in ann.pages.list() if "diagnosis" in one.governance.sensitivity][:2]
            found["hidden"] += [one.id for one in ann.facts.list() if "diagnosis" in one.governance.sensitivity]
            key = MemoryOS(store._engine).keys.create("nurse-kim", roles=["nurse"], users=["ann"])
            found[name] = (place, key.key)
    yield found
    if back_end == "postgres":
        for name in ("bare", "full"):
            server.give_back(folder / name)


def told(places: dict[str, Any], name: str, commands: list[list[str]]) -> list[list[Any]]:
    """What the nurse is told by these commands."""
    place, key = places[name]
    policies = str(places["folder"] / "ward.cedar")
    asked = [[*one, "--user", "ann", "--db", place, "--json"] for one in commands]
    known = forked.settings(
        MEMORYOS_EMBEDDER="hashing", MEMORYOS_POLICIES=policies, MEMORYOS_KEY=key, MEMORYOS_SHORT_TERM_CAPACITY="100"
    )
    done = forked.python("-c", RUN_ALL, json.dumps(asked), cwd=places["folder"], env=known)
    assert done.returncode == 0, done.stderr
    return [[code, said.replace(place, "PLACE"), sent] for code, said, sent in json.loads(done.stdout)]


def plain(said: str) -> str:
    """What is said, without ids and the moments at which it was read."""
    return re.sub(r'[0-9a-f]{8}-[0-9a-f-]{27}|"(last_access|recorded_at|updated_at)": "[^"]*"', "", said)


@pytest.mark.once
def test_hidden_words_change_nothing_that_a_command_says(places: dict[str, Any]) -> None:
    full, bare = (told(places, name, ASKED) for name in ("full", "bare"))
    for command, one, other in zip(ASKED, full, bare, strict=True):
        assert one[0] == 0, (command, one)
        differing = set(plain(one[1]).splitlines()) ^ set(plain(other[1]).splitlines())
        assert not differing and len(plain(one[1])) == len(plain(other[1])), (command, sorted(differing)[:3])
    assert '"zorbitis"' not in full[5][1] and "tulips" in full[5][1]


@pytest.mark.once
def test_a_hidden_id_takes_a_command_as_much_as_one_that_nothing_has(places: dict[str, Any]) -> None:
    ids = [UNKNOWN, UNKNOWN, *places["hidden"]]  # the first time something may be read that is kept
    asked = [_about(named, one) for named in NAMED for one in ids]
    found = iter(told(places, "full", asked))
    for named in NAMED:
        _, expected, *others = [next(found) for _ in ids]
        assert expected[0] in (3, 5) and expected[2] > 0, (named, expected)
        for one, (code, said, sent) in zip(places["hidden"], others, strict=True):
            assert [code, said.replace(one, UNKNOWN), sent] == expected, named


def _about(named: list[str], memory: str) -> list[str]:
    return [word.replace("ID", memory) for word in named] if "ID" in named else [*named, memory]
