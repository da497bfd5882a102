"""`memoryos bench locomo`, as a person and a program use it."""

from __future__ import annotations

import json
import subprocess

import pytest

from contract import server
from memoryos.bench.metrics import LEVELS
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, ablations
from memoryos.operation.recall.hit import Strategy
from score_parts import PARTS

from .talk import SESSIONS, talk

KIWI = {"session_1": [("D1:1", "I adopted a parrot called Kiwi yesterday.")]}


ABLATED = [*PARTS, "context", "kin", "clauses"]
SMALL = {"MEMORYOS_SHORT_TERM_CAPACITY": "1", "MEMORYOS_MID_TERM_CAPACITY": "1"}  # the rest goes to the archive


def measured(bench, *arguments, **variables):
    result = bench("locomo", *arguments, "--embedder", "hashing", "--json", **variables)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_what_a_program_reads(bench, locomo, tmp_path):
    found = measured(bench, "--data", locomo(), "--plot", "recall.png")

    assert list(found["results"]) == [strategy.value for strategy in Strategy]
    for result in found["results"].values():
        assert set(result) == {"overall", "1", "2", "4", "search_ms"}  # 3 has no question that can be asked
        for group in ("overall", "1", "2", "4"):
            assert set(result[group]) == {*LEVELS, "interval", "questions"}
            for name, levels in LEVELS.items():
                assert list(result[group][name]) == list(map(str, levels))
                assert all(0 <= value <= 1 for value in result[group][name].values())
                assert all(low <= high for low, high in result[group]["interval"][name].values())
        assert set(result["search_ms"]) == {"p50", "p95"}
    assert found["ablation"] == {}
    assert found["search_ms"] == next(iter(found["results"].values()))["search_ms"]
    assert found["ingest_s"] > 0
    assert found["rss_mb"] > 0
    assert {name: found[name] for name in ("pages", "archived_pages", "turns", "questions", "embedder")} == {
        "pages": 4,
        "archived_pages": 0,
        "turns": 7,
        "questions": 3,
        "embedder": "hashing-384-v1",
    }
    assert found["questions_without_evidence"] == 1
    assert found["malformed_evidence"] == [
        {"conversation": "conv-1", "question": "Does the parrot talk?", "evidence": "D9:9", "is_asked": True},
        {"conversation": "conv-1", "question": "Would Ann like a cat?", "evidence": "D", "is_asked": False},
    ]
    assert found["dataset"]["conversations"] == ["conv-1"]
    assert len(found["dataset"]["sha256"]) == 64
    assert found["machine"]["cores"] >= 1
    assert found["version"]
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_seven_short_turns_are_all_recalled(bench, locomo):
    overall = measured(bench, "--data", locomo(), "--strategy", "two_stage")["results"]["two_stage"]["overall"]
    assert overall["tokens"]["256"] == overall["all_tokens"]["256"] == 1  # 7 turns of at most 20 tokens
    assert overall["turns"]["10"] == overall["all_turns"]["10"] == overall["sessions"]["5"] == 1
    assert overall["interval"]["turns"]["10"] == [1, 1]


def test_only_the_turns_of_the_own_conversation_count(bench, locomo):
    """D1:1 is in both; the question of the second is about the first."""
    question = [("What is the parrot called?", 4, ["D1:1"])]
    other = {"session_1": [("D1:1", "It rains.")]}
    path = locomo(talk("conv-1", KIWI, question), talk("conv-2", other, [("Kiwi?", 4, ["D1:2"]), *question]))
    found = measured(bench, "--data", path)
    assert (found["turns"], found["questions"]) == (2, 2)
    assert [part["evidence"] for part in found["malformed_evidence"]] == ["D1:2"]


def test_hybrid_without_each_of_its_parts(bench, locomo):
    found = measured(bench, "--data", locomo(), "--strategy", "hybrid", "--ablation")
    whole = found["results"]["hybrid"]
    assert list(found["results"]) == ["hybrid"]
    assert list(found["ablation"]) == list(ablations(DEFAULT_WEIGHTS)) == ABLATED
    for without in found["ablation"].values():
        assert set(without) == set(whole)
        assert set(without["overall"]) == set(whole["overall"])
        assert set(without["search_ms"]) == {"p50", "p95"}


def test_an_ablation_leaves_its_part_out(bench, locomo):
    """Six turns share every word with the question: only that one opens its sitting tells which to take."""
    sessions = {
        f"session_{day}": [(f"D{day}:{number}", "The parrot talks.") for number in (1, 2)] for day in range(1, 4)
    }
    path = locomo(talk(sessions=sessions, questions=[("The parrot talks?", 4, ["D1:1", "D2:1", "D3:1"])]))
    found = measured(bench, "--data", path, "--strategy", "hybrid", "--ablation")
    assert found["results"]["hybrid"]["overall"]["turns"]["5"] == 1
    assert found["ablation"]["opens"]["overall"]["turns"]["5"] < 1


