"""`memoryos bench languages`, and the talks that it asks about."""

from __future__ import annotations

import json

import pytest

from memoryos.bench import languages
from memoryos.bench.languages import FILE, SETS

TALKS = json.loads(FILE.read_text("utf-8"))


@pytest.mark.parametrize("language", TALKS)
def test_a_talk_has_questions_that_can_be_asked(language):
    talk = TALKS[language]
    assert len(talk["exchanges"]) >= 15
    questions = [question for name in SETS for question in talk[name]]
    assert len({text for text, _ in questions}) == len(questions) == 20
    assert all(0 <= page < len(talk["exchanges"]) for _, page in questions)


def test_what_a_program_reads(bench, tmp_path):
    result = bench("languages", "--strategy", "hybrid", "--strategy", "bm25", "--embedder", "static", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert list(found["languages"]) == list(TALKS)
    assert len(TALKS) == 8
    assert found["embedder"] == "static-multilingual-256-4"
    hybrid = [sets[name]["hybrid"] for sets in found["languages"].values() for name in SETS]
    assert all(0 <= one["first"] <= one["top"] <= one["asked"] == 10 for one in hybrid)
    assert all(one["top"] >= 8 for one in hybrid)  # as docs/explanation/retrieval.md says
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_a_person_reads(bench, monkeypatch, tmp_path):
    path = tmp_path / "two.json"
    path.write_text(json.dumps({name: TALKS[name] for name in ("Japanese", "Arabic")}), "utf-8")
    monkeypatch.setattr(languages, "FILE", path)
    result = bench("languages", "--strategy", "bm25", "--embedder", "hashing")
    assert result.returncode == 0, result.stderr
    for shown in ("Japanese", "Arabic", "bm25", "hashing-384-v1"):
        assert shown in result.stdout
