"""Marks: what leaves the store says where it comes from, and every change of it is seen, in its line."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoryos import AsyncAnswerStream, AsyncMemory, Caller, MemoryOS, load_settings
from memoryos.errors import InvalidInput
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from memoryos.operation.hierarchy.protected import protection_of
from memoryos.operation.portability.content_marks import checked_lines
from memoryos.operation.recall.shown import Shown
from memoryos.operation.training.adapter_status import AdapterAnswer
from memoryos.signing import ContentMark

pytestmark = pytest.mark.once
ALTERATIONS = 300


class Script:
    """A chat model with one answer."""

    def answer(self, messages):
        return Answer("She lives in Oslo.", Usage(1, 1), "script")

    def stream(self, messages):
        yield from ("She lives ", "in Oslo, 北京. ")


@pytest.fixture
def store(tmp_path):
    settings = load_settings(embedder="hashing")
    with MemoryOS.open(tmp_path / "m.db", settings=settings, embedder=Hashing(), chat=Script()) as opened:
        yield opened


@pytest.fixture
def exported(store, tmp_path) -> Path:
    memory = store.memory("hana")
    for number in range(12):
        memory.add(f"Note {number}: the door code is {number}4711. 北京 😀", "Noted.")
    memory.update(memory.facts.add("Hana keeps bees"), "Hana keeps hens")
    memory.wait()
    memory.export(tmp_path / "hana.jsonl")
    return tmp_path / "hana.jsonl"


def check(store, path: Path, lines: list[str]):
    path.write_text("".join(lines), encoding="utf-8")
    return store.admin.verify_mark(path)


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines(keepends=True)


def test_a_file_says_whose_it_is_and_is_still_loaded(store, exported, tmp_path):
    report = store.admin.verify_mark(exported)
    assert (report.is_whole, report.user, report.tenant, report.by) == (True, "hana", "default", "hana")
    assert (report.lines, report.altered, report.is_cut) == (len(lines_of(exported)), (), False)
    with MemoryOS.open(tmp_path / "other.db", embedder=Hashing()) as other:
        assert other.admin.load(exported).memories["page"] == 12
        with pytest.raises(InvalidInput, match="another store"):
            other.admin.verify_mark(exported)


def test_changed_removed_added_and_moved_lines_are_named(store, exported):
    lines = lines_of(exported)
    changed = [line.replace("4711", "4712") if index == 3 else line for index, line in enumerate(lines)]
    report = check(store, exported, changed)
    assert (report.altered, report.user, report.is_whole) == ((4,), "hana", False)
    assert check(store, exported, lines[:5] + lines[6:]).altered == (6,)
    assert check(store, exported, lines[:5] + lines[4:]).altered == (6,)
    assert check(store, exported, [*lines[:4], lines[5], lines[4], *lines[6:]]).altered == (5, 6, 7)
    assert check(store, exported, lines[:-1]).is_cut
    assert not check(store, exported, lines[:-1]).is_whole
    forged = [lines[0].replace("hana", "eve"), *lines[1:]]
    assert (check(store, exported, forged).altered, check(store, exported, forged).user) == ((1,), None)
    assert check(store, exported, lines).is_whole


def altered(lines: list[str], chance: random.Random) -> list[str]:
    """The lines with one random change: a character, or a whole line."""
    changed, row = list(lines), chance.randrange(len(lines))
    kind = chance.choice(["character", "remove", "repeat", "swap"])
    if kind == "remove":
        del changed[row]
    elif kind == "repeat":
        changed.insert(row, lines[row])
    elif kind == "swap":
        other = chance.choice([one for one in range(len(lines)) if one != row])
        changed[row], changed[other] = changed[other], changed[row]
    else:
        place = chance.randrange(len(lines[row]) - 1)
        other = chance.choice([one for one in 'abc019 {}"' if one != lines[row][place]])
        changed[row] = lines[row][:place] + other + lines[row][place + 1 :]
    return changed


def test_every_random_alteration_is_detected_and_no_clean_file_is_accused(store, exported):
    """What docs/explanation/governance.md says of the rates: each alteration is seen, each clean file is whole."""
    lines, chance = lines_of(exported), random.Random(21)
    key, missed = store._engine.vault.erasure.signing_key(), []
    for number in range(ALTERATIONS):
        wrong = altered(lines, chance)
        try:
            if checked_lines(wrong, key).is_whole:
                missed.append(number)
        except InvalidInput:  # the head is no mark any more
            assert wrong[0] != lines[0]
    assert missed == []
    assert all(checked_lines(lines, key).is_whole for _ in range(20))


def test_a_file_without_a_mark_is_refused(store, exported, tmp_path):
    for text in ("", "{}\n", "[]\n", '{"format":"memoryos-export"}\n', '{"marked":{"format":"memoryos-mark-1"}}\n'):
        exported.write_text(text)
        with pytest.raises(InvalidInput, match="file: "):
            store.admin.verify_mark(exported)
    with pytest.raises(InvalidInput):
        store.admin.verify_mark(tmp_path / "nothing")


def test_an_answer_in_pieces_has_it_too(store, tmp_path):
    memory = store.memory("hana", caller=Caller("lee"))
    page = memory.add("I live in Oslo.")
    stream = memory.respond_stream("Where do I live?")
    assert stream.answer is None
    text = "".join(stream)
    answer = stream.answer
    assert (answer.text, answer.model, answer.mark.by, answer.mark.user) == (text.strip(), "custom", "lee", "hana")
    assert page in answer.mark.sources
    assert answer.usage.completion_tokens > 0
    file = tmp_path / "answer.json"
    file.write_text(answer.to_json())
    assert store.admin.verify_mark(file).is_whole


def test_an_answer_behind_a_prefix_has_it_too(store, tmp_path):
    memory = store.memory("hana", caller=Caller("lee"))
    page = memory.add("I live in Oslo.")
    fact = memory.facts.add("User likes 北京.")
    memory.activations.build("helper")
    memory.activations.build("talk", kinds=[], ids=[page])
    told = memory.activations.answer("helper", "Where do I live?", beside=["talk"])
    mark = told.answer.mark
    assert (mark.by, mark.user, mark.model) == ("lee", "hana", "script")
    assert {fact, page} <= set(mark.sources)
    for text in (told.to_json(), told.answer.to_json()):
        (tmp_path / "answer.json").write_text(text)
        assert store.admin.verify_mark(tmp_path / "answer.json").is_whole
        (tmp_path / "answer.json").write_text(text.replace("Oslo", "Rome"))
        assert not store.admin.verify_mark(tmp_path / "answer.json").is_whole


def test_an_answer_in_pieces_of_an_async_memory_has_it_too(store, tmp_path):
    page = store.memory("hana").add("I live in Oslo.")

    async def asked() -> AsyncAnswerStream:
        stream = AsyncMemory(store.memory("hana")).respond_stream("Where do I live?")
        assert (stream.answer, stream.recalled) == (None, ())
        assert "".join([piece async for piece in stream]) == "She lives in Oslo, 北京. "
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        await stream.aclose()
        return stream

    stream = asyncio.run(asked())
    assert page in stream.answer.mark.sources
    assert page in {hit.id for hit in stream.recalled}
    (tmp_path / "answer.json").write_text(stream.answer.to_json())
    assert store.admin.verify_mark(tmp_path / "answer.json").is_whole


def test_a_mark_is_shown_as_it_was_signed():
    """Whoever masks what is read would break the signature."""
    mark = ContentMark(datetime(2026, 5, 1, tzinfo=UTC), "lee@example.com", "default", "hana@example.com", "m", (), "0")
    answer = AdapterAnswer("Write to hana@example.com.", (), (), mark)
    settings = load_settings(privacy_on_read="mask")
    told = Shown(protection_of(settings, settings.privacy_on_read))(answer)
    assert (told.text, told.mark) == ("Write to [email].", mark)


def test_an_answer_has_it_too_where_results_are_masked(tmp_path):
    settings = load_settings(embedder="hashing", privacy_on_read="mask")
    with MemoryOS.open(tmp_path / "m.db", settings=settings, embedder=Hashing(), chat=Script()) as store:
        memory = store.memory("hana@example.com")
        page = memory.add("I live in Oslo; write to hana@example.com.")
        stream = memory.respond_stream("Where do I live?")
        list(stream)
        for answer in (memory.respond("Where do I live?"), stream.answer):
            assert page in answer.mark.sources
            assert answer.mark.user == "hana@example.com"
            file = tmp_path / "answer.json"
            file.write_text(answer.to_json())
            assert store.admin.verify_mark(file).is_whole
            file.write_text(answer.to_json().replace("Oslo", "Rome"))
            assert not store.admin.verify_mark(file).is_whole


def test_every_random_alteration_of_an_answer_is_detected_and_no_clean_one_is_accused(store, tmp_path):
    memory, file, draw = store.memory("hana"), tmp_path / "answer.json", random.Random(1)
    memory.add("I live in Oslo.")
    accused = detected = 0
    for _ in range(20):
        stream = memory.respond_stream("Where do I live?")
        list(stream)
        told = json.loads(stream.answer.to_json())
        file.write_text(json.dumps(told))
        accused += not store.admin.verify_mark(file).is_whole
        for _ in range(ALTERATIONS // 20):
            place = draw.randrange(len(told["text"]))
            other = draw.choice([letter for letter in "abc 北。" if letter != told["text"][place]])
            changed = {**told, "text": told["text"][:place] + other + told["text"][place + 1 :]}
            file.write_text(json.dumps(changed))
            detected += not store.admin.verify_mark(file).is_whole
    assert (accused, detected) == (0, ALTERATIONS)


def test_an_answer_has_signed_provenance(store, tmp_path):
    memory = store.memory("hana")
    page = memory.add("I live in Oslo.")
    answer = memory.respond("Where do I live?")
    assert (answer.mark.by, answer.mark.user, answer.mark.model, page in answer.mark.sources) == (
        "hana",
        "hana",
        "script",
        True,
    )
    file = tmp_path / "answer.json"
    file.write_text(answer.to_json())
    assert store.admin.verify_mark(file).is_whole
    file.write_text(json.dumps(json.loads(answer.to_json()), indent=2))
    assert store.admin.verify_mark(file).is_whole
    for wrong in ("Oslo", "hana", page):
        file.write_text(answer.to_json().replace(wrong, "other"))
        assert not store.admin.verify_mark(file).is_whole