def test_a_person_sees_the_ablation_below_the_strategies(bench, locomo):
    result = bench("locomo", "--data", locomo(), "--embedder", "hashing", "--strategy", "bm25", "--ablation")
    assert result.returncode == 0, result.stderr
    rows = [result.stdout.index(name) for name in ("bm25", *(f"hybrid - {part} " for part in ABLATED))]
    assert rows == sorted(rows)
    assert "hybrid - speaker" not in bench("locomo", "--data", locomo(), "--embedder", "hashing").stdout


def test_only_two_stage_finds_less_when_pages_are_archived(bench, locomo):
    kept, evicted = measured(bench, "--data", locomo()), measured(bench, "--data", locomo(), **SMALL)
    assert kept["archived_pages"] == 0 < evicted["archived_pages"]
    changed = [name for name in Strategy if evicted["results"][name]["overall"] != kept["results"][name]["overall"]]
    assert changed == [Strategy.TWO_STAGE]


def test_a_person_is_told_what_is_archived(bench, locomo):
    result = bench("locomo", "--data", locomo(), "--embedder", "hashing", "--strategy", "bm25", **SMALL)
    told = "pages are in the archive: two_stage leaves them out, the others search them."
    assert told in " ".join(result.stdout.split())


def test_some_conversations(bench, locomo):
    path = locomo(talk("conv-1"), talk("conv-2"), talk("conv-3", KIWI, [("Kiwi?", 1, ["D1:1"])]))
    found = measured(bench, "--data", path, "--conversations", "conv-3, conv-1")
    assert found["dataset"]["conversations"] == ["conv-3", "conv-1"]
    assert (found["turns"], found["questions"]) == (8, 4)


def test_what_a_person_reads(bench, locomo):
    result = bench("locomo", "--data", locomo(), "--embedder", "hashing")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # no terminal, no progress
    for shown in ("4,096", "50 turns", "10 sessions", "multi-hop (1)", "overall (3)", "p95", *Strategy):
        assert shown in result.stdout
    assert "Evidence that names no turn: 2 (conv-1 'D9:9', conv-1 'D'); questions not asked: 1." in result.stdout
    assert "Questions without evidence, not asked: 1." in result.stdout


NO_MATPLOTLIB = "raise ImportError('not here')"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--data", "missing.json"], 2, "missing.json"),
        (["--data", "{data}", "--conversations", "conv-1,conv-9"], 2, "'conv-9' is not in the file"),
        (["--data", "{data}", "--embedder", "magic"], 2, "Use one of: hashing, minilm, static"),
        (["--data", "{data}", "--strategy", "magic"], 2, "magic"),
        (["--data", "{data}", "--plot", "recall.txt"], 2, ".png"),
        (["--data", "{data}", "--plot", "missing/recall.png"], 2, "does not exist"),
        ([], 2, "--data"),
    ],
)
def test_a_mistake_is_told_before_the_work(bench, locomo, arguments, code, told):
    path = str(locomo())
    result = bench("locomo", *(part.replace("{data}", path) for part in arguments))
    assert result.returncode == code
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        (talk(questions=[]), "no question"),
        (talk(questions=[("?", 4, ["D"])]), "no question"),
        (talk(sessions={**SESSIONS, "session_3": [("D1:1", "Again.")]}), "D1:1"),
    ],
)
def test_data_that_cannot_be_measured_is_refused(bench, locomo, sample, told):
    result = bench("locomo", "--data", locomo(sample), "--embedder", "hashing")
    assert result.returncode == 2
    assert told in result.stderr


def test_a_picture_without_the_extra_names_the_extra(command, locomo, tmp_path):
    blocked = tmp_path / "blocked" / "matplotlib"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text(NO_MATPLOTLIB, "utf-8")
    started = command("locomo", "--data", locomo(), "--plot", "recall.png", PYTHONPATH=str(blocked.parent))
    result = subprocess.run(**started, capture_output=True, timeout=300)
    assert result.returncode == 1
    assert "pip install 'memoryos-engine[bench]'" in result.stderr


def test_on_postgresql_with_and_without_the_candidate_index_the_same_is_found(bench, locomo):
    arguments = ["--data", locomo(), "--strategy", "hybrid"]
    expected = measured(bench, *arguments)["results"]["hybrid"]["overall"]
    for more in ([], ["--indexed"]):
        url = server.new_database().render_as_string(hide_password=False)
        found = measured(bench, *arguments, "--db", url, *more)
        assert found["results"]["hybrid"]["overall"] == expected
    known = bench("locomo", *map(str, arguments), "--db", url, "--embedder", "hashing")
    assert known.returncode != 0
    assert "holds 'conv-1' already" in known.stderr


def test_a_file_has_no_candidate_index_to_measure(bench, locomo):
    result = bench("locomo", "--data", locomo(), "--indexed", "--embedder", "hashing")
    assert result.returncode != 0
    assert "--indexed: this store has no candidate index" in result.stderr


def test_with_half_of_the_sessions_mounted_beside_the_same_turns_are_ranked(bench, locomo):
    arguments = ["--data", locomo(), "--strategy", "hybrid"]
    apart = measured(bench, *arguments, "--mounted")["results"]["hybrid"]["overall"]["tokens"]
    whole = measured(bench, *arguments)["results"]["hybrid"]["overall"]["tokens"]
    assert apart["4096"] == whole["4096"]
