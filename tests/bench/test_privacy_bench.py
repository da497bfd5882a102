"""`memoryos bench privacy`: what is found in labelled texts, and what a policy costs."""

from __future__ import annotations

import json

from memoryos.bench.labels import Language, Split
from memoryos.bench.sensitive_texts import sensitive_texts
from memoryos.privacy.sensitive import STRUCTURED


def test_what_a_program_reads(bench):
    result = bench("privacy", "--adds", "3", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert list(found) == ["dev", "held_out", "adds_ms"]
    for split in Split:
        half = found[split]
        assert half["texts"] == len(list(sensitive_texts(split)))
        assert list(half["kinds"]) == [kind.value for kind in STRUCTURED]
        assert sum(half["languages"][language]["labelled"] for language in Language) == half["labelled"]
        assert sum(kind["right"] for kind in half["kinds"].values()) == half["overall"]["right"] > 0
        assert half["overall"]["right"] <= half["overall"]["found"]
    assert set(found["adds_ms"]) == {"off", "tag", "mask"}
    assert all(0 < times["p50"] <= times["p95"] for times in found["adds_ms"].values())


def test_what_a_person_reads(bench):
    result = bench("privacy", "--adds", "0")
    assert result.returncode == 0, result.stderr
    for shown in ("held_out", "english", "chinese", "us_ssn", "secret"):
        assert shown in result.stdout
    assert "One add" not in result.stdout
