"""`memoryos mounts list`, `tagged` and `search` with a mounted memory, through the real command line."""

from __future__ import annotations

import json

import pytest

import memoryos
import same_process
from memoryos import MemoryOS, Scope

CLINIC = Scope(user="clinic", namespace=("expert", "cardiology"))


@pytest.fixture
def run(tmp_path):
    with MemoryOS.open(tmp_path / "expert.db") as clinic:
        clinic.of(CLINIC).add("Propranolol narrows the airways.", tags=["asthma"])
    with memoryos.open(tmp_path / "memoryos.db", user="ann") as own:
        own.add("My asthma got worse in spring.", tags=["asthma"])
    scope = {"user": CLINIC.user, "namespace": CLINIC.namespace}
    mounts = json.dumps([{"name": "cardiology", "place": str(tmp_path / "expert.db"), "scope": scope}])

    def call(*arguments):
        return same_process.memoryos(*arguments, cwd=tmp_path, MEMORYOS_MOUNTS=mounts)

    return call


def document(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_mounts_are_listed_and_searched(run):
    (mount,) = document(run("mounts", "list", "--json"))["mounts"]
    assert (mount["name"], mount["namespace"], mount["writable"]) == ("cardiology", "expert/cardiology", False)
    assert "cardiology" in run("mounts", "list").stdout
    found = document(run("search", "Is propranolol safe with asthma?", "--user", "ann", "--json"))
    assert {hit["mount"] for hit in found["hits"]} == {None, "cardiology"}
    assert found["missing"] == []
    assert "from cardiology" in run("search", "propranolol", "--user", "ann").stdout
    assert run("search", "propranolol", "--user", "ann", "--mount", "surgery").returncode == 2


def test_what_is_tagged_is_shown_from_everywhere(run):
    found = document(run("tagged", "asthma", "--user", "ann", "--json"))
    assert {hit["mount"] for hit in found["hits"]} == {None, "cardiology"}
    assert len(document(run("tagged", "asthma", "--user", "ann", "--limit", "1", "--json"))["hits"]) == 1
    assert "No memory has that tag." in run("tagged", "bees", "--user", "ann").stdout
