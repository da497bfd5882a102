"""A shell completes names from the store: quickly, silently, and only those that it may tell."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

import forked
import same_process
from memoryos import MemoryOS, load_settings

pytestmark = pytest.mark.once

SETTINGS = load_settings(embedder="hashing")
HOSTILE = ["$(touch x)", "`id`", "two words", "a;b", "-rf", "*", "new\nline", "quo'te", "<memory>"]


@pytest.fixture
def complete(tmp_path):
    """complete(line): what bash is told for the last word of the line."""

    def call(line, **variables):
        words = len(line.split(" ")) - 1
        asked = {"_MEMORYOS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(words)}
        done = same_process.memoryos(cwd=tmp_path, **asked, **variables)
        assert done.stderr == ""
        return done.stdout.split()

    return call


@pytest.fixture
def store(tmp_path):
    with MemoryOS.open(tmp_path / "memoryos.db", settings=SETTINGS) as store:
        yield store


@pytest.fixture
def filled(store):
    ann = store.memory("ann")
    page = ann.add("I keep bees.")
    ann.snapshots.create("before-May")
    ann.branches.create("trial")
    ann.activations.build("我的前缀", ids=[page], kinds=[])
    store.memory("anna", agent="coder").add("I write code.")
    store.memory("小红", tenant="acme").add("我养蜜蜂。")
    for name in HOSTILE:
        store.memory(name).add("I am here.")
    store.wait()
    return store


NAMES = [
    ("memoryos search --user an", ["ann", "anna"]),
    ("memoryos search --user x", []),
    ("memoryos users show anna", ["anna"]),
    ("memoryos forget --user ", ["ann", "anna"]),
    ("memoryos add --tenant acme --user ", ["小红"]),
    ("memoryos search --user anna --agent ", ["coder"]),
    ("memoryos forget --user anna --agent c", ["coder"]),
    ("memoryos snapshots remove --user ann ", ["before-May"]),
    ("memoryos search bees --user ann --as-of b", ["before-May"]),
    ("memoryos snapshots create --user ann ", []),
    ("memoryos snapshots remove ", []),  # of the user default
    ("memoryos branches diff --user ann t", ["trial"]),
    ("memoryos branches create --user ann t", []),
    ("memoryos activations get --user ann ", ["我的前缀"]),
    ("memoryos forms transform --user ann 我", ["我的前缀"]),
    ("memoryos transform --user ann 我", ["我的前缀"]),
    ("memoryos transf", ["transform"]),
    ("memoryos adapters load --user ann ", []),
    ("memoryos search --db elsewhere.db --user a", []),
]


def test_names_are_those_of_the_store_that_is_open_elsewhere_and_of_a_closed_one(filled, complete, tmp_path):
    for line, told in NAMES:
        assert complete(line) == told, line
    filled.close()
    there = sorted(tmp_path.iterdir())
    for line, told in NAMES:
        assert complete(line) == told, line
    assert sorted(tmp_path.iterdir()) == there, "nothing is made beside the file"
    assert complete("memoryos search --user ann", MEMORYOS_DB=str(tmp_path / "memoryos.db")) == ["ann", "anna"]


def test_adapters_are_completed_and_what_is_over_is_not(filled, complete, tmp_path):
    filled.close()
    with closing(sqlite3.connect(tmp_path / "memoryos.db")) as connection:
        owner = ("default", "ann", "default", "private")
        note = "INSERT INTO notes VALUES (?, ?, ?, ?, 'adapters', ?)"
        connection.execute(note, (*owner, '[{"name": "home"}, {"name": "work 2"}]'))
        connection.execute('UPDATE notes SET value = replace(value, \'"expires_at":"2\', \'"expires_at":"1\')')
        connection.execute('UPDATE notes SET value = replace(value, \'"expires_at": "2\', \'"expires_at": "1\')')
        connection.commit()
    assert complete("memoryos adapters get --user ann ") == ["home"]
    assert complete("memoryos forms transform --user ann ") == ["home", "我的前缀"]
    assert complete("memoryos branches diff --user ann ") == complete("memoryos snapshots remove --user ann ") == []


@pytest.mark.parametrize("setting", [{"MEMORYOS_KEY": "mos_some_key"}, {"MEMORYOS_POLICIES": "policies"}])
def test_who_acts_with_a_key_or_under_policies_is_told_nothing(filled, complete, setting):
    assert complete("memoryos search --user an", **setting) == []


def test_a_store_with_keys_tells_nothing(filled, complete):
    filled.keys.create("bob", roles=["reader"])
    assert complete("memoryos search --user an") == complete("memoryos branches diff --user ann ") == []


def test_what_cannot_be_read_is_silent(filled, complete, tmp_path):
    filled.close()
    file = tmp_path / "memoryos.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("UPDATE notes SET value = 'no JSON' WHERE key = 'branches'")
        assert complete("memoryos search --user an") == [], "locked"
        connection.commit()
    assert complete("memoryos search --user an") == ["ann", "anna"]
    assert complete("memoryos branches diff --user ann ") == [], "a damaged note"
    file.write_bytes(bytes(range(256)) * 64)  # as an encrypted file looks
    assert complete("memoryos search --user an") == []
    file.unlink()
    assert complete("memoryos search --user an") == []
    file.mkdir()
    assert complete("memoryos search --user an") == []
    for place in ("postgresql://nobody@127.0.0.1:1/none", ":memory:", "~nobody-has-this-home/m.db"):
        assert complete(f"memoryos search --db {place} --user an") == []
    assert complete("memoryos search --user an", MEMORYOS_CONNECTIONS="many") == []


def test_the_library_is_not_loaded(filled, tmp_path):
    code = (
        "import atexit, sys\n"
        "heavy = 'memoryos.memory', 'memoryos.engine', 'sqlalchemy', 'numpy', 'memoryos.models.embedder'\n"
        "atexit.register(lambda: print([one for one in heavy if one in sys.modules], file=sys.stderr))\n"
        "from memoryos.interface.cli.app import main\n"
        "sys.argv = ['memoryos']\n"
        "main()"
    )
    line = {"COMP_WORDS": "memoryos search --user anna", "COMP_CWORD": "3", "_MEMORYOS_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=forked.settings(**line), cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout.split(), done.stderr) == (["anna"], "[]\n")


def test_it_is_that_of_the_owner_in_the_environment(complete, filled):
    assert complete("memoryos search --as-of be", MEMORYOS_USER="ann") == ["before-May"]
    assert complete("memoryos search --as-of be") == []


def test_a_misspelt_variable_disturbs_no_line(tmp_path, filled):
    asked = {"_MEMORYOS_COMPLETE": "complete_bash", "COMP_WORDS": "memoryos search --user ann", "COMP_CWORD": "3"}
    done = forked.memoryos(cwd=tmp_path, MEMORYOS_USSER="ann", **asked)
    assert (done.stdout.split(), done.stderr) == (["ann", "anna"], "")
