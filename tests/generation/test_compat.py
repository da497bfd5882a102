"""Memoryos: the public code's class over this engine, and its data folders."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from memoryos import Memoryos
from memoryos.compat import DATABASE
from memoryos.errors import InvalidInput, ModelError

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


def said(memory):
    return [turn.text for cube in memory.memory.pages() for turn in cube.payload.turns]


def test_add_ask_and_look(open_memory, model):
    memory = open_memory()
    memory.add_memory(
        "My parrot is called Kiwi.", "Hello Kiwi!", timestamp="2024-05-06 07:08:09", meta_data={"mood": "good"}
    )
    model.will(says("Kiwi."))
    answer = memory.get_response("My parrot?", relationship_with_user="sailor", style_hint="like a pirate")
    assert answer == "Kiwi."
    assert "sailor" in model.prompt
    assert "like a pirate" in model.prompt
    assert memory.get_memory_stats() == {
        "user_id": "tom",
        "short_term_count": 2,
        "mid_term_sessions_count": 0,
        "has_user_profile": False,
        "assistant_knowledge_count": 0,
    }
    stored = memory.memory.pages()[0]
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
    assert [entry["user_input"] for entry in found["retrieved_pages"]] == ["My parrot is called Kiwi."]


def test_an_outage_is_an_error_and_leaves_no_trace(open_memory, model):
    memory = open_memory()
    model.will(*[Reply(status=500)] * 3)
    with pytest.raises(ModelError):
        memory.get_response("Hello?")
    assert said(memory) == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"embedding_model_name": "bge-m3"}, "embedding_model_name"),
        ({"embedding_model_kwargs": {"use_fp16": True}}, "embedding_model_kwargs"),
        ({"short_term_capacity": 0}, "short_term_capacity"),
    ],
)
def test_what_cannot_be_honoured_is_refused(open_memory, arguments, field):
    with pytest.raises(InvalidInput, match=field):
        open_memory(**arguments)


def test_an_unknown_argument_is_refused(open_memory):
    with pytest.raises(TypeError):
        open_memory(short_term_capasity=3)


@pytest.mark.parametrize("timestamp", ["yesterday", "2024-13-01 00:00:00"])
def test_an_unreadable_timestamp_is_refused(open_memory, timestamp):
    memory = open_memory()
    with pytest.raises(InvalidInput, match="timestamp"):
        memory.add_memory("Hi", "Hi", timestamp=timestamp)
    assert said(memory) == []


def test_a_user_id_is_no_path(open_memory, tmp_path):
    memory = open_memory(user="../../evil")
    memory.add_memory("Hi", "Hello")
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


def test_a_folder_of_the_public_code_is_imported_whole_and_each_page_once(open_memory, legacy):
    memory = open_memory()
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
    memory.memory.delete(memory.memory.pages()[0].id)
    memory.close()
    assert "My parrot is called Kiwi." not in said(open_memory())


def test_shared_assistant_knowledge_is_left_out(open_memory, legacy):
    write(legacy / "users" / "ann" / "short_term.json", [page(9, "Hi, I am Ann.")])
    assert open_memory("tom").get_assistant_knowledge_summary() == []


def test_a_damaged_folder_is_an_error_and_imports_whole_once_repaired(open_memory, legacy):
    path = legacy / "users" / "tom" / "mid_term.json"
    whole = path.read_text("utf-8")
    path.write_text(whole[: len(whole) // 2], "utf-8")
    with pytest.raises(InvalidInput, match="mid_term"):
        open_memory()
    path.write_text(whole, "utf-8")
    assert "My parrot is called Kiwi." in said(open_memory())
