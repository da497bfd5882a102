"""`memoryos bench adapters`: what an adapter recalls, measured in pieces."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from memoryos.bench.kept_results import FILE, KeptResults, Unfinished
from memoryos.interface.cli.app import app
from memoryos.operation.training.adapter_gate import GateBounds

WAYS = ("nothing", "the adapter", "the facts as text")
QUESTIONS, OTHERS = 4, 8  # of one fact, and about others


def test_an_adapter_is_measured_in_pieces(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")
    bounds = GateBounds(least_recall=0, most_loss=1e9, most_questions=1)
    monkeypatch.setattr("memoryos.bench.adapter_recall.NO_BOUNDS", bounds)
    monkeypatch.setattr("memoryos.bench.adapter_recall._ANSWER_TOKENS", 2)
    sizes = ["--facts", "1", "--epochs", "1", "--rank", "2"]
    words = ["bench", "adapters", "--model", f"local:{tiny}", *sizes, "--keep", str(tmp_path), "--json"]

    def kept() -> list[str]:
        lines = (tmp_path / FILE).read_text("utf-8").split("\n")[2:]
        return [name for line in lines for name in json.loads(line)]

    most = QUESTIONS + OTHERS  # then it is trained
    with monkeypatch.context() as patch:
        patch.setattr(KeptResults, "seconds_left", property(lambda kept: 0.0 if len(kept) >= most else None))
        stopped = CliRunner().invoke(app, words)
    assert isinstance(stopped.exception, Unfinished), stopped.exception
    assert f"{most} results are kept" in str(stopped.exception)
    assert len(kept()) == most
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [told[way]["asked"] for way in ("alone", "adapter", "prompt")] == [QUESTIONS] * 3
    assert (told["facts"], told["recipe"]["rank"], told["gate"]["asked"]) == (1, 2, 1)
    assert told["steps"] > 0
    assert len(kept()) == len(set(kept())) == len(WAYS) * (QUESTIONS + OTHERS)
    assert {name.split(":")[0] for name in kept()} == set(WAYS)
