"""What the command says of wrong input: the names of its own options and arguments, never those of Python."""

from __future__ import annotations

import json
import re
import shlex

import pytest

import same_process

WRONG = """
QUERY: add ' '
RESPONSE: add x ' '
--at: add x --at yesterday
--at: add x --at 2999-01-01
--tag: add x --tag ' '
--meta: add x --meta a
--meta: add x --meta 'a="\\u0000"'
--ttl: add x --ttl -5
--ttl: add x --ttl 5 --expires-at 2999-01-01
--expires-at: add x --expires-at 2001-01-01
--title: add x --title ' '
--source: add x --source ' '
--idempotency-key: add x --idempotency-key ' '
--user: add x --user ' '
--agent: add x --agent ' '
--tenant: add x --tenant ' '
--session: add x --session ' '
--db: add x --db /
--db: add x --db foo://bar
--db: add x --db nosuch/x.db
--db: search x --db nosuch
--since: search x --since y
--until: search x --since 2026-02-01 --until 2026-01-01
--as-of: search x --as-of y
--as-of: facts count --as-of nosuch
--tag: search x --tag ' '
--any-tag: search x --any-tag ' '
--no-tag: search x --no-tag ' '
--meta: search x --meta =1
--archive: search x --tier stm --archive
--mount: search x --mount nosuch
--limit: search x --limit 99999999999
--exclude: context x --exclude ' '
--tokens: context x --tokens 99999999999
--query: digest --query ' '
TAG: tagged ' '
--cursor: pages list --cursor x
--speaker: pages list --speaker ' '
--tag: pages count --tag ' '
--yes: delete {page} --user alice
--yes: forget --user alice
PATH: export there --user alice
PATH: export nosuch/a --user alice
--json: export - --user alice
--db: export new --user alice --db nosuch
--db: forget --user alice --yes --db nosuch
PATH: import export nosuch
PATH: import export there
--zone: import locomo there --zone y
FILE: backup there
FILE: backup nosuch/a
--db: backup new --db nosuch
FILE: restore nosuch new
STORE: restore backup memoryos.db
SOURCE: copy nosuch new
TARGET: copy memoryos.db memoryos.db
TARGET: copy memoryos.db foo://
STORE: verify nosuch
--repair: verify backup --repair
STORE: scrub nosuch
--embedder: reembed --embedder nosuch
--db: reembed --embedder static --db nosuch
--threads: worker --threads 999 --once
MEMORYOS_OBJECT_STORE: cold
""".strip().splitlines()

WRONG_SETTINGS = {
    "MEMORYOS_SHORT_TERM_CAPACITY": "0",
    "MEMORYOS_MOUNTS": "x",
    "MEMORYOS_EMBEDDER": "nosuch",
    "MEMORYOS_OBJECT_STORE": "foo",
    "MEMORYOS_CANDIDATES": "foo",
    "MEMORYOS_TIME_ZONE": "x",
}

PYTHON = re.compile(r"\w\(|\b(?:str|dict|None|scope|MemoryOS|Settings)\b|\w\.\w+\(\)|Value error")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a store of one page, a backup of it, and a file that is neither."""
    made = tmp_path_factory.mktemp("errors")
    (made / "there").write_text("notes", "utf-8")
    added = same_process.memoryos("add", "I keep bees.", "--user", "alice", "--json", cwd=made)
    (made / "page").write_text(json.loads(added.stdout)["id"], "utf-8")
    assert same_process.memoryos("backup", "backup", cwd=made).returncode == 0
    return made


def told(result):
    """The error of a command that was used wrongly."""
    assert result.returncode == 2, result.stderr
    return json.loads(result.stdout)["error"]["message"]


@pytest.mark.parametrize("case", WRONG)
def test_an_error_names_the_option_or_argument(folder, case):
    wanted, _, line = case.partition(": ")
    message = told(same_process.memoryos(*words(folder, line), "--json", cwd=folder))
    assert message.startswith(f"{wanted}: ")
    assert not PYTHON.search(message)


ABSENT = """
export new --user nosuch
export new --user alice --agent nosuch
export new --user alice --tenant nosuch
forget --user nosuch --yes
forget --user alice --agent nosuch --yes
forget --user alice --tenant nosuch --yes
forget --user alice --session nosuch --yes
forget --user nosuch --session monday --yes
update nosuch text --user alice
update {page} text --user nosuch
delete nosuch --yes --user alice
delete {page} nosuch --yes --user alice
delete {page} --yes --user nosuch
jobs retry nosuch --user alice
proposals accept nosuch --user alice
proposals reject nosuch --user alice
proposals accept {page} --user alice
upkeep undo 99999 --user alice
""".strip().splitlines()

READ = """
search bees --user nosuch
search bees --session nosuch --user alice
context bees --user nosuch
context bees --session nosuch --user alice
context bees --exclude nosuch --user alice
digest --user nosuch
tagged nosuch --user alice
show --user nosuch
stats --user nosuch
log usage --user nosuch
pages list --user nosuch
facts list --user nosuch
pages list --session nosuch --user alice
users list --tenant nosuch
pages count --user nosuch
users count --tenant nosuch
jobs list --user nosuch
proposals list --user nosuch
""".strip().splitlines()


def words(folder, line):
    page = (folder / "page").read_text("utf-8")
    return [page if word == "{page}" else word for word in shlex.split(line)]


@pytest.mark.parametrize("line", ABSENT)
def test_to_change_or_take_what_is_not_there_is_an_error(folder, line):
    result = same_process.memoryos(*words(folder, line), "--json", cwd=folder)
    assert result.returncode == 3, result.stdout
    error = json.loads(result.stdout)["error"]
    assert error["type"] == "NotFound"
    assert not PYTHON.search(error["message"])
    assert not (folder / "new").exists()
    there = same_process.memoryos("pages", "count", "--user", "alice", "--json", cwd=folder)
    assert json.loads(there.stdout)["count"] == 1


@pytest.mark.parametrize("line", READ)
def test_to_read_what_is_not_there_finds_nothing(folder, line):
    result = same_process.memoryos(*words(folder, line), "--json", cwd=folder)
    assert result.returncode == 0, result.stdout
    assert "bees." not in result.stdout or "--exclude" in line


@pytest.mark.parametrize("variable", WRONG_SETTINGS)
def test_an_error_names_the_variable_of_a_setting(folder, variable):
    result = same_process.memoryos("stats", "--json", cwd=folder, **{variable: WRONG_SETTINGS[variable]})
    assert told(result).startswith(f"{variable}: ")
    assert not PYTHON.search(told(result))


def test_other_parameters_are_named_as_on_the_command_line(folder):
    message = told(same_process.memoryos("search", "x", "--tier", "stm", "--archive", "--json", cwd=folder))
    assert message == "--archive: cannot be combined with --tier. Pass only --tier"


def test_a_missing_argument_is_named_as_in_the_help(folder):
    assert "Missing argument 'PATH'" in same_process.memoryos("export", "--user", "alice", cwd=folder).stderr
    assert "export [OPTIONS] {PATH}" in same_process.memoryos("export", "--help", cwd=folder).stdout


def test_more_days_than_the_calendar_has_are_refused(folder):
    assert "--days" in told(same_process.memoryos("log", "usage", "--days", "99999999", "--json", cwd=folder))


def test_no_store_is_made_by_a_command_that_takes_from_one(folder):
    for command in (("export", "new", "--user", "alice"), ("forget", "--user", "alice", "--yes")):
        assert same_process.memoryos(*command, "--db", "nosuch", cwd=folder).returncode == 2
    assert not (folder / "nosuch").exists()
