"""`memoryos bench extraction`: how right the rules are on labelled pages."""

from __future__ import annotations

import json

from memoryos.bench.labels import Collection, Language, Split, load


def test_what_a_program_reads(bench):
    result = bench("extraction", "--mistakes", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert list(found) == [collection.value for collection in Collection]
    for collection in Collection:
        for language in Language:
            halves = found[collection][language]
            assert list(halves) == [split.value for split in Split]
            assert sum(half["pages"] for half in halves.values()) == len(load(language, collection))
            assert "mistakes" in halves[Split.DEV]
            assert "mistakes" not in halves[Split.HELD_OUT], "what is held out stays unseen"
            for half in halves.values():
                assert half["together"]["found"] == half["facts"]["found"] + half["profile"]["found"] > 0
                assert 0.8 <= half["together"]["precision"] <= 1


def test_what_a_person_reads(bench):
    result = bench("extraction")
    assert result.returncode == 0, result.stderr
    for shown in ("messy", "english", "chinese", "held"):
        assert shown in result.stdout
