"""`memoryos bench scheduler`: questions are replayed against ways to keep KV, by the same costs for all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import memoryos
from memoryos.bench.placement_replay import Keeping, measure_placement, replayed
from memoryos.bench.placement_trace import PlacementTrace, QuestionNeeds, TracedQuestion, dialogue_trace, interleaved
from memoryos.interface.cli.bench_scheduler import _print
from memoryos.operation.placement.cost_model import SMOLLM2

pytestmark = pytest.mark.once

TOKENS = {"p": 100, "a": 50, "b": 50, "c": 400}


def trace(*asked, scope="ann"):
    return PlacementTrace("made", tuple(TracedQuestion(scope, 0, 10, tuple(blocks)) for blocks in asked), TOKENS)


def size(*blocks):
    return SMOLLM2.kv_bytes(sum(TOKENS[block] for block in blocks))


def test_without_kv_each_question_waits_for_its_prefill_and_with_all_kv_only_for_what_is_new():
    asked = trace("pa", "pa", "pb")
    never, always = (replayed(asked, way, SMOLLM2, 0) for way in (Keeping.NEVER, Keeping.ALWAYS))
    assert never.hit_rate == never.peak_bytes == never.kept == 0
    assert never.mean_ms == pytest.approx(SMOLLM2.prefill_ms(160))
    assert always.hit_rate == pytest.approx(3 / 6)
    assert always.peak_bytes == size("p", "a", "b")
    spared = SMOLLM2.saved_ms(100) * 2 + SMOLLM2.saved_ms(50)
    assert always.mean_ms == pytest.approx(never.mean_ms - spared / 3)


@pytest.mark.parametrize("way", [way for way in Keeping if way not in (Keeping.NEVER, Keeping.ALWAYS)])
def test_every_way_keeps_to_its_bytes_and_is_deterministic(way):
    asked = trace("pa", "pb", "pc", "pa", "pc", "pb", "pb", "pa")
    room = size("p", "a")
    result = replayed(asked, way, SMOLLM2, room)
    assert result.peak_bytes <= room
    assert result == replayed(asked, way, SMOLLM2, room)
    assert replayed(asked, way, SMOLLM2, 1).hit_rate == 0  # nothing fits


def test_in_the_exact_mode_kv_counts_only_behind_the_same_blocks():
    asked = trace("pa", "pb", "ap")
    assert replayed(asked, Keeping.ALWAYS, SMOLLM2, 0).hit_rate == pytest.approx(3 / 6)
    exact = asked.exact()
    assert exact.tokens == {"p": 100, "p > a": 50, "p > b": 50, "a": 50, "a > p": 100}
    assert replayed(exact, Keeping.ALWAYS, SMOLLM2, 0).hit_rate == pytest.approx(1 / 6)


def test_pauses_are_used_for_what_comes_next_and_no_more():
    ann, ben = (trace("a", "b", "a", "b").questions, trace("p", "p", scope="ben").questions)
    asked = PlacementTrace("two", (*ann, *ben) * 10, TOKENS)
    room = size("p")  # or both a and b: what one owner needs pushes out what the other needed
    lru = replayed(asked, Keeping.LRU, SMOLLM2, room)
    ours = replayed(asked, Keeping.DENSITY, SMOLLM2, room)
    assert ours.mean_ms < lru.mean_ms
    assert ours.preload_s <= 60 * 20
    assert replayed(asked, Keeping.DENSITY, SMOLLM2, room, pause_s=0).preloaded == 0
    clairvoyant = replayed(asked, Keeping.CLAIRVOYANT, SMOLLM2, room)
    assert clairvoyant.mean_ms <= ours.mean_ms


def test_sessions_of_owners_are_mixed_the_same_way_each_time():
    needs = {name: QuestionNeeds(((5, (f"{name}/p",)),) * 20, {f"{name}/p": 10}) for name in ("ann", "ben")}
    mixed = interleaved("two", needs)
    assert mixed == interleaved("two", needs)
    assert (len(mixed.questions), mixed.sessions, mixed.scopes) == (40, 6, {"ann", "ben"})
    assert interleaved("none", {}).questions == ()


def test_a_report_has_every_way_at_every_size_and_is_json():
    report = measure_placement(trace("pa", "pb", "pa"), SMOLLM2, [10**6, 10**7])
    assert list(report.bounded) == [10**6, 10**7]
    told = json.loads(report.to_json())
    assert set(told["bounded"]["1000000"]) | set(told["unbounded"]) == {way.value for way in Keeping}
    assert told["all_bytes"] == size(*TOKENS)
    slow = replace(SMOLLM2, prefill_ms_per_token=10.0)
    assert measure_placement(trace("pa"), slow).unbounded["never"].mean_ms == pytest.approx(1600)


def test_a_table_in_a_pipe_has_whole_numbers(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    slow = replace(SMOLLM2, prefill_ms_per_token=230.0)
    _print(measure_placement(trace("pa", "pb", "pa"), slow, [10**9]))
    shown = capsys.readouterr().out
    assert "36800" in shown, "milliseconds of a question without KV"
    assert "…" not in shown


def test_a_question_needs_the_persona_and_the_segments_that_a_search_finds(tmp_path):
    with memoryos.open(tmp_path / "talk.db", user="ann") as memory:
        memory.add("I live in Graz with my cat Juno.", "Noted.")
        memory.add("Juno is ill, and the vet found hyperthyroidism.", "Get well, Juno!")
        memory.wait()
        found = dialogue_trace("talk", memory, [["Which illness does Juno have?"], ["And where do I live?", "你好"]])
    assert [question.session for question in found.questions] == [0, 1, 1]
    assert all(question.blocks[0] in found.tokens for question in found.questions)
    assert found.tokens[found.questions[0].blocks[0]] > 0
