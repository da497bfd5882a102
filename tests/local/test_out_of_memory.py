"""Too little memory for a KV state or a training: a clear error or the text, nothing half saved; the next try works."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from local.lessons import add
from local.tiny_model import make_folder
from memoryos.infrastructure.objects.blobs import Blobs
from memoryos.models.local.lora_trainer import LoraTrainer

QUESTION = "Where do I live?"

PROGRAM = """
import gc, json, resource, sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
import memoryos
from memoryos.infrastructure.objects.blobs import Blobs
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.models.local.lora_trainer import LoraTrainer
from memoryos.models.local.state_file import StateFile
from memoryos.models.local.transformers_engine import TransformersEngine
from memoryos.operation.training.adapter_gate import GateBounds

place, model = sys.argv[1:]
MORE = 4_000_000

@contextmanager
def tight(kind, name):  # what this method computes may take so many bytes more
    usual = getattr(kind, name)
    def bounded(*words, **named):
        gc.collect()
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (size + MORE, most))
        try:
            return usual(*words, **named)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
    setattr(kind, name, bounded)
    try:
        yield
    finally:
        setattr(kind, name, usual)

told, past = {}, [0]

def now():
    return datetime(2026, 5, 1, tzinfo=UTC) + timedelta(hours=past[0])

def later():  # what failed is tried again by itself
    past[0] += 1
    memory.jobs.run()

def blobs():
    folder = Path(place + ".objects")
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []

def answered():
    told = memory.activations.answer("me", "Where?")
    return [told.is_from_state, told.reason, told.answer.text]

settings = memoryos.Settings(llm_model="local:" + model, embedder="hashing", local_threads=1, llm_max_tokens=4)
with memoryos.open(place, user="ann", settings=settings, clock=now) as memory:
    for number in range(4):
        memory.facts.add(f"User keeps {number + 2} notebooks about 奥斯陆 on shelf {number}.")
    with tight(TransformersEngine, "prefill"):
        memory.activations.build("me")
        memory.wait()
    told["computed"] = [memory.activations.get("me").reason, blobs()]
    with tight(StateFile, "to_bytes"):
        later()
    told["saved"] = [memory.activations.get("me").reason, blobs()]
    later()
    told["built"] = [memory.activations.get("me").is_usable, memory.activations.get("me").size]
    with tight(Blobs, "view"):
        told["read"] = answered()
    told["next"] = answered()
    kept = blobs()
    with tight(LoraTrainer, "take_step"):
        memory.adapters.train(
            "home",
            recipe=TrainingRecipe(rank=2, alpha=4, epochs=1, replay=0.0),
            bounds=GateBounds(least_recall=0.0, most_loss=1e9, most_questions=1),
            ids=[memory.facts.list()[0].id],
        )
        memory.wait()
    told["trained"] = [memory.forms.outcome("home", "text", "adapter").reason, blobs() == kept]
    later()
    told["ready"] = [one.stage for one in memory.adapters.get("home").versions]
print(json.dumps(told))
"""


def runs_out(*_: object, **__: object) -> None:
    raise MemoryError


def test_without_memory_the_text_answers_and_what_failed_is_tried_again(
    opened, tiny_long, clock, monkeypatch, tmp_path
):
    memory = opened(tiny_long)
    fact = add(memory)
    with monkeypatch.context() as patch:
        patch.setattr("memoryos.models.local.transformers_engine.TransformersEngine.step", runs_out)
        memory.activations.build("me", kinds=["fact"])
        memory.wait()
        assert "the local model ran out of memory" in memory.activations.get("me").reason
    assert not (tmp_path / "m.db.objects").exists()
    clock.advance(hours=1)
    memory.jobs.run()
    assert memory.activations.get("me").is_usable
    with monkeypatch.context() as patch:
        patch.setattr(Blobs, "view", runs_out)
        told = memory.activations.answer("me", QUESTION)
    assert (told.is_from_state, "too little memory" in told.reason) == (False, True)
    again = memory.activations.answer("me", QUESTION)
    assert (again.is_from_state, again.answer.text) == (True, told.answer.text)
    with monkeypatch.context() as patch:
        patch.setattr(LoraTrainer, "_step", runs_out)
        memory.adapters.train("home", ids=[fact])
        memory.wait()
    assert "training the adapter ran out of memory" in memory.forms.outcome("home", "text", "adapter").reason
    assert memory.adapters.get("home").versions == ()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is bounded so on Linux")
def test_a_bounded_process_tells_it_and_the_next_try_works(tiny, tmp_path):
    wide = {"num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 64}  # 16 kB a token
    model = make_folder(tmp_path / "wide", window=4096, **wide)
    exact = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}  # what is freed goes back at once
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "m.db"), str(model)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **exact},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    for moment in ("computed", "saved"):
        assert "ran out of memory" in told[moment][0]
        assert told[moment][1] == []
    assert told["built"][0]
    assert told["built"][1] > 6_000_000
    assert told["read"][0] is False
    assert "too little memory" in told["read"][1]
    assert told["next"] == [True, "", told["read"][2]]
    assert "ModelError: training the adapter ran out of memory" in told["trained"][0]
    assert told["trained"][1]
    assert told["ready"] == ["ready"]
