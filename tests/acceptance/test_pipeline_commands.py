"""`memoryos pipelines`, and the commands that had no door yet."""

from __future__ import annotations

import json

import pytest

import forked
import same_process


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return same_process.memoryos(*arguments, cwd=tmp_path, **variables)

    return call


@pytest.fixture
def told(run):
    def call(*arguments, **variables):
        result = run(*arguments, "--json", **variables)
        assert (result.returncode, result.stderr) == (0, ""), result.stdout
        return json.loads(result.stdout)

    return call


def test_a_pipeline_is_checked_shown_tried_and_run(run, told, tmp_path):
    (tmp_path / "mine.json").write_text('{"name": "mine", "steps": [{"list": {}}]}')
    assert "mine, version 1, is sound: list." in run("pipelines", "check", "mine.json").stdout  # there is no store yet
    assert not (tmp_path / "memoryos.db").exists()
    page = told("add", "I keep bees in the garden.")["id"]
    assert "tidy-old" in [one["name"] for one in told("pipelines", "list")["pipelines"]]
    assert "tidy-old 1: list -> archive" in run("pipelines", "list").stdout
    tidy = ("pipelines", "run", "tidy-old", "--param", "until=2999-01-01", "--param", "most=5")
    assert [len(one["changes"]) for one in told(*tidy, "--dry-run")["steps"]] == [0, 1]
    assert told("get", page)["state"] == "generated"
    assert "tidy-old 1: committed" in run(*tidy).stdout
    assert told("get", page)["state"] == "archived"
    file = tmp_path / "note.yaml"
    file.write_text(run("pipelines", "show", "tidy-old").stdout.replace("name: tidy-old", "name: note"))
    assert "note, version 1, is sound: list -> archive." in run("pipelines", "check", str(file)).stdout
    assert told("pipelines", "check", str(file)) == {"name": "note", "version": 1, "steps": 2}
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "yaml.py").write_text("raise ImportError")  # as if it was not installed
    bare = forked.memoryos("pipelines", "show", "tidy-old", cwd=tmp_path, PYTHONPATH=str(tmp_path / "bare"))
    assert (bare.returncode, "pip install 'memoryos-engine[yaml]'; --json needs none" in bare.stderr) == (1, True)
    file.write_text("name: note\nparameters: {query: text}\nsteps: [retrieve: {}, augment: {tokens: 50}, arhcive: {}]")
    wrong = run("pipelines", "check", str(file))
    assert wrong.returncode == 2
    assert "note.yaml: step 3: 'arhcive' is no step. Use archive" in wrong.stderr
    file.write_text("name: note\nparameters: {query: text}\nsteps: [retrieve: {}, augment: {tokens: 50}]")
    assert "garden" in run("pipelines", "run", str(file), "--query", "Where are the bees?").stdout
    assert told("pipelines", "show", "note", MEMORYOS_PIPELINES=str(tmp_path))["steps"][1] == {
        "augment": {"tokens": 50}
    }
    for param, fix in (("most=many", "most is not JSON"), ("most", "is not NAME=VALUE")):
        assert fix in run("pipelines", "run", "tidy-old", "--param", param).stderr
    missing = run("pipelines", "run", "tidy-old").stderr
    assert "--param until: is missing: tidy-old needs it" in missing
    assert "most is given twice" in run(*tidy, "--param", "most=6").stderr


def test_a_broken_file_hides_no_other_pipeline(run, told, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "bad.json").write_text("{")
    told("add", "I keep bees.")
    found = run("pipelines", "list", MEMORYOS_PIPELINES=str(own))
    assert (found.returncode, "tidy-old 1: list -> archive" in found.stdout) == (0, True)
    assert found.stderr.startswith("Left out: bad.json: is not JSON")
    listed = json.loads(run("pipelines", "list", "--json", MEMORYOS_PIPELINES=str(own)).stdout)
    assert [*listed["broken"]] == ["bad.json"]


def test_an_error_of_a_step_names_the_step_and_the_parameter(run, told, tmp_path):
    told("add", "I keep bees.")
    steps = [{"retrieve": {"query": "{x}"}}, {"augment": {}}]
    (tmp_path / "mine.json").write_text(json.dumps({"name": "mine", "parameters": {"x": "text"}, "steps": steps}))
    wrong = run("pipelines", "run", "mine.json", "--param", "x=")
    assert wrong.returncode == 2
    assert "mine, step 1 (retrieve): query: is empty" in wrong.stderr
    assert "the parameter x fills it" in wrong.stderr
    assert "--query" not in wrong.stderr


def test_what_had_no_command(run, told, tmp_path):
    (tmp_path / "bee.png").write_bytes(b"\x89PNG a bee")
    page = told("add", "Look! I live in Oslo.", "--attach", "bee.png")["id"]
    (file,) = told("pages", "attachments", page)["attachments"]
    assert file["id"] in run("pages", "attachments", page).stdout
    assert told("pages", "attachment", page, file["id"], "copy.png")["bytes"] == 10
    assert (tmp_path / "copy.png").read_bytes() == b"\x89PNG a bee"
    assert "File exists" in run("pages", "attachment", page, file["id"], "copy.png").stderr
    assert told("consolidate")["facts"] == 1
    assert "All pages are read" in run("consolidate").stdout
    events = told("log", "events", "--limit", "2")["events"]
    assert [one["cube_id"] for one in events][:1] == [page]
    assert len(events) == 2
    assert events[1]["sequence"] not in [one["sequence"] for one in told("log", "events", "--after", "2")["events"]]
    assert "There are no such events." in run("log", "events", "--after", "999999").stdout
    second = told("add", "Look! I live in Oslo.")["id"]
    assert "no attachments" in run("pages", "attachments", second).stdout
    told("duplicates", "merge", told("add", "I sail.")["id"], told("add", "I sail!")["id"])
    assert told("duplicates", "merged", second) == {"memories": []}
    survivor = next(one for one in told("pages", "list")["pages"] if "sail" in one["text"])["id"]
    assert [one["text"] for one in told("duplicates", "merged", survivor)["memories"]] == ["user: I sail!"]
    assert "It took in none." in run("duplicates", "merged", second).stdout
    made = told("proposals", "publish", "Tea is hot.", "--source", "review")
    assert made == {"proposals": []}
    assert "Published 1; 0 proposals" in run("proposals", "publish", "Tea is hot.", "--source", "review").stdout
