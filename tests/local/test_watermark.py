"""Words of answers with the watermark of a store."""

from __future__ import annotations

import json
import logging
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import memoryos
import same_process
from local.tiny_model import make_folder
from memoryos import Settings, WatermarkResult
from memoryos.errors import InvalidInput, ModelError, ModelNotConfigured
from memoryos.interface.cli.app import app
from memoryos.models.local.local_engine import LocalEngine, Sampling
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.watermark_evidence import LEAST_COUNTED
from served import serving

pytestmark = pytest.mark.usefixtures("tiny")
KEY, OTHER = b"k" * 32, b"o" * 32
QUESTION = "Where am I living?"


@pytest.fixture(scope="module")
def endless(tiny, tmp_path_factory) -> Path:
    """A model whose answers are as long as the limit."""
    return make_folder(tmp_path_factory.mktemp("endless") / "tiny", window=2048, ends=False)


@pytest.fixture(scope="module")
def engine(endless) -> LocalEngine:
    from memoryos.models.local.transformers_engine import TransformersEngine

    return TransformersEngine.opened(ModelFiles(endless), cache=endless, device="cpu")


def written(engine, sampling: Sampling) -> str:
    prompt = engine.chat_tokens([{"role": "user", "content": QUESTION}])
    return "".join(engine.generate(prompt, sampling=sampling))


def settings_of(model, **others) -> Settings:
    told = {"llm_model": f"local:{model}", "llm_max_tokens": 150, "answer_watermark": True, "prompt_tokens": 400}
    return Settings(embedder="hashing", **{**told, **others})


def test_the_mark_is_found_with_its_key_alone(engine):
    for temperature in (0.0, 1.0):
        plain = written(engine, Sampling(150, temperature, seed=3))
        marked = written(engine, Sampling(150, temperature, seed=3, watermark=KEY))
        found = engine.evidence(marked, KEY)
        assert (found.result, found.model) == (WatermarkResult.FOUND, "tiny")
        assert found.counted >= LEAST_COUNTED
        assert found.favoured > found.counted / 3
        assert found.z > 4
        assert found.p < 1e-4
        for text, key in ((marked, OTHER), (plain, KEY)):
            other = engine.evidence(text, key)
            assert (other.result, other.z < 3) == (WatermarkResult.NOT_FOUND, True)


def test_a_short_text_tells_nothing_and_a_repeated_one_no_more_than_once(engine):
    marked = written(engine, Sampling(150, watermark=KEY))
    whole = engine.evidence(marked, KEY)
    for text in ("", "a", marked[:20]):
        found = engine.evidence(text, KEY)
        assert (found.result, found.counted < LEAST_COUNTED) == (WatermarkResult.TOO_SHORT, True)
    assert (found.z, engine.evidence("", KEY).z) == (pytest.approx(found.z), None)
    assert engine.evidence("no " * 4000, KEY).result is WatermarkResult.TOO_SHORT
    assert engine.evidence(marked * 3, KEY).counted <= whole.counted + 2
    chinese = engine.evidence("我住在奥斯陆，养了一条狗。" * 2 + "昨天下雨，我们在家喝茶。", KEY)
    assert (chinese.result, chinese.counted > 0) == (WatermarkResult.NOT_FOUND, True)


def test_without_it_an_answer_has_the_same_words_as_ever(engine):
    assert written(engine, Sampling(40)) == written(engine, Sampling(40, watermark=None))
    assert written(engine, Sampling(40)) != written(engine, Sampling(40, watermark=KEY))


def test_the_key_is_in_no_text_about_it(engine, llamacpp_engine):
    secret = "the key of the watermark"
    assert secret not in repr(Sampling(watermark=secret.encode()))
    with pytest.raises(ModelError, match=r"llama\.cpp has no watermark") as refused:
        written(llamacpp_engine, Sampling(8, watermark=secret.encode()))
    assert secret not in str(refused.value)
    with pytest.raises(ModelError, match="no watermark"):
        llamacpp_engine.evidence("text", secret.encode())


