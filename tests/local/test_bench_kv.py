"""`memoryos bench kv`: the table of both runtimes, and a model of which only the shape is there."""

from __future__ import annotations

import gc
import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from memoryos.bench.answer_likeness import difference, divergence, same_tokens
from memoryos.bench.kept_results import Unfinished
from memoryos.bench.kv_speed import CONTEXTS, PAPER, QUERIES, KvBench, KvCell, KvReport
from memoryos.interface.cli.app import app

SIZES = ["--context", "60", "--context", "200", "--query", "20", "--answer-tokens", "8", "--threads", "1", "--json"]


def run(*args: str) -> dict:
    done = CliRunner().invoke(app, ["bench", "kv", *args, *SIZES])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_both_runtimes_are_measured(tiny, tmp_path):
    told = run("--model", f"local:{tiny.with_suffix('.gguf')}", "--plot", str(tmp_path / "kv.svg"))
    assert [one["runtime"] for one in told["reports"]] == ["transformers", "llamacpp"]
    for report in told["reports"]:
        assert [one["tokens"] for one in report["contexts"]] == [60, 200]
        assert all(cell["is_equal"] and cell["difference"] < 2e-3 for cell in report["cells"])
        assert all(cell["with_s"] > 0 and cell["without_s"] > 0 for cell in report["cells"])
    assert (tmp_path / "kv.svg").stat().st_size > 1000


def test_a_measurement_that_is_stopped_goes_on_from_what_it_kept(tiny, tmp_path, monkeypatch):
    asked = ["--model", f"local:{tiny.with_suffix('.gguf')}", "--runtime", "llamacpp", "--keep", str(tmp_path / "kept")]
    file, cell = tmp_path / "kept" / "results.jsonl", KvBench._cell

    def stops(bench: KvBench, prompt: list[int], size: int) -> KvCell:
        found = cell(bench, prompt, size)
        bench.results._until = 0.0
        return found

    with monkeypatch.context() as patch:
        patch.setattr(KvBench, "_cell", stops)
        done = CliRunner().invoke(app, ["bench", "kv", *asked, "--for", "60", *SIZES])
    assert isinstance(done.exception, Unfinished)
    assert "2 results are kept" in str(done.exception)
    del done  # and with its frames the closed engine
    gc.collect()
    with file.open("a") as cut:
        cut.write('\n{"llamacpp')  # as `kill -9` leaves it
    told = run(*asked)
    assert [(one["context"], one["difference"] < 2e-3) for one in told["reports"][0]["cells"]] == [
        (60, True),
        (200, True),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(KvBench, "_first_token", None)  # nothing is measured again
        assert run(*asked)["reports"] == told["reports"]
    done = CliRunner().invoke(app, ["bench", "kv", *asked, *SIZES, "--answer-tokens", "9"])
    assert "results with another answer_tokens" in str(done.exception)


def test_a_shape_without_weights_is_measured(tiny, tmp_path):
    shutil.copy(tiny / "config.json", tmp_path)
    (report,) = run("--random", str(tmp_path))["reports"]
    assert (report["dtype"], report["cells"][0]["is_equal"]) == ("bfloat16", True)


def test_a_table_is_reached_if_each_cell_is_as_fast_and_equal():
    def report(with_s, is_equal):
        cell = KvCell(583, 167, with_s, 1.0, is_equal, 64, None)
        return KvReport("m", "r", "1", "f", (), (cell,))

    assert set(PAPER) == {(context, query) for context in CONTEXTS for query in QUERIES}
    assert report(0.28, True).is_reached
    assert report(0.28, True).cells[0].speedup == pytest.approx(72)
    assert not report(0.30, True).is_reached
    assert not report(0.28, False).is_reached


def test_what_eight_bits_lose_is_measured(tiny):
    words = f"bench rounded --model local:{tiny} --context 40 --context 60 --query 8 --answer-tokens 6 --prompts 2"
    done = CliRunner().invoke(app, [*words.split(), "--threads", "1", "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)["report"]
    assert [one["context"] for one in report["contexts"]] == [40, 60]
    for one in report["contexts"]:
        assert one["rounded_bytes"] < 0.7 * one["exact_bytes"]  # the file has a head, and scales of short vectors
        assert 0 < one["difference"] < 0.2
        assert 0 < one["kl"] < 0.1
        assert 0 <= one["same_first"] <= 2
        assert all(0 <= same <= of <= 6 for same, of in zip(one["same_tokens"], one["answer_tokens"], strict=True))


def test_likeness_is_that_of_two_answers():
    truth, told = (np.log(np.array(chances, dtype=np.float32)) for chances in ([0.5, 0.25, 0.25], [0.25, 0.25, 0.5]))
    assert divergence(truth, truth) == difference(truth, truth) == 0
    assert divergence(truth, told) == pytest.approx(0.5 * np.log(2) - 0.25 * np.log(2))
    assert difference(truth, told) == pytest.approx(0.25)
    assert [same_tokens([1, 2, 3], other) for other in ([], [1, 2], [1, 9, 3], [1, 2, 3, 4])] == [0, 2, 1, 3]
