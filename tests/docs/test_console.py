"""The `memoryos` commands that the documents show run as they stand, on a store in a folder of their own."""

from __future__ import annotations

import itertools
import json
import re
import shlex

import pytest
from test_examples import COMMANDS, DOCUMENTS, is_printed

import memoryos
import same_process

NOT_RUN = re.compile(r"```console not run(.*)\n")  # ```console not run, it needs ...
BLOCKS = [
    pytest.param(lines, printed, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, (lines, printed) in enumerate(COMMANDS.findall(document.read_text("utf-8")), 1)
]
ENDING = {"worker": "--once", "forget": "--yes", "delete": "--yes"}  # what a person does: stop it, answer yes


def commands_in(line: str) -> list[list[str]]:
    """The commands of a line after `$`, joined by &&, without its comment."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    ends = [-1, *(place for place, word in enumerate(words) if word == "&&"), len(words)]
    return [words[start + 1 : end] for start, end in itertools.pairwise(ends)]


@pytest.fixture
def folder(tmp_path):
    """A folder with what the documents name: a store with memories of Alice, a LoCoMo file, a module with job kinds."""
    turn = {"speaker": "Caroline", "dia_id": "D1:1", "text": "I went to the LGBTQ support group on 7 May 2023."}
    dates = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [turn]}
    talk = {
        "sample_id": "conv-26",
        "conversation": {"speaker_a": "Caroline", "speaker_b": "Melanie", **dates},
        "qa": [],
    }
    (tmp_path / "locomo10.json").write_text(json.dumps([talk]), "utf-8")
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "I keep bees."}]', "utf-8")
    (tmp_path / "book.txt").write_text("Call me Ishmael.\n", "utf-8")
    (tmp_path / "my_service").mkdir()
    (tmp_path / "my_service" / "jobs.py").write_text("def register(store): ...\n", "utf-8")
    with memoryos.open(tmp_path / "memoryos.db", user="alice") as memory:
        memory.add("The new job at the bakery starts at five.", "So early!", tags=["home"], at="2026-05-02T10:00Z")
    return tmp_path


@pytest.mark.parametrize(("lines", "printed"), BLOCKS)
def test_commands_run_and_print_what_is_shown(folder, lines, printed):
    told, variables = "", {}
    with memoryos.open(folder / "memoryos.db", user="alice") as memory:
        (page,) = memory.pages.list()
    for command in (command for line in lines.splitlines() for command in commands_in(line)):
        if command[0] == "export":
            variables |= dict(one.split("=", 1) for one in command[1:])
            continue
        assert command[0] == "memoryos", "mark a block of other programs `console not run, REASON`"
        arguments = [page.id if word == "ID" else word for word in command[1:]]
        arguments += [ENDING[arguments[0]]] if arguments[0] in ENDING else []
        done = same_process.memoryos(*arguments, cwd=folder, **variables)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        told += done.stdout
    assert not printed or is_printed(printed, told), told


def test_a_line_is_read_as_a_shell_reads_it():
    assert commands_in('$ memoryos add "a # b" && memoryos worker   # it runs') == [
        ["memoryos", "add", "a # b"],
        ["memoryos", "worker"],
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_block_that_is_not_run_says_why(document):
    assert all(re.match(r", it \w+", reason) for reason in NOT_RUN.findall(document.read_text("utf-8")))


def test_blocks_are_found():
    assert len(BLOCKS) > 4
    assert any(printed for printed in (block.values[1] for block in BLOCKS))
