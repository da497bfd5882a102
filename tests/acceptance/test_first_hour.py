"""The first hour: what a new user does, through the public API and the command, on the embedded default."""

from __future__ import annotations

import asyncio
import io
import json
import pickle
import time

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import forked
import memoryos
from memoryos import AsyncMemoryOS, Attachment, Memory, MemoryOS, Origin
from memoryos.errors import StillRunning

PICTURE = "data:image/png;base64,aGVsbG8gY2F0"


@pytest.fixture
def store(tmp_path):
    with MemoryOS.open(tmp_path / "memory.db") as store:
        yield store


@pytest.fixture
def memory(store) -> Memory:
    return store.memory("bob")


@pytest.fixture
def run(tmp_path):
    def call(*arguments):
        return forked.memoryos(*arguments, cwd=tmp_path, COLUMNS="160")

    return call


def document(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def profile_of(memory: Memory) -> str:
    return " ".join(cube.text for cube in memory.profile.get().user.profile)


# What people pass in


def test_messages_of_a_chat_api_go_in_as_they_are(memory):
    call = {"id": "1", "type": "function", "function": {"name": "book", "arguments": '{"to": "Bergen"}'}}
    ids = memory.add(
        [
            {"role": "system", "content": "You are a travel agent."},
            {"role": "user", "content": [{"type": "text", "text": "Book me a train to Bergen."}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "Booked for Friday, 9:05."},
            {"role": "assistant", "content": "Your train leaves on Friday at 9:05."},
        ]
    )
    assert len(ids) == 1
    page = memory.get(ids[0])
    assert "Booked for Friday" in page.text
    assert memory.search("When does the train leave?").hits[0].id == ids[0]


def test_a_picture_is_kept_with_its_message(memory):
    page = memory.add("Look at my cat!", attachments=[Attachment(caption="a cat", uri=PICTURE)])
    [file] = memory.pages.attachments(page)
    assert memory.pages.attachment(page, file.id).data == b"hello cat"


def test_a_document_keeps_its_title_and_source(memory):
    text = "\n\n".join(f"Valve number {number} opens at {number * 10} degrees." for number in range(1, 60))
    memory.add(text, title="Boiler handbook", source="https://example.org/boiler.pdf")
    context = memory.context("When does valve 42 open?", tokens=200).text
    assert "420 degrees" in context
    assert "Boiler handbook" in context


def test_tags_metadata_days_and_an_end(memory):
    garden = memory.add("The apple tree needs water.", tags=["garden", "todo"], metadata={"place": "north"})
    memory.add("The report needs a title.", tags=["work", "todo"], metadata={"place": "desk"}, at="2024-01-01")
    gone = memory.add("The kettle needs cleaning.", tags=["todo"], ttl=0.3)
    time.sleep(0.4)
    found = {
        "any": memory.search("What needs work?", filters={"any_tags": ["garden", "sea"]}),
        "none": memory.search("What needs work?", filters={"no_tags": ["work"]}),
        "metadata": memory.search("What needs work?", filters={"metadata": {"place": "north"}}),
        "day": memory.search("What needs work?", since="2024-01-02"),
    }
    assert {name: [hit.id for hit in result.hits] for name, result in found.items()} == {
        name: [garden] for name in found
    }
    assert gone not in [hit.id for hit in memory.search("What needs work?", tags=["todo"]).hits]
    assert memory.pages.count(filters={"no_tags": ["work"]}) == memory.pages.count() - 1


def test_a_store_in_memory():
    with memoryos.open(":memory:", user="bob") as memory:
        memory.add("I keep bees.")
        assert memory.search("bees").hits


# What people get out


def test_every_value_is_json_pickles_and_is_returned_from_a_web_handler(memory):
    memory.add("My name is Bob, I live in Oslo and I'm a plumber.", "Hello!")
    memory.wait()
    values = [
        memory.search("Oslo"),
        memory.context("Oslo"),
        memory.profile.get(),
        memory.stats(),
        memory.pages.list()[0],
    ]
    app = FastAPI()
    for number, value in enumerate(values):
        assert json.loads(value.to_json()) == json.loads(json.dumps(value.to_dict()))
        assert pickle.loads(pickle.dumps(value)) == value
        app.get(f"/{number}")(lambda value=value: value)
    client = TestClient(app)
    assert all(client.get(f"/{number}").status_code == 200 for number in range(len(values)))


def test_a_hit_tells_how_relevant_it_is_and_where_it_is_from(memory):
    page = memory.add("My sailing boat is called Aurora.")
    memory.add("The tax office lost my letter.")
    best = memory.search("What is my sailing boat called?", explain=True).ranked[0]
    assert (best.id, best.relevance > 0.9, best.cube.descriptive.origin) == (page, True, Origin.USER_INPUT)
    assert best.parts
    assert memory.search("Which dentist repaired my broken tooth?", min_score=0.5).ranked == ()
    memory.add("My name is Bob.")
    memory.wait()
    (name,) = memory.profile.get().user.profile
    assert [memory.get(source).text for source in name.descriptive.provenance] == ["user: My name is Bob."]


def test_lists_go_on_where_they_ended(memory):
    ids = [memory.add(f"Note {number}.") for number in range(5)]
    found, cursor = [], None
    while True:
        some = memory.pages.list(limit=2, cursor=cursor)
        found += [page.id for page in some]
        if (cursor := some.cursor) is None:
            break
    assert found == ids
    assert memory.pages.count() == 5


def test_a_memory_is_corrected_and_deleted(memory):
    page = memory.add("I live in Oslo.")
    memory.update(page, "I live in Bergen.")
    assert [version.text for version in memory.history(page)] == ["user: I live in Oslo.", "user: I live in Bergen."]
    fact = memory.facts.add("likes jazz")
    memory.delete(fact)
    memory.delete(page)
    assert memory.pages.count() == memory.facts.count() == 0


# Whole people


def test_a_person_is_exported_forgotten_and_brought_back(store, memory, tmp_path):
    memory.add("My name is Bob, I live in Oslo and I'm a plumber.", "Hello!")
    store.memory("bob", agent="coder").add("Use tabs.", "I will.")
    store.wait()
    stream = io.StringIO()
    exported = store.admin.export(stream, user="bob")
    (tmp_path / "bob.jsonl").write_text(stream.getvalue(), "utf-8")
    forgotten = store.admin.forget("bob")
    assert forgotten.is_complete
    assert dict(forgotten.memories) == dict(exported.memories)
    assert b"plumber" not in b"".join(path.read_bytes() for path in tmp_path.glob("memory.db*") if path.is_file())
    assert memory.pages.list() == []
    assert dict(store.admin.load(tmp_path / "bob.jsonl").memories) == dict(exported.memories)
    assert "Oslo" in profile_of(memory)


def test_the_command_does_the_same(run):
    assert run("add", "I keep bees behind the old mill.", "--user", "bob").returncode == 0
    assert "bees" in document(run("search", "bees", "--user", "bob", "--json"))["hits"][0]["text"]
    assert document(run("export", "bob.jsonl", "--user", "bob", "--json"))["memories"]["page"] == 1
    assert document(run("forget", "--user", "bob", "--yes", "--json"))["is_complete"] is True
    assert document(run("import", "export", "bob.jsonl", "--json"))["memories"]["page"] == 1
    usage = run("add", "--json", "--no-such-option")
    assert usage.returncode == 2
    assert json.loads(usage.stdout)["error"]["type"] == "UsageError"
    assert "In this store: bob" in run("show", "--user", "nobody").stdout


def test_lists_corrections_and_deletion_by_command(tmp_path):
    def run(*arguments):
        done = forked.memoryos(*arguments, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    page = run("add", "My name is Bob and I live in Oslo.", "--user", "bob", "--tag", "home")["id"]
    run("jobs", "wait", "--user", "bob")
    assert run("show", "--user", "bob")["profile"]["user"]["profile"]["name"] == "Bob"
    assert run("list", "users")["users"] == ["bob"]
    assert run("list", "pages", "--user", "bob", "--tag", "home")["pages"][0]["id"] == page
    assert run("count", "pages", "--user", "bob")["count"] == 1
    assert run("update", page, "My name is Bob and I live in Bergen.", "--user", "bob")["version"] == 2
    assert run("search", "Where does Bob live?", "--user", "bob", "--min-score", "0.3")["hits"][0]["id"] == page
    assert run("export", "bob.jsonl", "--user", "bob")["memories"]["page"] == 1
    assert run("delete", page, "--user", "bob", "--yes")["deleted"] == [page]
    assert run("forget", "--user", "bob", "--yes")["is_complete"] is True
    assert run("list", "users")["users"] == []
    assert run("import", "export", "bob.jsonl")["memories"]["page"] == 1
    assert run("count", "pages", "--user", "bob")["count"] == 1


# Waiting


def test_wait_and_close_say_what_was_still_running(tmp_path):
    store = MemoryOS.open(tmp_path / "memory.db")
    memory = store.memory("bob")
    memory.add_many([memoryos.Turn(role=memoryos.Role.USER, text=f"I like tea number {n}.") for n in range(400)])
    with pytest.raises(StillRunning) as caught:
        store.wait(timeout=0)
    assert caught.value.running
    store.wait(timeout=120)
    store.close(timeout=120)


def test_every_method_is_a_coroutine_too(tmp_path):
    async def main() -> str:
        async with await AsyncMemoryOS.open(tmp_path / "memory.db") as store:
            memory = store.memory("bob")
            await memory.add("I keep bees.", "How many hives?")
            await store.wait()
            return (await memory.search("hives")).hits[0].text

    assert "bees" in asyncio.run(main())


# Facts


def test_what_is_said_outright_is_in_the_profile_after_wait(memory):
    memory.add("My name is Bob, I live in Oslo and I'm a plumber.", "Hello Bob!")
    memory.wait()
    assert all(word in profile_of(memory) for word in ("Bob", "Oslo", "plumber"))


def test_the_profile_follows_changes(memory):
    memory.add("I live in Oslo and I'm a plumber. I'm a vegetarian.", "I see.", at="2024-01-01T10:00:00Z")
    memory.add("I moved to Bergen.", "How is the rain?", at="2024-02-01T10:00:00Z")
    memory.add("I got a new job as a teacher.", "Congratulations!", at="2024-03-01T10:00:00Z")
    memory.wait()
    profile = profile_of(memory)
    assert "Bergen" in profile
    assert "teacher" in profile
    assert "Oslo" not in profile
    assert "plumber" not in profile


def test_a_pet_is_not_the_agent(memory):
    memory.add("This is Susie, she loves the beach.", "What a lovely dog!")
    memory.wait()
    known = memory.profile.get()
    assert "Susie" not in " ".join(cube.text for cube in [*known.user.profile, *known.agent.profile])


def test_no_fact_is_lost(memory):
    for number in range(130):
        memory.facts.add(f"Bob's locker {number} holds the {number}th trophy.")
    assert "locker 3 " in memory.search("What does locker 3 hold?").user_facts[0].text
