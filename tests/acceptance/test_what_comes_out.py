"""Lists, counts, relevance and ids as a user meets them beside `test_first_hour`: by Python and by command."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import forked
import memoryos
from memoryos import Memory, MemoryOS, Origin, load_settings

MESSAGES = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "My name is Bob, I live in Oslo and I'm a plumber."},
    {"role": "assistant", "content": [{"type": "text", "text": "Nice to meet you, Bob."}]},
    {"role": "user", "content": "What is the weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": "Snow, -3 °C"},
    {"role": "assistant", "content": "It snows in Oslo."},
]


@pytest.fixture
def memory(tmp_path) -> Iterator[Memory]:
    with memoryos.open(tmp_path / "hour.db", user="bob") as memory:
        yield memory


def test_messages_come_in_and_facts_are_known_after_waiting(memory):
    ids = memory.add(MESSAGES)
    memory.wait(timeout=60)
    assert [page.id for page in memory.pages.list()] == ids
    told = memory.profile.get().to_dict()["user"]["profile"]
    assert (told["name"], told["location"], told["occupation"]) == ("Bob", "Oslo", "plumber")
    memory.add("I moved to Bergen.")
    memory.wait()
    assert memory.profile.get().user.fields["location"] == "Bergen"


def test_what_is_said_of_a_memory_finds_it(memory):
    memory.add("The launch is in May.", tags=["work"], metadata={"project": "apollo"}, title="Plan", source="plan.md")
    memory.add("The party is in June.", tags=["home"])
    memory.add("The code word is heron.", ttl=3600)
    found = memory.search("When is it?", filters={"metadata": {"project": "apollo"}})
    assert [hit.text for hit in found.hits] == ["user: The launch is in May."]
    assert [hit.text for hit in memory.search("When?", filters={"any_tags": ["home"]}).hits] == [
        "user: The party is in June."
    ]
    assert memory.pages.count(filters={"no_tags": ["work"]}) == 2


def test_everything_comes_out_as_json(memory):
    memory.add("My sailing boat is called Aurora.")
    memory.facts.add("owns a boat")
    memory.wait()
    for value in (memory.search("boat"), memory.profile.get(), memory.stats(), memory.pages.list(limit=1)):
        assert json.loads(value.to_json()) == value.to_dict()


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


def test_a_person_is_taken_along_and_forgotten(memory, tmp_path):
    memory.add("My sailing boat is called Aurora.")
    fact = memory.facts.add("owns a boat")
    memory.wait()
    memory.export(tmp_path / "bob.jsonl")
    assert memory.forget().is_complete
    assert memory.search("boat").ranked == ()
    assert memory.pages.count() == memory.facts.count() == 0
    with MemoryOS.open(tmp_path / "other.db", settings=load_settings()) as other:
        other.admin.load(tmp_path / "bob.jsonl")
        assert other.admin.users() == ["bob"]
        assert [one.id for one in other.memory("bob").facts.list()] == [fact]
        assert other.memory("bob").search("What is my sailing boat called?").hits


def test_the_same_by_command(tmp_path):
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