def test_answers_streams_and_pipelines_have_the_mark_and_every_door_finds_it(tmp_path, endless, clock, caplog):
    caplog.set_level(logging.DEBUG)
    settings = settings_of(endless)
    with memoryos.MemoryOS.open(tmp_path / "m.db", settings=settings, clock=clock) as store:
        ann, ben, cem = (store.memory(user) for user in ("ann", "ben", "cem"))  # whose prompts are the same
        answer = ann.respond(QUESTION)
        streamed = "".join(ben.respond_stream(QUESTION)).strip()
        run = cem.pipelines.run("respond", query=QUESTION)
        assert [streamed, run.answer.text] == [answer.text] * 2
        found = store.admin.verify_words(answer.text)
        assert found.result is WatermarkResult.FOUND
        file = tmp_path / "answer.json"
        file.write_text(answer.to_json())
        report = store.admin.verify_mark(file)
        assert (report.is_whole, report.words) == (True, found)
        with serving(store) as api:
            assert api("POST", "/words/verify", {"text": answer.text}, user=None) == found.to_dict()
            assert api("POST", "/words/verify", {"text": "I live in Oslo."}, user=None)["result"] == "too short"
        store.wait()
        key = store._engine.vault.erasure.signing_key().hex()
        assert store.admin.verify_words("x" + "是" * 9).counted > 0
    assert key not in caplog.text

    (tmp_path / "words.txt").write_text(answer.text, "utf-8")
    (tmp_path / "short.txt").write_text("I live in Oslo.")
    (tmp_path / "no.txt").write_bytes(b"\xff\xfe")
    known = {"MEMORYOS_LLM_MODEL": f"local:{endless}", "MEMORYOS_EMBEDDER": "hashing"}
    command = partial(same_process.memoryos, "verify-mark", cwd=tmp_path, **known)
    done = command("words.txt", "--words", "--json", "--db", "m.db")
    assert (done.returncode, json.loads(done.stdout)) == (0, found.to_dict())
    short = command("short.txt", "--words", "--db", "m.db")
    assert (short.returncode, short.stdout.startswith("Watermark too short: ")) == (1, True)
    assert "cannot be read" in command("no.txt", "--words", "--db", "m.db").stderr
    told = command("answer.json", "--db", "m.db", MEMORYOS_ANSWER_WATERMARK="true")
    assert (told.returncode, told.stdout.startswith("Whole: made by ann")) == (0, True)
    assert "Watermark found: " in told.stdout
    assert key not in "".join(one.stdout + one.stderr for one in (done, short, told))


def test_another_store_has_another_key(tmp_path, endless, clock):
    with memoryos.MemoryOS.open(tmp_path / "a.db", settings=settings_of(endless), clock=clock) as store:
        text = store.memory("ann").respond(QUESTION).text
    with memoryos.MemoryOS.open(tmp_path / "b.db", settings=settings_of(endless), clock=clock) as other:
        with pytest.raises(InvalidInput, match="signed nothing"):
            other.admin.verify_words(text)
        other.memory("ann").add("I live in Oslo.")
        other.memory("ann").export(tmp_path / "x.jsonl")
        assert other.admin.verify_words(text).result is WatermarkResult.NOT_FOUND
    with memoryos.MemoryOS.open(tmp_path / "a.db", settings=settings_of(endless), clock=clock) as again:
        assert again.admin.verify_words(text).result is WatermarkResult.FOUND
    plain = settings_of(endless, answer_watermark=False)
    with memoryos.MemoryOS.open(tmp_path / "a.db", settings=plain, clock=clock) as store:
        without = store.memory("ben").respond(QUESTION).text
        assert store.admin.verify_words(without).result is not WatermarkResult.FOUND
        assert store.admin.verify_words(text).result is WatermarkResult.FOUND  # what was written before


@pytest.mark.parametrize(
    ("told", "error", "words"),
    [
        ({"local_runtime": "llamacpp"}, ModelError, r"llama\.cpp has no watermark"),
        ({"llm_model": "gpt", "llm_base_url": "http://127.0.0.1:9"}, ModelNotConfigured, "local:PATH"),
    ],
)
def test_a_model_that_can_have_none_is_a_clear_error(tmp_path, tiny_long, clock, told, error, words):
    model = tiny_long.with_suffix(".gguf") if "local_runtime" in told else tiny_long
    settings = settings_of(model, **told)
    with memoryos.open(tmp_path / "m.db", user="ann", settings=settings, clock=clock) as memory:
        memory.add("I live in Oslo.")
        with pytest.raises(error, match=words):
            memory.respond(QUESTION)
        with pytest.raises(error, match=words):
            "".join(memory.respond_stream(QUESTION))
        memory.wait()
        assert len(memory.pages.list()) == 1  # no exchange was stored


def test_the_bench_tells_how_often_it_is_found(endless):
    words = "bench watermark --texts 2 --tokens 80 --tokens 120 --temperature 1 --keys 1"
    done = CliRunner().invoke(app, [*words.split(), "--model", f"local:{endless}", "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)["report"]
    short, long = report["rows"]
    assert (short["tokens"], short["marked"], short["plain"], short["accused"]) == (80, 2, 2, 0)
    assert (long["tokens"], long["found"]) == (120, 2)
    assert long["middle_z"] > 4 > long["highest_z"]
    plain, marked = report["nats"]["1.0"]
    assert 0 < plain < marked
