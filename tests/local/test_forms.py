"""Memories change their form: text, KV states, adapters, and back."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import memoryos
from local.lessons import ANY, FACT, NAME, add, teach
from memoryos import FormOutcome, FormState, MemoryForm, MemoryOS, MoveReason, Settings
from memoryos.errors import InvalidInput, ModelError, ModelNotConfigured, NotFound
from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.interface.cli.app import app
from memoryos.kinds import Origin
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.operation.training.adapter_gate import GateBounds
from memoryos.operation.training.adapter_trainer import AdapterTrainer
from memoryos.operation.training.wanted_adapter import WantedAdapter, want, wanted_adapters
from served import serving

QUICK = TrainingRecipe(rank=2, alpha=4, epochs=1, replay=0.0)
TEXT, KV, ADAPTER = MemoryForm.TEXT, MemoryForm.KV, MemoryForm.ADAPTER


def kinds_done(memory) -> list[str]:
    return [job.kind for job in memory.jobs.list() if job.state is JobState.DONE]


def test_text_becomes_kv_and_goes_back_and_forth(opened, tiny_long):
    memory = opened(tiny_long)
    fact = add(memory)
    done = memory.forms.transform("me", kinds=["fact"])
    assert (done.source, done.target) == (TEXT, KV)
    memory.wait()
    assert done.job in [job.id for job in memory.jobs.list() if job.kind == JobKind.ACTIVATE]
    (kv,) = memory.forms.list()
    assert (kv.form, kv.name, kv.sources, kv.told) == (KV, "me", (fact,), ())
    assert memory.forms.list(memory_id=fact) == [kv]  # and from the text to its other forms
    assert memory.forms.list(memory_id="another") == []

    text = memory.forms.transform("me", KV, TEXT)
    assert (text.ids, text.job) == ((fact,), None)
    assert [memory.get(one).text for one in text.ids] == [FACT]
    assert memory.activations.get("me").is_usable  # it was read and not removed

    for _ in range(2):  # again: nothing is left to do
        gone = memory.forms.transform("me", "kv", "text", keeps=False)
        memory.wait()
        assert gone.job in [job.id for job in memory.jobs.list()]
    assert memory.forms.list() == []
    assert not memory.activations.get("me").is_usable
    assert memory.get(fact).text == FACT

    memory.forms.transform("me")  # made again of what it was made of
    memory.wait()
    (again,) = memory.forms.list()
    assert (again.sources, again.id == kv.id) == ((fact,), False)


def test_an_adapter_tells_what_it_knows_and_goes_back_to_its_sources(opened, learned):
    memory = opened()
    fact = add(memory)
    adapter = teach(memory, learned, [fact])
    told = memory.forms.transform(NAME, ADAPTER, TEXT)
    memory.wait()
    assert told.ids == (fact,)
    assert JobKind.TRANSFORM in kinds_done(memory)
    (before,) = memory.forms.list()
    assert (before.id, before.form, before.sources, before.told) == (adapter, ADAPTER, (fact,), ())  # known already

    memory.facts.add("User likes tea.")  # what it tells is then new
    gone = memory.forms.transform(NAME, ADAPTER, TEXT, keeps=False)
    memory.wait()
    assert (gone.ids, memory.get(fact).text) == ((fact,), FACT)
    (status,) = memory.adapters.list()
    assert (status.versions, status.is_withdrawn, status.weight) == ((), True, None)
    assert memory.forms.list() == []


def test_what_an_adapter_told_is_linked_and_of_low_trust(opened, learned, monkeypatch):
    memory = opened()
    adapter = teach(memory, learned, [add(memory, "Alice's aunt collects stamps.")])
    says = "Alice's aunt collects old stamps."  # what the tiny model would not say by itself
    monkeypatch.setattr("memoryos.operation.training.recollection.answer", lambda *_: says)
    memory.forms.transform(NAME, ADAPTER, TEXT)
    memory.wait()
    (made,) = memory.forms.list()
    (told,) = made.told
    assert memory.get(told).descriptive.origin is Origin.FINETUNING
    assert memory.get(told).payload.confidence == 0.3
    assert memory.forms.list(memory_id=told) == [made]
    assert made.id == adapter
    memory.delete(told)  # and this takes it back
    assert memory.forms.list()[0].told == ()


def test_text_becomes_an_adapter_again_as_it_was_wanted(opened, learned):
    memory = opened()
    fact = add(memory)
    teach(memory, learned, [fact])
    with memory._engine.vault.write(memory.scope) as writer:
        want(writer, WantedAdapter(NAME, ["fact"], [fact], recipe=QUICK, bounds=ANY, last=1))
    memory.forms.transform(NAME, ADAPTER, TEXT, keeps=False)
    memory.wait()
    done = memory.forms.transform(NAME, TEXT, ADAPTER)
    assert done.target is ADAPTER
    with memory._engine.vault.read(memory.scope) as reader:
        again = wanted_adapters(reader)[NAME]
    assert (again.kinds, again.ids, again.recipe, again.bounds) == (["fact"], [fact], QUICK, ANY)
    assert not again.is_withdrawn
    memory.wait()
    assert memory.adapters.get(NAME).used == 2
    assert [one.sources for one in memory.forms.list()] == [(fact,)]


def test_an_adapter_that_was_trained_on_the_memories_of_now_is_not_trained_again(opened, learned):
    memory = opened()
    fact = add(memory)
    teach(memory, learned, [fact])
    assert memory.forms.transform(NAME, TEXT, ADAPTER).job is None
    assert memory.forms.transform(NAME, TEXT, ADAPTER, kinds=["fact"]).job is None
    memory.wait()
    assert [one.number for one in memory.adapters.get(NAME).versions] == [1]
    assert memory.forms.outcome(NAME, TEXT, ADAPTER).state is FormState.DONE
    with memory._engine.vault.write(memory.scope) as writer:
        want(writer, WantedAdapter(NAME, ["fact"], recipe=QUICK, bounds=ANY, last=1))
    memory.facts.add("User loves tea.")
    memory.forms.transform(NAME, TEXT, ADAPTER)  # there is more to learn
    memory.wait()
    assert [one.number for one in memory.adapters.get(NAME).versions] == [1, 2]


def test_what_is_cold_goes_back_to_text(opened, learned, tiny_long, clock):
    memory = opened(tiny_long)
    fact = add(memory)
    memory.forms.transform("me", kinds=["fact"])
    memory.wait()
    teach(memory, learned, [fact])
    teach(memory, learned, [fact], "used")
    memory.adapters.load("used")
    assert list(memory.forms.cool()) == []
    clock.advance(days=15)
    assert {move.reason for move in memory.schedule.moves()} == {MoveReason.COLD}
    cooled = memory.forms.cool()
    memory.wait()
    assert [(one.name, one.source, one.ids) for one in cooled] == [(NAME, ADAPTER, (fact,)), ("me", KV, (fact,))]
    assert [one.name for one in memory.forms.list()] == ["used"]
    assert memory.get(fact).text == FACT
    told = [(one.name, one.before, one.after, one.reason, one.plan) for one in memory.schedule.explain("Tea?").forms]
    assert told == [("me", KV, TEXT, MoveReason.COLD, None), (NAME, ADAPTER, TEXT, MoveReason.COLD, None)]
    assert {one.grounds.unused_days for one in memory.schedule.explain("Tea?").forms} == {15}


def test_what_cannot_be_transformed_is_named(opened, tmp_path):
    memory = opened()
    for source, target in ((TEXT, TEXT), (KV, ADAPTER), ("mist", TEXT)):
        with pytest.raises(InvalidInput):
            memory.forms.transform("me", source, target)
    for source in (KV, ADAPTER):
        with pytest.raises(NotFound):
            memory.forms.transform("me", source, TEXT)
    with pytest.raises(InvalidInput, match="keeps"):
        memory.forms.transform("me", KV, TEXT, keeps="no")
    assert memory.jobs.list() == []
    assert list(memory.forms.cool()) == []
    bare = memoryos.open(tmp_path / "bare.db", user="alice")
    with bare, pytest.raises(ModelNotConfigured):
        bare.forms.transform("me", TEXT, ADAPTER)


def test_the_commands_transform_and_list(opened, tiny_long, tmp_path, monkeypatch):
    memory = opened(tiny_long)
    fact = add(memory, "User lives in 卑尔根.")
    memory.close()
    monkeypatch.setenv("MEMORYOS_LLM_MODEL", f"local:{tiny_long}")
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")

    def says(*words: str) -> str:
        done = CliRunner().invoke(app, [*words, "--db", str(tmp_path / "m.db"), "--user", "alice"])
        assert done.exit_code == 0, done.output
        return done.output

    assert "me: text to kv" in says("transform", "me", "--kind", "fact")  # the same command under its short name
    assert "kv me" in says("forms", "list", "--id", fact)
    assert fact in says("forms", "transform", "me", "--from", "kv", "--to", "text")
    removed = says("forms", "transform", "me", "--from", "kv", "--to", "text", "--remove", "--json")
    (done,) = json.loads(removed)["transformations"]
    assert (done["source"], done["ids"]) == ("kv", [fact])
    assert "There are no KV states" in says("forms", "list")
    assert "Nothing is cold." in says("forms", "cool")


def test_what_came_of_a_change_is_told(opened, tiny_long, learned, monkeypatch, tmp_path):
    memory = opened(tiny_long)
    add(memory)
    state = memory.forms.outcome

    memory.forms.transform("me", kinds=["fact"])
    assert state("me").state in (FormState.WAITING, FormState.DONE)
    memory.wait()
    assert (state("me").state, state("me").reason) == (FormState.DONE, "")
    unasked = (FormState.UNKNOWN, "no job did it: nobody asked for it, or nothing was to be done, or that was long ago")
    assert (state("me", "kv", "text").state, state("me", "kv", "text").reason) == unasked
    memory.forms.transform("me", "kv", "text", keeps=False)
    memory.wait()
    assert state("me", "kv", "text").state is FormState.DONE
    assert (state("me").state, "no KV state" in state("me").reason) == (FormState.FAILED, True)

    with monkeypatch.context() as patch:
        patch.setattr("memoryos.models.local.transformers_engine.TransformersEngine.prefill", fails)
        memory.forms.transform("me")
        memory.wait()
        assert state("me").state is FormState.FAILED
        assert state("me").reason == "ModelError: no more memory; it is tried again"
    memory.forms.transform("me")  # asked for again, it does not wait for the job's delay
    memory.wait()
    assert state("me").state is FormState.DONE
    with monkeypatch.context() as patch:
        patch.setattr(AdapterTrainer, "train", fails)
        memory.forms.transform(NAME, TEXT, ADAPTER, kinds=["fact"])
        memory.wait()
        assert state(NAME, TEXT, ADAPTER).reason == "ModelError: no more memory; it is tried again"

    teach(memory, learned, [memory.facts.list()[0].id])
    memory.adapters.withdraw(NAME)
    assert state(NAME, TEXT, ADAPTER).reason == "the adapter was withdrawn"
    memory.adapters.load(NAME)
    assert state(NAME, TEXT, ADAPTER).state is FormState.DONE
    assert state(NAME, ADAPTER, TEXT).state is FormState.UNKNOWN
    for file in (tmp_path / "m.db.objects").iterdir():
        file.unlink()
    memory.forms.transform(NAME, ADAPTER, TEXT)
    memory.wait()
    assert state(NAME, ADAPTER, TEXT).state is FormState.FAILED
    assert "is missing" in state(NAME, ADAPTER, TEXT).reason

    memory.forms.transform("nothing", TEXT, ADAPTER, kinds=["page"])
    memory.wait()
    assert state("nothing", TEXT, ADAPTER) == FormOutcome(
        "nothing", TEXT, ADAPTER, FormState.FAILED, "there is no memory that can be trained"
    )
    with pytest.raises(NotFound):
        state("never")
    with pytest.raises(InvalidInput):
        state("me", KV, ADAPTER)


def fails(*_: object, **__: object) -> None:
    raise ModelError("no more memory")


def test_the_command_says_what_was_not_done_and_why(opened, tiny_long, tmp_path, monkeypatch):
    memory = opened(tiny_long)
    add(memory)
    strict = GateBounds(least_recall=1.0, most_loss=1e9, most_questions=1)
    with memory._engine.vault.write(memory.scope) as writer:
        want(writer, WantedAdapter(NAME, ["fact"], recipe=QUICK, bounds=strict))
    memory.close()  # the command trains it by the same bounds
    monkeypatch.setenv("MEMORYOS_LLM_MODEL", f"local:{tiny_long}")
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")

    def says(*words: str, verb: str = "transform") -> str:
        done = CliRunner().invoke(app, ["forms", verb, *words, "--db", str(tmp_path / "m.db"), "--user", "alice"])
        assert (done.exit_code, isinstance(done.exception, SystemExit)) == (1, True), done.exception
        return done.stdout

    assert "home: text to adapter, 0 memories, refused: " in says(NAME, "--to", "adapter")
    (told,) = json.loads(says(NAME, "--to", "adapter", "--json", verb="outcome"))["transformations"]
    assert (told["name"], told["state"]) == (NAME, "refused")
    assert "questions that were not trained" in told["reason"]
    monkeypatch.setenv("MEMORYOS_LOCAL_WINDOW", "64")
    (told,) = json.loads(says("me", "--kind", "fact", "--json"))["transformations"]
    assert (told["state"], told["job"] is None) == ("failed", False)
    assert "PromptTooLong" in told["reason"]


def test_a_transformation_is_audited(tmp_path, tiny_long, clock):
    settings = Settings(llm_model=f"local:{tiny_long}", embedder="hashing", audit=True)
    with MemoryOS.open(tmp_path / "a.db", settings=settings, clock=clock) as store:
        memory = store.memory("alice", caller=memoryos.Caller("ann"))
        add(memory)
        memory.forms.transform("me", kinds=["fact"])
        memory.wait()
        memory.forms.transform("me", KV, TEXT, keeps=False)
        memory.wait()
        told = [(entry.caller, entry.operation) for entry in store.audit.list()]
        assert ("ann", "forms.transform") in told


def test_the_three_forms_and_the_scheduler_over_http(tmp_path, tiny_long, learned, clock):
    settings = Settings(llm_model=f"local:{tiny_long}", embedder="hashing", llm_max_tokens=4)
    with MemoryOS.open(tmp_path / "h.db", settings=settings, clock=clock) as store, serving(store) as api:
        memory = store.memory("ann")
        fact = add(memory)
        teach(memory, learned, [fact])
        made = api.ask("POST", "/activations", {"name": "me", "kinds": ["fact"]})
        assert (made.status_code, set(made.json())) == (201, {"job"})
        assert api.ask("POST", "/wait", {}).status_code == 204
        (listed,) = api("GET", "/activations")["items"]
        assert (listed["sources"], listed["is_usable"]) == ([fact], True)
        assert api("GET", "/activations/me")["id"] == listed["id"]
        told = api("POST", "/activation-answers", {"name": "me", "query": "Where?"})
        assert (told["is_from_state"], told["reason"]) == (True, "")

        use = {"name": NAME}
        assert api("POST", "/adapter-use/load", {**use, "weight": 0.5})["weight"] == 0.5
        assert api("POST", "/adapter-answers", {"question": "Where am I living?", "limit": 4})["used"] == [NAME]
        assert api("POST", "/adapter-use/unload", use)["weight"] is None
        assert api("POST", "/adapter-use/rollback", {**use, "number": 1})["used"] == 1
        assert api("POST", "/adapter-use/recollect", use)["asked"] == 1
        assert [one["name"] for one in api("GET", "/adapters")["items"]] == [NAME]
        assert api.ask("POST", "/adapters", {"name": "x", "kinds": ["trait"]}).json()["field"] == "kinds"
        assert api("POST", "/adapter-use/withdraw", use)["is_withdrawn"]

        plan = api("POST", "/schedule/explain", {"query": "Where?", "tokens": 100, "priorities": {"urgent": 5}})
        assert plan["policy"] == "density"
        assert api("POST", "/schedule/decide", {"query": "Where?"})["chosen"]
        assert [one["number"] for one in api("GET", "/schedule/log", limit=5)["items"]] == [1]
        assert api("GET", "/schedule/moves")["items"] == []

        assert {one["form"] for one in api("GET", "/forms")["items"]} == {"kv", "adapter"}
        turned = api("POST", "/transformations", {"name": "me", "source": "kv", "target": "text"})
        assert (turned["ids"], turned["job"]) == ([fact], None)
        assert api("GET", "/transformations/me", source="kv", target="text")["state"] == "unknown"  # it needs no job
        assert api("GET", f"/transformations/{NAME}", source="text", target="adapter") == {
            "name": NAME,
            "source": "text",
            "target": "adapter",
            "state": "failed",
            "reason": "the adapter was withdrawn",
        }
        assert api("POST", "/transformations/cold", {})["items"] == []
        assert [one["id"] for one in api("POST", "/adapter-use/retire", use)["items"]] == [fact]
        assert api.ask("GET", f"/adapters/{NAME}").status_code == 404
        assert api.ask("DELETE", "/activations/me").status_code == 204
        assert api("GET", "/forms")["items"] == []
