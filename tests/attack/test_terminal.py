"""What was stored cannot steer the terminal of who reads it, nor hide in the JSON that a program reads."""

from __future__ import annotations

import json
import pydoc

import pytest
from rich.table import Table
from rich.text import Text

import memoryos
from memoryos import load_settings
from memoryos.interface.cli import render
from memoryos.text import visible, visible_json
from same_process import memoryos as command

pytestmark = pytest.mark.once

CONTROLS = [*map(chr, (*range(0x20), *range(0x7F, 0xA0))), *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"]
STEERING = [char for char in CONTROLS if char not in "\t\n"]
EVIL = "tea " + "".join(char for char in STEERING if char != "\x00") + "\x1b]52;c;ZXZpbA==\x07 [bold]\x1b[31m"


@pytest.fixture
def run(tmp_path):
    with memoryos.open(tmp_path / "m.db", user="default", settings=load_settings(embedder="static")) as memory:
        memory.add(f"I like {EVIL}", f"So you like {EVIL}", tags=["a\x1b[2J"])
        memory.facts.add(f"The user likes {EVIL}.")
        memory.profile.set("name", f"Ann {EVIL}")
        memory.proposals.publish(["The user lives in Rome."], source="crm\x9b31m")
        memory.consolidate()
    return lambda *arguments: command(*arguments, "--db", "m.db", cwd=tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        ("search", "tea"),
        ("context", "tea"),
        ("digest",),
        ("show",),
        ("show", "--archive"),
        ("stats",),
        ("proposals", "list"),
        ("jobs", "list"),
        ("search", "tea\x1b[31m"),
        ("digest", "--since", "\x1b[31m\u202e"),
    ],
)
def test_no_command_prints_a_control_character(run, command):
    for arguments in (command, (*command, "--json")):
        told = run(*arguments)
        assert told.stdout or told.stderr
        assert [char for char in told.stdout + told.stderr if char in STEERING] == []


def test_json_gives_back_what_was_stored(run):
    found = json.loads(run("search", "tea", "--json").stdout)
    assert any(EVIL in hit["text"] for hits in found.values() if isinstance(hits, list) for hit in hits)


@pytest.mark.parametrize("char", STEERING)
def test_every_control_character_is_written_out(char):
    assert visible(f"a{char}b") in (f"a\\x{ord(char):02x}b", f"a\\u{ord(char):04x}b")
    assert json.loads(visible_json(json.dumps(f"a{char}b", ensure_ascii=False))) == f"a{char}b"


def test_ordinary_text_stays_as_it_is():
    text = "line\n\ttab é 蜜蜂 👩‍👩‍👧 [red] \\x1b"
    assert visible(text) == visible_json(text) == text


@pytest.mark.parametrize("kind", [str, Text])
def test_a_console_writes_them_out_whatever_is_printed(capsys, kind):
    render.console().print(kind("a\x1b]0;title\x07b\x9b31mc\u202ed"), soft_wrap=True)
    told = capsys.readouterr().out
    assert [char for char in told if char in STEERING] == []
    assert "\\x1b" in told


@pytest.mark.parametrize(("rows", "is_terminal", "is_paged"), [(9, True, False), (40, True, True), (40, False, False)])
def test_a_table_longer_than_the_screen_goes_through_the_pager(monkeypatch, capsys, rows, is_terminal, is_paged):
    paged = []
    monkeypatch.setattr(pydoc, "pager", paged.append)
    table = Table("text")
    for number in range(rows):
        table.add_row(f"row {number}\x1b]0;title\x07")
    console = render.VisibleConsole(force_terminal=is_terminal, height=20, width=60)
    console.print(table)
    shown, printed = "".join(paged), capsys.readouterr().out
    assert bool(shown) is is_paged
    assert (f"row {rows - 1}" in shown) is is_paged
    assert (f"row {rows - 1}" in printed) is not is_paged
    assert "\x1b]" not in shown + printed
