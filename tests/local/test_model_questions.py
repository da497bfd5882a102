"""Questions that a chat model writes for a training: asked once, kept with the checkpoint, gone with their sources."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

import memoryos
from attack.raw import files_with
from generation.scripted_model import Reply, ScriptedModel, says, scripted_model
from local.lessons import ANY, FACT, NAME, RECIPE, Opened, add
from memoryos import Memory, Settings
from memoryos.built_memory import AdapterStage, QuestionOrigin
from memoryos.caller import SYSTEM, acting
from memoryos.errors import InvalidInput, LeaseLost, ModelError, ModelUnavailable
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.interface.cli.app import app
from memoryos.models.chat import OpenAIChat
from memoryos.operation.training.adapter_cubes import AdapterShelf
from memoryos.operation.training.checkpoint import Checkpoint
from memoryos.operation.training.wanted_adapter import change_wanted, wanted_adapters

TEA = "User drinks tea."
QUICK = replace(RECIPE, epochs=3, batch=64)
MARK = "zanzibar"  # a word that only the model writes
ABOUT_HOME = says(json.dumps({"questions": [f"Which {MARK} is home to me?", "In what town am I based?"]}))
ABOUT_TEA = says(json.dumps({"questions": ["What is in my cup?", "Which drink is mine?"]}))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


@pytest.fixture
def asking(model, tiny, tmp_path, clock, monkeypatch) -> Iterator[Opened]:
    """Open memories whose chat model is the scripted one, beside the local model that is trained.

    No job runs by itself, and the gate asks one question.
    """
    monkeypatch.setattr("memoryos.operation.training.adapter_trainer.MOST_ASKED", 1)
    with ExitStack() as stores:

        def opens(place: Path = tmp_path / "m.db", **more) -> Memory:
            served = Settings(llm_model="scripted", llm_base_url=model.url, llm_api_key="sk-test", llm_retries=0)
            settings = Settings(llm_model=f"local:{tiny}", embedder="hashing", jobs="worker", **more)
            chat = OpenAIChat(served, quoting=False)
            return stores.enter_context(memoryos.open(place, user="alice", settings=settings, clock=clock, chat=chat))

        yield opens


def train(memory: Memory) -> None:
    memory.adapters.train(NAME, recipe=QUICK, bounds=ANY, questions="model")


def run(memory: Memory, parts: int = 1, act: Callable[[], object] | None = None) -> None:
    """Run the job that trains, until it asked so many times whether it goes on; `act` is called when it first asks."""
    asked, acts = count(1), [act] if act else []

    def goes_on() -> bool:
        if acts:
            acting(SYSTEM, acts.pop())
        return next(asked) < parts

    with lease(memory) as leased:
        job = memory._engine.job_types.handlers[JobKind.TRAIN]
        acting(SYSTEM, lambda: job.run(memory.scope, leased, goes_on))


@contextmanager
def lease(memory: Memory) -> Iterator[list[Job]]:
    """The job that trains, leased. One of another kind that is due waits, as while another worker has it."""
    vault = memory._engine.vault
    with vault.write(memory.scope) as writer:
        while (leased := writer.lease(lasting=timedelta(minutes=1)))[0].kind != JobKind.TRAIN:
            writer.fail(leased[0], "", retry_at=memory._engine.clock() + timedelta(days=1))
    try:
        yield leased
    finally:
        with vault.write(memory.scope) as writer, suppress(LeaseLost):  # if it is not finished
            writer.release(leased[0])


def checkpoint(memory: Memory) -> tuple[int, int, str]:
    """The steps that were taken, the questions of the model, and the digest of the bytes."""
    (one,) = memory.adapters.get(NAME).versions
    assert one.stage is AdapterStage.TRAINING
    cube = memory.get(one.id)
    kept = AdapterShelf(memory._engine.vault, memory.scope, memory._engine.clock).read(cube)
    return one.step, sum(map(len, Checkpoint.of(kept).written.values())), cube.payload.blob.sha256


def test_questions_are_asked_once_and_a_killed_training_goes_on_with_the_same_bytes(asking, model, tmp_path):
    memory = asking()
    add(memory)
    add(memory, TEA)
    train(memory)
    model.will(ABOUT_HOME, Reply(status=503), ABOUT_TEA)
    with pytest.raises(ModelUnavailable):
        run(memory, 9)  # the second sentence fails: what was written about the first one is kept
    assert checkpoint(memory)[:2] == (0, 2)
    memory.close()  # as after a kill: nothing but the checkpoint is left
    memory = asking()
    run(memory, 9)
    assert [FACT in model.prompt, TEA in model.prompt] == [False, True]
    assert checkpoint(memory)[:2] == (0, 4)
    memory.close()
    for kept in tmp_path.glob("m.db*"):
        copy = tmp_path / "copy" / kept.name
        copy.parent.mkdir(exist_ok=True)
        shutil.copytree(kept, copy) if kept.is_dir() else shutil.copy(kept, copy)
    memory = asking()
    run(memory)
    memory.close()
    memory = asking()
    run(memory)
    whole = asking(tmp_path / "copy" / "m.db")
    run(whole, 2)
    assert checkpoint(memory)[:2] == (2, 4)
    assert checkpoint(memory) == checkpoint(whole)
    run(memory, 9)
    (ready,) = memory.adapters.get(NAME).versions
    assert (ready.stage, len(ready.sources), len(model.requests)) == (AdapterStage.READY, 2, 3)
    assert sum(one.calls for one in memory.log.usage() if one.purpose == "questions") == 3
    whole.adapters.delete(NAME)
    assert files_with(tmp_path, MARK) == []  # only a checkpoint has the questions


@pytest.mark.parametrize("how", ["delete", "erase", "update"])
def test_the_questions_of_a_model_go_with_their_source(asking, model, tmp_path, how):
    memory = asking()
    home = add(memory)
    add(memory, TEA)
    train(memory)
    model.will(ABOUT_HOME)
    run(memory)
    assert len(files_with(tmp_path, MARK)) == 1  # the checkpoint, and neither the file of the store nor its log
    if how == "delete":
        memory.delete(home)
    elif how == "erase":
        memory.governance.erase(home)
    else:
        memory.update(home, "User lives in Rome.")
    assert memory.adapters.get(NAME).versions == ()
    assert files_with(tmp_path, MARK) == []


def test_a_sentence_that_was_erased_meanwhile_is_shown_to_no_model(asking, model, tmp_path):
    memory = asking()
    add(memory)
    tea = add(memory, TEA)
    train(memory)
    model.will(ABOUT_HOME)
    run(memory, 9, lambda: memory.governance.erase(tea))
    assert (len(model.requests), memory.adapters.get(NAME).versions, files_with(tmp_path, MARK)) == (1, (), [])


def test_questions_expire_with_their_source(asking, model, tmp_path, clock):
    memory = asking()
    memory.facts.add(FACT, ttl=60)
    add(memory, TEA)
    train(memory)
    model.will(ABOUT_HOME, ABOUT_TEA)
    run(memory)
    clock.advance(minutes=2)
    run(memory)
    assert [FACT in model.prompt, len(model.requests)] == [False, 2]
    assert files_with(tmp_path, MARK) == []


def test_the_model_sees_what_may_be_read_alone_and_an_encrypted_store_hides_what_it_wrote(asking, model, tmp_path):
    pytest.importorskip("sqlcipher3")
    memory = asking(privacy_on_read="mask", encryption_key="k" * 40)
    add(memory, "User's e-mail is ann@example.com.")
    train(memory)
    model.will(ABOUT_HOME)
    run(memory)
    assert "sentence: User's e-mail is [email].\nanswer: [email]\n" in model.prompt
    assert "ann" not in str(model.requests)
    assert checkpoint(memory)[1] == 2
    assert files_with(tmp_path, MARK) == []


@pytest.mark.parametrize("texts", [["User's e-mail is ann@example.com."], ["User's e-mail is ann@example.com.", TEA]])
def test_questions_about_words_that_may_be_read_no_longer_go(asking, model, tmp_path, texts):
    memory = asking()
    for text in texts:
        add(memory, text)
    train(memory)
    model.will(*[ABOUT_HOME, ABOUT_TEA][: len(texts)])
    run(memory, 9)
    assert checkpoint(memory)[1] == 2 * len(texts)
    memory.close()
    memory = asking(privacy_on_read="mask")
    model.will(Reply(status=401))
    with pytest.raises(ModelError):
        run(memory)
    assert checkpoint(memory)[1] == 2 * len(texts) - 2
    assert files_with(tmp_path, MARK) == []


def test_a_checkpoint_of_an_older_program_goes_on_without_questions(asking, model):
    memory = asking()
    add(memory)
    memory.adapters.train(NAME, recipe=QUICK, bounds=ANY)
    run(memory)
    with memory._engine.vault.write(memory.scope) as writer:
        change_wanted(writer, NAME, questions=QuestionOrigin.MODEL)
    run(memory)
    assert checkpoint(memory)[:2] == (2, 0)
    assert model.requests == []


def test_replies_that_cannot_be_used_leave_the_templates(asking, model):
    memory = asking()
    add(memory)
    train(memory)
    model.will(says("I would rather not."), says("No."))
    run(memory)
    run(memory)
    assert checkpoint(memory)[:2] == (1, 0)
    assert len(model.requests) == 2


REFUSED = Reply(body='{"error": {"message": "filtered", "code": "content_filter"}}', status=400)


def test_a_refused_prompt_leaves_the_templates_and_a_wrong_key_has_the_sentence_asked_again(asking, model):
    memory = asking()
    add(memory)
    add(memory, TEA)
    train(memory)
    model.will(REFUSED, Reply(status=401), ABOUT_TEA)
    with pytest.raises(ModelError, match="401"):
        run(memory, 9)
    run(memory, 9)
    assert [FACT in model.prompt, TEA in model.prompt] == [False, True]
    assert (checkpoint(memory)[:2], len(model.requests)) == ((0, 2), 3)


def test_the_command_says_who_words_the_questions(opened, tiny, tmp_path, monkeypatch):
    memory = opened()
    with pytest.raises(InvalidInput, match="questions: 'people' is unknown"):
        memory.adapters.train(NAME, questions="people")
    memory.close()
    monkeypatch.setenv("MEMORYOS_LLM_MODEL", f"local:{tiny}")
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")
    words = ["adapters", "train", NAME, "--db", str(tmp_path / "m.db"), "--user", "alice", "--questions"]
    assert CliRunner().invoke(app, [*words, "people"]).exit_code == 2
    assert CliRunner().invoke(app, [*words, "model"]).exit_code == 0
    memory = opened()
    with memory._engine.vault.read(memory.scope) as reader:
        assert wanted_adapters(reader)[NAME].questions is QuestionOrigin.MODEL
