"""The first hour: what a new user does, through the public API and the command, on the embedded default."""

from __future__ import annotations

import asyncio
import io
import json
import pickle
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from openai.types.chat import ChatCompletionMessage

import memoryos
import same_process
from generation.scripted_model import says, scripted_model
from memoryos import AsyncMemory, AsyncMemoryOS, Attachment, Memory, MemoryOS, Origin, load_settings
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
def model():
    """A chat model behind an endpoint, which says what a test wrote for it."""
    with scripted_model() as server:
        yield server


@pytest.fixture
def run(tmp_path):
    def call(*arguments):
        return same_process.memoryos(*arguments, cwd=tmp_path, COLUMNS="160")

    return call


def document(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def facts_of(memory: Memory) -> list[str]:
    return [fact.text for fact in memory.facts.list()]


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


def test_objects_of_an_sdk_go_in_and_instructions_of_the_developer_do_not(memory):
    call = {"id": "1", "type": "function", "function": {"name": "book", "arguments": '{"to": "Bergen"}'}}
    (page,) = memory.add(
        [
            {"role": "developer", "content": "Answer in French."},
            {"role": "user", "content": "Book me a train to Bergen."},
            ChatCompletionMessage(role="assistant", content="I will.", tool_calls=[call]),
            ChatCompletionMessage(role="assistant", content="It leaves on Friday."),
        ]
    )
    assert 'called book({"to": "Bergen"})' in memory.get(page).text
    assert "It leaves on Friday." in memory.get(page).text
    assert "French" not in memory.get(page).text


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


def test_times_without_a_zone_are_in_the_stated_one():
    with memoryos.open(":memory:", user="bob", settings=load_settings(time_zone="Europe/Berlin")) as memory:
        page = memory.add("I keep bees.", at="2024-01-01")
        assert memory.get(page).descriptive.event_at == datetime(2023, 12, 31, 23, tzinfo=UTC)
        assert [found.id for found in memory.pages.list(since="2024-01-01 00:00", until="2024-01-01 01:00")] == [page]


def test_the_key_and_address_of_the_openai_sdk_are_used(model, monkeypatch):
    for name in ("MEMORYOS_LLM_API_KEY", "MEMORYOS_LLM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    model.will(says("You keep bees."))
    with memoryos.open(":memory:", user="bob", settings=load_settings(llm_model="some-model")) as memory:
        assert memory.respond("What do I keep?").text == "You keep bees."
    assert model.keys == ["sk-theirs"]


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


def test_topics_and_users_are_counted_and_listed(tmp_path):
    with MemoryOS.open(tmp_path / "memory.db", settings=load_settings(short_term_capacity=1)) as store:
        memory = store.memory("bob")
        for text in ("My tomato plants need water.", "The tax office lost my letter.", "Good night."):
            memory.add(text)
        store.memory("ann").add("I keep hens.")
        segments = memory.segments.list(limit=1)
        segments = [*segments, *memory.segments.list(cursor=segments.cursor)]
        assert len({view.cube.id for view in segments}) == memory.segments.count() == 2
        first = store.admin.users(limit=1)
        assert [*first, *store.admin.users(cursor=first.cursor)] == ["ann", "bob"]
        assert store.admin.count_users() == 2


def test_a_memory_is_corrected_and_deleted(memory):
    page = memory.add("I live in Oslo.")
    memory.update(page, "I live in Bergen.")
    assert [version.text for version in memory.history(page)] == ["user: I live in Oslo.", "user: I live in Bergen."]
    fact = memory.facts.add("likes jazz")
    memory.delete(fact)
    memory.delete(page)
    assert memory.pages.count() == memory.facts.count() == 0


def test_what_is_deleted_is_not_in_the_past_either(memory):
    page = memory.add("I live in Oslo.")
    memory.add("I keep bees.")
    moment = memory.get(page).descriptive.recorded_at + timedelta(seconds=1)
    memory.update(page, "I live in Bergen.")
    memory.delete(page)
    found = memory.search("Where does Bob live? Oslo or Bergen?", as_of=moment)
    assert not any(word in hit.text for hit in found.ranked for word in ("Oslo", "Bergen"))


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
    assert dict(store.admin.load(tmp_path / "bob.jsonl", again=True).memories) == dict(exported.memories)
    assert "Oslo" in profile_of(memory)


def test_a_session_is_forgotten_with_what_was_learned_from_it_alone(store):
    spring, autumn = (store.memory("bob", session=session) for session in ("spring", "autumn"))
    spring.add("I keep bees behind the old mill.")
    autumn.add("I live in Oslo.", "I see.")
    store.wait()
    assert "Oslo" in profile_of(autumn)
    forgotten = autumn.forget()
    assert forgotten.is_complete
    assert (forgotten.memories["page"], forgotten.memories["profile"]) == (1, 1)
    assert [page.text for page in spring.pages.list()] == ["user: I keep bees behind the old mill."]
    assert "Oslo" not in profile_of(spring)


def test_the_command_does_the_same(run):
    assert run("add", "I keep bees behind the old mill.", "--user", "bob").returncode == 0
    assert "bees" in document(run("search", "bees", "--user", "bob", "--json"))["hits"][0]["text"]
    assert document(run("export", "bob.jsonl", "--user", "bob", "--json"))["memories"]["page"] == 1
    assert document(run("forget", "--user", "bob", "--yes", "--json"))["is_complete"] is True
    left = run("import", "export", "bob.jsonl").stdout
    assert "Left out: 1 memories that this store has removed, or their sources." in left
    assert "memoryos import export bob.jsonl --again\n" in left
    assert "show --user" not in left
    unnamed = run("import", "bob.jsonl")
    assert (unnamed.returncode, "memoryos import export bob.jsonl;" in unnamed.stderr) == (2, True)
    assert document(run("import", "export", "bob.jsonl", "--again", "--json"))["memories"]["page"] == 1
    assert "Try: memoryos show --user bob" in run("import", "export", "bob.jsonl").stdout
    usage = run("add", "--json", "--no-such-option")
    assert usage.returncode == 2
    assert json.loads(usage.stdout)["error"]["type"] == "UsageError"
    assert "In this store: user bob with agent default" in run("show", "--user", "nobody").stdout


def test_lists_corrections_and_deletion_by_command(tmp_path):
    def run(*arguments):
        done = same_process.memoryos(*arguments, "--json", cwd=tmp_path, MEMORYOS_SHORT_TERM_CAPACITY="1")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    page = run("add", "My name is Bob and I live in Oslo.", "--user", "bob", "--tag", "home")["id"]
    run("jobs", "run", "--user", "bob")
    assert run("show", "--user", "bob")["profile"]["user"]["profile"]["name"] == "Bob"
    assert [one["user"] for one in run("users", "list")["users"]] == ["bob"]
    assert run("pages", "list", "--user", "bob", "--tag", "home")["pages"][0]["id"] == page
    assert run("pages", "count", "--user", "bob")["count"] == 1
    assert run("update", page, "My name is Bob and I live in Bergen.", "--user", "bob")["version"] == 2
    assert run("search", "Where does Bob live?", "--user", "bob", "--min-score", "0.3")["hits"][0]["id"] == page
    run("add", "I keep hens.", "--user", "bob", "--session", "autumn", "--at", "2024-01-01", "--meta", "place=yard")
    assert run("pages", "count", "--user", "bob", "--meta", "place=yard", "--until", "2024-01-02")["count"] == 1
    assert run("segments", "count", "--user", "bob")["count"] == 1
    (topic,) = run("segments", "list", "--user", "bob")["segments"]
    members = run("pages", "list", "--user", "bob", "--segment", topic["id"])["pages"]
    assert (topic["pages"], [one["id"] for one in members]) == (1, [page])
    assert run("forget", "--user", "bob", "--session", "autumn", "--yes")["memories"]["page"] == 1
    assert run("export", "bob.jsonl", "--user", "bob")["memories"]["page"] == 1
    assert run("delete", page, "--user", "bob", "--yes")["deleted"] == [page]
    assert run("forget", "--user", "bob", "--yes")["is_complete"] is True
    assert run("users", "list")["users"] == []
    assert run("import", "export", "bob.jsonl")["memories"] == {}
    assert run("import", "export", "bob.jsonl", "--again")["memories"]["page"] == 1
    assert run("pages", "count", "--user", "bob")["count"] == 1


# Waiting


def test_wait_and_close_say_what_was_still_running(tmp_path):
    store = MemoryOS.open(tmp_path / "memory.db")
    memory = store.memory("bob")
    memory.add_many([memoryos.Turn(role=memoryos.Role.USER, text=f"I like tea number {n}.") for n in range(400)])
    with pytest.raises(StillRunning) as caught:
        store.wait(timeout=0)
    assert caught.value.running
    with pytest.raises(StillRunning) as caught:
        store.close(timeout=0)
    assert caught.value.running
    store.close(timeout=120)


def test_an_answer_that_nobody_reads_on_holds_no_thread(model, tmp_path):
    model.otherwise = lambda _: says("You ", "keep ", "bees.")
    settings = load_settings(llm_model="some-model", llm_api_key="key", llm_base_url=model.url)

    async def main() -> str:
        async with await AsyncMemory.open(tmp_path / "memory.db", user="bob", settings=settings) as memory:
            stream = memory.respond_stream("What do I keep?")
            begun = await anext(stream)
            end = time.monotonic() + 60
            while any(thread.name == "memoryos-stream" for thread in threading.enumerate()):
                assert time.monotonic() < end
                await asyncio.sleep(0.01)
            return begun + "".join([piece async for piece in stream])

    assert asyncio.run(main()) == "You keep bees."


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
    memory.wait()
    assert "User is a vegetarian." in facts_of(memory)
    memory.add("I moved to Bergen.", "How is the rain?", at="2024-02-01T10:00:00Z")
    memory.add("I got a new job as a teacher.", "Congratulations!", at="2024-03-01T10:00:00Z")
    memory.add("I'm not vegetarian anymore.", "Since when?", at="2024-04-01T10:00:00Z")
    memory.wait()
    profile = profile_of(memory)
    assert "Bergen" in profile
    assert "teacher" in profile
    assert "Oslo" not in profile
    assert "plumber" not in profile
    assert "User is a vegetarian." not in facts_of(memory)
    assert "1 February 2024" in memory.context("Where does Bob live?").text


def test_consolidate_reads_the_latest_pages_too():
    with memoryos.open(":memory:", user="bob", settings=load_settings(recent_within_seconds=3600)) as memory:
        memory.add("My name is Bob and I live in Oslo.", "Hello Bob!")
        memory.wait()
        assert profile_of(memory) == ""
        memory.consolidate()
        assert "Oslo" in profile_of(memory)


def test_a_new_number_and_address_take_the_place_of_the_old(memory):
    memory.add("My email is bob@example.org and my phone number is 555-0142.", "Noted.", at="2024-01-01T10:00:00Z")
    memory.add("My new number is 555-0199.", "Noted.", at="2024-02-01T10:00:00Z")
    memory.add("I changed my email to bob@example.com.", "Noted.", at="2024-03-01T10:00:00Z")
    memory.wait()
    assert set(facts_of(memory)) == {"User's new number is 555-0199.", "User changed their email to bob@example.com."}


def test_a_fact_stands_alone(memory):
    memory.add("I love this. I have two projects in particular. I think you should check it out.", "I will.")
    memory.add("I am allergic to nuts.", "To all of them?")
    memory.wait()
    assert facts_of(memory) == ["User is allergic to nuts."]


def test_a_pet_is_not_the_agent(memory):
    memory.add("This is Susie, she loves the beach.", "What a lovely dog!")
    memory.wait()
    known = memory.profile.get()
    assert "Susie" not in " ".join(cube.text for cube in [*known.user.profile, *known.agent.profile])


def test_no_fact_is_lost(memory):
    for number in range(105):  # LPM has room for 100
        memory.facts.add(f"Bob's locker {number} holds the {number}th trophy.")
    assert "locker 3 " in memory.search("What does locker 3 hold?").user_facts[0].text


def test_rules_of_a_source_do_not_contradict_each_other_and_a_change_is_proposed(memory):
    rules = [f"Rule {number}: {what} are cleaned daily." for number, what in enumerate(("Cars", "Floors", "Windows"))]
    assert memory.proposals.publish(rules, source="handbook") == []
    assert facts_of(memory) == rules
    memory.proposals.publish(["Tom lives in Oslo."], source="staff list")
    (proposal,) = memory.proposals.publish(["Tom lives in Madrid."], source="staff list")
    assert [cube.text for cube in proposal.replaces] == ["Tom lives in Oslo."]
    memory.proposals.accept(proposal.cube.id)
    assert facts_of(memory) == [*rules, "Tom lives in Madrid."]
