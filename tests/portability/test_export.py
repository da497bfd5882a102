"""Export and load: a person's memories leave one store, and are the same in another."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from built_cubes import put_built
from memoryos import Attachment, MemoryOS
from memoryos.clock import system_clock
from memoryos.cube import to_json
from memoryos.errors import IdTaken, InvalidInput, NotFound
from memoryos.infrastructure.vault.soundness import verify
from memoryos.operation.portability import export_file, load_export

from .conftest import Open, live

QUESTIONS = ["Where does she live?", "parrot", "zebracorn tea", "Bergen in May"]


def all_of(store: MemoryOS, user: str = "alice") -> list[object]:
    memory = store.memory(user)
    cubes = [*memory.pages.list(), *memory.facts.list(), *(view.cube for view in memory.segments.list())]
    return [cube.to_dict() for cube in cubes]


def found(store: MemoryOS, user: str = "alice") -> list[object]:
    memory = store.memory(user)
    results = [memory.search(question) for question in QUESTIONS]
    return [
        [
            [(hit.id, round(hit.score, 5), hit.segment) for hit in result.hits],
            [(hit.id, round(hit.score, 5)) for hit in result.user_facts],
        ]
        for result in results
    ]


def exported(store: MemoryOS) -> list[dict]:
    stream = io.StringIO()
    store.admin.export(stream, user="alice")
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_person_is_the_same_in_another_store(open_store: Open, tmp_path: Path):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        live(store.memory("alice", agent="coder"))
        store.wait()
        exported = store.admin.export(file, user="alice")
        memories, answers, profile = all_of(store), found(store), store.memory("alice").profile.get()
        page = next(page for page in store.memory("alice").pages.list() if "in May" in page.text)
        history = store.memory("alice").history(page.id)
    with open_store("two") as store:
        loaded = store.admin.load(file)
        assert dict(loaded.memories) == dict(exported.memories)
        assert {scope.agent for scope in loaded.owners} == {"default", "coder"}
        assert all_of(store) == memories
        assert found(store) == answers
        assert store.memory("alice").profile.get() == profile
        assert [cube.text for cube in store.memory("alice").history(page.id)] == [cube.text for cube in history]
        assert len(history) == 2
        assert store.admin.load(file).memories == {}
        assert store.admin.load(file).known == sum(loaded.memories.values())


def test_an_older_file_does_not_bring_back_what_was_removed_since(open_store: Open, tmp_path: Path, clock):
    """Erased, deleted, swept or forgotten; unless that is said to be the wish."""
    file = tmp_path / "alice.jsonl"
    with open_store("one", clock=clock, short_term_capacity=100) as store:  # no topics
        memory = store.memory("alice")
        gone = {memory.add(f"The {word} is 4711.") for word in ("safe", "alarm", "gate")}
        passing = memory.add("The cellar is 4711.", ttl=3600)
        kept = memory.add("The ferry leaves at nine.")
        store.wait()
        memory.export(file)
        erased, deleted, expired = gone
        receipt = memory.governance.erase(erased).receipt
        memory.delete(deleted)
        memory.governance.expire(expired)
        clock.advance(hours=2)
        memory.jobs.run()
        loaded = store.admin.load(file)
        assert (loaded.removed, loaded.expired, loaded.known) == (3, 1, 1)
        assert [page.id for page in memory.pages.list()] == [kept]
        assert "`load`" in receipt.advice[-1]
        memory.forget()
        loaded = store.admin.load(file)
        assert (dict(loaded.memories), loaded.removed, loaded.expired) == ({}, 4, 1)
        assert not memory.pages.list()
        loaded = store.admin.load(file, again=True)
        assert (loaded.removed, loaded.expired) == (0, 1)
        assert {page.id for page in memory.pages.list()} == {*gone, kept}
        assert store.admin.load(file).known == 4
    with open_store("two", clock=clock) as other:  # which removed nothing
        assert other.admin.load(file).memories == {"page": 4}
        assert passing not in {page.id for page in other.memory("alice").pages.list()}


@pytest.fixture
def learned(open_store: Open, tmp_path: Path) -> tuple[list[str], Path]:
    """Pages of a store "one", and a file of a copy that learned from them and was told one thing in other words."""
    file = tmp_path / "late.jsonl"
    with open_store("copy", short_term_capacity=1) as store:
        memory = store.memory("alice")
        told = ["My name is Alice and I live in Oslo.", "I have a parrot called Kiwi.", "我住在北京。"]
        pages = [memory.add(text, "I see.") for text in told]
        memory.add("The ferry leaves at nine.", "I see.")
        memory.consolidate()
        (parrot,) = (fact.id for fact in memory.facts.list() if "parrot" in fact.text)
        memory.update(parrot, "Her bird is green.")
        memory.wait()
        memory.export(file)
    head, *records, _ = file.read_text().splitlines()
    copied = [line for line in records if json.loads(line)["memory"]["id"] in pages]
    (tmp_path / "early.jsonl").write_text("\n".join([head, *copied, json.dumps({"end": 3})]))
    with open_store("one") as store:
        assert store.admin.load(tmp_path / "early.jsonl").memories == {"page": 3}
    return pages, file


def test_what_a_copy_learned_of_a_page_is_left_out_with_the_page(open_store: Open, learned):
    pages, file = learned
    with open_store("one", short_term_capacity=100) as store:
        for page in pages:
            store.memory("alice").delete(page)
        loaded = store.admin.load(file)
        assert (dict(loaded.memories), loaded.removed) == ({"page": 1, "fact": 1}, 3 + 2 + 2)  # pages, facts, fields
        _, *records, _ = exported(store)
        (stated,) = (one for one in records if one["memory"]["payload"]["type"] == "fact")
        assert (stated["memory"]["version"]["number"], "earlier" in stated) == (2, False)
        assert not [word for word in ("Oslo", "Kiwi", "北京") if word in json.dumps(records, ensure_ascii=False)]
        loaded = store.admin.load(file, again=True)
        assert (dict(loaded.memories), loaded.removed) == ({"page": 3, "fact": 2, "profile": 2, "segment": 3}, 0)
        assert verify(store._engine.vault).is_sound


def test_what_rests_on_other_pages_too_comes_without_its_earlier_versions(open_store: Open, learned):
    pages, file = learned
    with open_store("one", short_term_capacity=100) as store:
        store.memory("alice").delete(pages[0])
        loaded = store.admin.load(file)
        assert (loaded.memories["fact"], loaded.memories["segment"], loaded.removed) == (2, 2, 1 + 1 + 1)
        assert store.memory("alice").profile.get().user.profile[0].text
        assert "Oslo" not in json.dumps(exported(store))
        assert verify(store._engine.vault).is_sound


def test_what_was_loaded_lives_on(open_store: Open, tmp_path: Path):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        kinds = dict(store.memory("alice").export(file).memories)
        store.memory("alice").forget()
        assert store.admin.load(file).removed == sum(kinds.values()) - kinds["segment"] > 0
        assert store.admin.load(file, again=True).known == 0
        memory = store.memory("alice")
        assert memory.search("parrot").hits[0].text
        memory.add("I moved to Rome.", "Ciao!")
        memory.consolidate()
        assert "Rome" in " ".join(cube.text for cube in memory.profile.get().user.profile)
        memory.delete(memory.search("parrot").hits[0].id)
        assert memory.upkeep.rebuild() is not None or memory.pages.list()


def test_the_lines_are_as_the_documents_say(open_store: Open):
    with open_store("one") as store:
        live(store.memory("alice"))
        head, *records, end = exported(store)
    assert {key: head[key] for key in ("format", "version")} == {"format": "memoryos-export", "version": 1}
    assert end == {"end": len(records), "mark": end["mark"]}
    kinds = {record["memory"]["payload"]["type"] for record in records}
    assert {"page", "fact", "segment", "profile"} <= kinds
    assert any(link["kind"] == "member_of" for record in records for link in record.get("links", []))
    assert any("earlier" in record for record in records)


def test_chinese_text_is_written_as_it_is(open_store: Open):
    with open_store("one") as store:
        store.memory("alice").add("我喜欢喝茶。", "真好！")
        stream = io.StringIO()
        store.memory("alice").export(stream)
    assert "我喜欢喝茶。" in stream.getvalue()


@pytest.mark.file
def test_the_bytes_of_attachments_go_along(open_store: Open, tmp_path: Path):
    picture = Attachment(caption="a cat", uri="data:image/png;base64,aGVsbG8gY2F0")
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        page = store.memory("alice").add("Look at her!", attachments=[picture])
        store.memory("alice").export(file)
    with open_store("two") as store:
        store.admin.load(file)
        [attached] = store.memory("alice").pages.attachments(page)
        assert store.memory("alice").pages.attachment(page, attached.id).data == b"hello cat"
        forgotten = store.admin.forget("alice")
        assert forgotten.is_complete
    assert [path for path in (tmp_path / "two.db.objects").rglob("*") if path.is_file()] == []


def test_kv_states_and_adapters_are_left_out_of_a_file_and_of_what_is_loaded(open_store: Open, tmp_path: Path):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        alice = store.memory("alice")
        fact = alice.get(alice.facts.add("Alice likes tea."))
        built = put_built(alice._engine.vault, fact, system_clock)
        head, *records, end = exported(store)
        assert [one["memory"]["id"] for one in records] == [fact.id]
        assert end["end"] == 1
        older = [{"memory": json.loads(to_json(one))} for one in built]  # as an older program wrote them
        older = [{**one, "links": [{"kind": "computed_from", "target": fact.id}]} for one in older]
        lines = [head, *older, *records, {"end": 3}]
        file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines), "utf-8")
    with open_store("two") as store:
        assert dict(store.admin.load(file).memories) == {"fact": 1}
        assert [cube["id"] for cube in all_of(store)] == [fact.id]
        assert store.admin.load(file).known == 1


def lines_of(store: MemoryOS) -> list[str]:
    stream = io.StringIO()
    store.admin.export(stream, user="alice")
    return stream.getvalue().splitlines(keepends=True)


def test_what_another_owner_has_is_not_taken(open_store: Open, tmp_path: Path):
    file = tmp_path / "mallory.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        before = all_of(store)
        file.write_text("".join(lines_of(store)).replace('"user":"alice"', '"user":"mallory"'), "utf-8")
        with pytest.raises(IdTaken, match="another owner"):
            store.admin.load(file)
        assert all_of(store) == before
        assert store.memory("mallory").pages.list() == []


def _twice(record: dict) -> None:
    record["earlier"] *= 2


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("fact", lambda one: one["memory"]["scope"].update(tenant="other"), "another user or tenant"),
        ("segment", lambda one: one["memory"]["scope"].update(tenant="other"), "another user or tenant"),
        ("fact", lambda one: one["memory"]["scope"].update(user="bob"), "another user or tenant"),
        ("segment", lambda one: one["memory"]["descriptive"].update(metadata="nonsense"), "with links"),
        ("fact", lambda one: one["memory"]["descriptive"].update(metadata="[" * 50_000), "with links"),
        ("page", lambda one: one["memory"]["descriptive"].update(metadata="[1]"), "metadata that is no JSON object"),
        ("fact", lambda one: one["memory"]["version"].update(number=2**70), r"version\.number"),
        ("profile", _twice, "two earlier versions of one number"),
    ],
)
def test_a_line_that_was_changed_is_named_and_nothing_is_stored(open_store: Open, tmp_path, kind, change, message):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        records = exported(store)
    changed = max(
        number
        for number, record in enumerate(records[1:-1], 1)
        if record["memory"]["payload"]["type"] == kind and ("earlier" in record) == (change is _twice)
    )
    change(records[changed])
    file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    with open_store("two") as store:
        with pytest.raises(InvalidInput, match=f"line {changed + 1} .*{message}"):
            store.admin.load(file)
        assert [store.admin.scopes(tenant=tenant) for tenant in ("default", "other")] == [[], []]


@pytest.mark.once
def test_a_memory_stands_in_one_line(open_store: Open, tmp_path: Path):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        head, first, *rest, end = exported(store)
    lines = [head, first, *rest, first, {"end": end["end"] + 1}]
    file.write_text("".join(json.dumps(record) + "\n" for record in lines), "utf-8")
    with open_store("two") as store:
        with pytest.raises(InvalidInput, match=f"line {len(lines) - 1} holds a memory that an earlier line holds"):
            store.admin.load(file)
        assert store.admin.scopes() == []


@pytest.mark.once
def test_an_earlier_version_is_of_the_same_owner(open_store: Open, tmp_path: Path):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        records = exported(store)
    revised = next(record for record in records if "earlier" in record)
    revised["earlier"][0]["scope"]["user"] = "bob"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    with open_store("two") as store:
        with pytest.raises(InvalidInput, match="earlier version of another memory or of another owner"):
            store.admin.load(file)
        assert store.admin.scopes() == []


@pytest.mark.once
def test_a_line_that_is_too_long_is_not_read_whole(open_store: Open, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(export_file, "LONGEST_LINE", 1_000)
    monkeypatch.setattr(load_export, "LONGEST_LINE", 1_000)
    file = tmp_path / "alice.jsonl"
    head = {"format": "memoryos-export", "version": 1}
    file.write_text(json.dumps(head) + "\n" + "x" * 1_000_000, "utf-8")
    assert max(map(len, export_file.read_lines(file))) == 1_001
    with open_store("two") as store, pytest.raises(InvalidInput, match="line 2 has more than 1,000 characters"):
        store.admin.load(file)


@pytest.mark.parametrize("target", [5, None, io.BytesIO(), "", "no/such/folder/file.jsonl"])
@pytest.mark.once
def test_where_an_export_cannot_go_is_said(open_store: Open, target):
    with open_store("one") as store:
        store.memory("alice").add("I live in Oslo.")
        with pytest.raises(InvalidInput, match="target"):
            store.admin.export(target, user="alice")


@pytest.mark.once
def test_a_closed_stream_is_refused(open_store: Open):
    stream = io.StringIO()
    stream.close()
    with open_store("one") as store:
        store.memory("alice").add("I live in Oslo.")
        with pytest.raises(InvalidInput, match="target: cannot be written"):
            store.admin.export(stream, user="alice")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: lines[:-1], "ends early"),
        (lambda lines: lines[1:], "line 1 is not the head"),
        (lambda lines: [*lines[:2], "{}\n", *lines[2:]], "line 3 holds no memory"),
        (lambda lines: [*lines[:2], "nonsense\n"], "line 3 is not JSON"),
        (lambda lines: [*lines[:2], "[" * 50_000, *lines[2:]], "line 3 is not JSON"),
        (lambda lines: [lines[0].replace('"version":1', '"version":2'), *lines[1:]], "names version 2"),
        (lambda lines: [*lines, lines[1]], "comes after the end"),
        (lambda lines: [*lines[:3], *lines[4:]], "ends early"),
        (lambda lines: [], "line 1 is not JSON"),
    ],
)
@pytest.mark.once
def test_a_file_that_is_not_whole_is_refused_and_nothing_of_it_is_stored(open_store: Open, tmp_path, damage, message):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        file.write_text("".join(damage(lines_of(store))), "utf-8")
    with open_store("two") as store:
        with pytest.raises(InvalidInput, match=message):
            store.admin.load(file)
        assert store.admin.scopes() == []


@pytest.mark.once
def test_a_file_is_not_overwritten_and_belongs_to_its_owner(open_store: Open, tmp_path: Path):
    file = tmp_path / "alice.jsonl"
    with open_store("one") as store:
        live(store.memory("alice"))
        store.admin.export(file, user="alice")
        assert file.stat().st_mode & 0o777 == 0o600
        with pytest.raises(InvalidInput, match="exists already"):
            store.admin.export(file, user="alice")
        with pytest.raises(NotFound, match="'nobody' has no memory"):
            store.admin.export(tmp_path / "nobody.jsonl", user="nobody")
        with pytest.raises(InvalidInput, match="No such file"):
            store.admin.load(tmp_path / "missing.jsonl")
    assert [path.name for path in tmp_path.glob("*.jsonl*")] == ["alice.jsonl"]


def test_what_has_expired_is_left_out_unless_it_is_on_hold(open_store: Open, tmp_path: Path, clock):
    """Its words, facts, versions and topic were in the file, though no read shows them."""
    with open_store("one", clock=clock, short_term_capacity=1) as store:
        memory = store.memory("alice")
        memory.add("My parrot Kiwi eats zebracorn.", "Hello Kiwi!", ttl=3600)
        asked = memory.add("My parrot Kiwi eats quokkaberries.", "Hello Kiwi!", ttl=3600)
        kept = memory.add("My parrot Kiwi eats plums.", "Hello Kiwi!")
        memory.add("The ferry leaves at nine.")
        memory.consolidate()
        memory.wait()
        before = json.dumps(exported(store))
        assert "zebracorn" in before and "quokkaberries" in before
        hold = memory.governance.hold(reason="a case", memory=asked)
        clock.advance(hours=2)
        records = exported(store)
        told = json.dumps(records)
        store.admin.export(file := tmp_path / "alice.jsonl", user="alice")
        assert "quokkaberries" in told and kept in told
        hidden = [one for one in records[1:-1] if "zebracorn" in json.dumps({**one, "memory": _unchained(one)})]
        assert hidden == []
        assert {link["target"] for one in records for link in one.get("links", ())} <= {
            one["memory"]["id"] for one in records[1:-1]
        }
        memory.governance.release(hold.id)
    with open_store("two", clock=clock) as other:
        loaded = other.admin.load(file)
        assert kept in {page.id for page in other.memory("alice").pages.list()}
        assert loaded.expired == 1
        assert verify(other._engine.vault).is_sound


def _unchained(record: dict) -> dict:
    """The memory without the summary of its chain, which quotes other pages until they are removed."""
    memory = record["memory"]
    return {**memory, "payload": {**memory["payload"], "chain_summary": ""}}
