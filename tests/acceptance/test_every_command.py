"""What holds for every command and every group of commands: `--json`, `--help` and `-h`."""

from __future__ import annotations

import json

import pytest

import same_process
from memoryos.interface.cli.app import command, main


def tree(one, path=()):
    """Each command and group with its path."""
    yield path, one
    context = one.context_class(one, info_name="memoryos")
    for name in one.list_commands(context) if hasattr(one, "list_commands") else ():
        yield from tree(one.get_command(context, name), (*path, name))


EVERY = list(tree(command()))
GROUPS = [path for path, one in EVERY if hasattr(one, "list_commands")]
PATHS = pytest.mark.parametrize("path", [path for path, _ in EVERY], ids=" ".join)


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return same_process.memoryos(*arguments, cwd=tmp_path, **variables)

    return call


@pytest.fixture
def said(capsys, monkeypatch):
    """What a command prints that only tells about itself, without a process for each."""

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["memoryos", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0, printed.err) == (0, "")
        return printed.out

    return call


def document(result):
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_each_group_has_the_commands_of_its_places():
    assert len(GROUPS) > 1
    for path in GROUPS:
        own = {other[-1] for other, _ in EVERY if other[:-1] == path and other}
        assert own == set(dict(EVERY)[path].places), path
        assert own, path


@PATHS
def test_json_is_an_option(path):
    options = {name for parameter in dict(EVERY)[path].params for name in parameter.opts}
    assert "--json" in options


@PATHS
def test_help_is_json_on_demand(said, path):
    told = json.loads(said(*path, "--help", "--json"))
    assert told["command"] == " ".join(("memoryos", *path))
    assert told["help"]
    assert ["--json"] in [option["names"] for option in told["options"]]
    assert bool(told.get("commands")) == (path in GROUPS)


@PATHS
def test_a_single_letter_asks_for_help(path):
    one, context = command(), None
    for name in (*path, None):
        context = one.context_class(one, info_name="memoryos", parent=context, **one.context_settings)
        one = one.get_command(context, name) if name else one
    assert set(one.get_help_option_names(context)) == {"--help", "-h"}


@pytest.mark.parametrize("path", [(), ("facts",), ("facts", "add")], ids=" ".join)
def test_the_letter_prints_the_same(run, path):
    assert run(*path, "-h").stdout == run(*path, "--help").stdout


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_a_group_without_a_command_prints_its_help(said, path):
    assert said(*path) == said(*path, "--help")
    assert json.loads(said(*path, "--json")) == json.loads(said(*path, "--help", "--json"))


def test_so_does_its_process(run):
    assert (bare := run("facts")).stdout == run("facts", "--help").stdout
    assert bare.returncode == 0
    assert document(run("facts", "--json")) == document(run("facts", "--help", "--json"))


def test_the_version_is_json_on_demand(run):
    told = document(run("--version", "--json"))
    assert told == document(run("--json", "--version"))
    assert run("--version").stdout == f"{told['name']} {told['version']}\n"


@pytest.mark.parametrize("arguments", [("--json", "proposals", "list"), ("proposals", "--json", "list")], ids=" ".join)
def test_json_before_a_command_counts_too(run, arguments):
    run("add", "I keep bees.")
    assert document(run(*arguments)) == {"proposals": []}


def test_what_follows_two_dashes_is_text(run):
    assert "Stored as" in run("add", "--", "--json").stdout
    assert "--json" in run("search", "json").stdout


@PATHS
def test_the_environment_names_the_owner_of_every_command(path):
    """But no filter, which leaves nothing out unless it is passed, and not whom `forget` removes."""
    options = {name: one for one in dict(EVERY)[path].params for name in one.opts}
    for name in ("agent", "tenant") if path == ("forget",) else ("user", "agent", "tenant"):
        one = options.get(f"--{name}")
        reads = one is not None and f"MEMORYOS_{name.upper()}" in (one.help or "")
        assert reads == (
            one is not None and (one.required or one.default == "default" or path in (("mcp",), ("serve",)))
        )


def test_the_owner_of_the_environment_is_that_of_the_command(run):
    owner = {"MEMORYOS_USER": "ann", "MEMORYOS_AGENT": "coder", "MEMORYOS_TENANT": "acme"}
    added = document(run("add", "I keep bees.", "--json", **owner))
    named = ("--user", "ann", "--agent", "coder", "--tenant", "acme", "--json")
    assert document(run("get", added["id"], *named))["id"] == added["id"]
    assert document(run("pages", "list", "--json"))["pages"] == []
    assert document(run("pages", "list", "--user", "ben", "--json", **owner))["pages"] == []
    unnamed = run("forget", "--yes", **owner)
    assert (unnamed.returncode, "--user" in unnamed.stderr) == (2, True)
    assert document(run("forget", "--user", "ann", "--yes", "--json", **owner))["memories"] == {"page": 1}
