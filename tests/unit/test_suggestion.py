"""A command that there is not: the one that was meant is named, wherever it stands now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoryos.interface.cli.app import _Commands
from memoryos.interface.cli.suggestion import suggested
from same_process import memoryos

MEANT = {
    "list": ["pages list", "segments list", "facts list"],
    "ls": ["pages list", "segments list", "facts list"],
    "retain": ["governance retain"],
    "freeze": ["governance freeze"],
    "events": ["log events"],
    "forget-user": ["users forget"],
    "list-facts": ["facts list"],
    "segment list": ["segments list"],
    "segmnts list": ["segments list"],
    "serch Berlin": ["search", "users", "serve"],
    "add-many": ["add"],
    "user": ["users"],
    "zzz": [],
}


@pytest.fixture(scope="module")
def known():
    return _Commands().known()


@pytest.mark.parametrize("asked", MEANT)
def test_a_command_that_there_is_not_stands_for_those_that_there_are(known, asked):
    found = suggested(asked.split(), known)
    assert found[: len(MEANT[asked])] == MEANT[asked]
    assert bool(found) == bool(MEANT[asked])


def test_every_verb_is_found_without_its_noun_and_the_other_way_round(known):
    pairs = [(noun, verb) for noun, verbs in known.items() for verb in verbs if noun not in ("import", "bench")]
    assert len(pairs) > 90
    for noun, verb in pairs:
        assert f"{noun} {verb}" in suggested([f"{verb}-{noun.removesuffix('s')}"], known)
        assert verb in known or any(one.endswith(f" {verb}") for one in suggested([verb], known))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("list", "No such command 'list'. Did you mean 'pages list', 'segments list' or 'facts list'?"),
        ("forget-user ann", "No such command 'forget-user'. Did you mean 'users forget'?"),
        ("pages lst", "No such command 'lst'. Did you mean 'list'?"),
        ("users erase", "No such command 'erase'. There are: list, count, show, forget"),
        ("zzz", "No such command 'zzz'."),
    ],
)
def test_people_and_programs_are_told(tmp_path: Path, asked, told):
    shown = memoryos(*asked.split(), cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert told in " ".join(shown.stderr.replace("│", " ").split())
    written = memoryos(*asked.split(), "--json", cwd=tmp_path)
    assert (written.returncode, written.stderr) == (2, "")
    assert json.loads(written.stdout)["error"] == {"type": "UsageError", "message": told}
