"""What reading takes and gives: rules beside a model that makes mistakes on purpose."""

from __future__ import annotations

import json

import pytest

from memoryos import load_settings
from memoryos.bench.consolidation import ReaderKind, measure
from memoryos.bench.scripted_reader import INVENTED, ScriptedReader
from memoryos.importers.locomo import read_locomo

from .talk import talk

TOPICS = ("a red boat", "a small garden", "two loud parrots", "an old piano")


def long_talk():
    """Three sessions of twenty turns, in each of which the user says something of herself."""
    return {
        f"session_{day}": [
            (f"D{day}:{number}", f"I have {TOPICS[number % 4]} and I like it on day {day}, {number} times a week.")
            for number in range(1, 21)
        ]
        for day in (1, 2, 3)
    }


@pytest.fixture
def conversations(locomo):
    return read_locomo(locomo(talk(sessions=long_talk())))


def test_a_model_is_asked_for_many_pages_at_once_and_its_inventions_are_rejected(conversations):
    found = measure(conversations, ReaderKind.SCRIPTED, load_settings(embedder="hashing"))
    assert (found.pages, found.read, found.dead_jobs) == (30, 23, 0)
    assert found.calls >= 3
    assert found.calls_per_page == found.calls / 30
    assert found.calls_per_page <= 0.5
    assert found.prompt_tokens_per_page == found.prompt_tokens / 30
    assert found.facts.kept > 0
    assert found.facts.rejected == sum(found.rejected.values()) > 0
    assert set(found.rejected) == {"name"}


def test_rules_ask_nobody(conversations):
    found = measure(conversations, ReaderKind.RULES, load_settings(embedder="hashing"))
    assert (found.calls, found.prompt_tokens, found.facts.rejected) == (0, 0, 0)
    assert found.read == 23
    assert found.facts.kept > 0


def test_one_fact_in_ten_is_invented():
    said = "\n".join(f"Ann: I have a boat called number {number}." for number in range(20))
    dialogue = f"<dialogue>\n[1] 2026-03-02 Mon\n{said}\n</dialogue>"
    answer = ScriptedReader().answer(
        [{"role": "system", "content": '{"facts": []}'}, {"role": "user", "content": dialogue}]
    )
    facts = json.loads(answer.text)["facts"]
    assert sum(INVENTED in fact["fact"] for fact in facts) == 2


def test_the_command_tells_all_of_it(bench, locomo):
    path = locomo(talk(sessions=long_talk()))
    told = bench("consolidation", "--data", path, "--embedder", "hashing", "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert set(document) == {"embedder", "rules", "scripted", "purity", "rules_on_labelled_pages"}
    assert document["scripted"]["calls_per_page"] > document["rules"]["calls_per_page"] == 0
    assert set(document["scripted"]["facts"]) >= {"kept", "rejected", "superseded"}
    for halves in document["rules_on_labelled_pages"].values():
        assert all(half["precision"] >= 0.9 for half in halves.values())
    shown = bench("consolidation", "--data", path, "--embedder", "hashing")
    assert "calls per page" in shown.stdout


def test_compression_tells_recall_and_span_by_tokens(bench, locomo):
    told = bench("compression", "--data", locomo(), "--every", "1", "--embedder", "hashing", "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert set(document["points"]) == {"latest", "digest", "digest+query", "context"}
    for points in document["points"].values():
        assert [point["budget"] for point in points] == [128, 256, 512, 1024, 2048, 4096]
        assert points[-1]["recall"] == pytest.approx(1, abs=0.01), "the whole talk fits"
    assert "days covered" in bench("compression", "--data", locomo(), "--embedder", "hashing").stdout
