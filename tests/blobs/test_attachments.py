"""Bytes that come with messages lie in the object store, and go when the last memory that refers to them goes."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from threading import Event, Thread, current_thread

import pytest
from sqlalchemy import event

from hierarchy.work import database_work, locks_of
from memoryos import Attachment, Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.cube import Turn, to_json
from memoryos.errors import (
    BlobMissing,
    InvalidInput,
    NotFound,
    ObjectsUnreachable,
    PermissionDenied,
    StoreCorrupt,
    StoreFull,
)
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.objects.object_store import Folder
from memoryos.infrastructure.vault.blob_part import BlobPart
from memoryos.infrastructure.vault.records import JobState
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.kinds import Role
from memoryos.models.hashing import Hashing
from memoryos.operation.attachments import parcels
from memoryos.operation.correction.receipt import Receipt

CAT = b"\x89PNG a cat\x00\xff" * 10
DOG = b"\x89PNG a dog"
CAT_ID = sha256(CAT).hexdigest()
CAT_URL = f"data:image/png;base64,{base64.b64encode(CAT).decode()}"
BEN = Scope(user="ben")


def picture(data=CAT, caption="a cat"):
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}, "caption": caption}


def message(*parts, text="Look at this."):
    return [{"role": "user", "content": [{"type": "text", "text": text}, *parts]}]


def files(folder):
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


def documents(memory):
    return [to_json(page) for page in memory.pages.list()]


@pytest.mark.parametrize(
    "content",
    [
        picture(),
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(CAT).decode()},
        },
        {"type": "image", "source": {"media_type": "image/png", "data": CAT}},
        {"type": "input_image", "image_url": CAT_URL},
        {"type": "file", "file": {"filename": "cat.png", "file_data": CAT_URL}},
    ],
)
def test_bytes_of_a_message_lie_in_the_object_store(open_memory, folder, content):
    memory = open_memory()
    (page,) = memory.add(message(content))
    (found,) = memory.pages.attachments(page)
    assert (found.id, found.media_type, found.size, found.url, found.turn) == (CAT_ID, "image/png", len(CAT), None, 0)
    got = memory.pages.attachment(page, found.id)
    assert (got.data, got.media_type) == (CAT, "image/png")
    assert json.loads(got.to_json())["data"] == base64.b64encode(CAT).decode()
    (name,) = files(folder)
    assert CAT_ID in name
    assert (folder / name).read_bytes() == CAT
    (document,) = documents(memory)
    assert base64.b64encode(CAT).decode()[:20] not in document


def test_bytes_whose_upload_failed_are_those_of_the_next_upload(open_memory, folder, monkeypatch):
    memory = open_memory()
    with monkeypatch.context() as full:
        full.setattr(Folder, "put", lambda *_: (_ for _ in ()).throw(StoreFull()))
        for _ in range(3):
            with pytest.raises(StoreFull):
                memory.add(message(picture()))
    (page,) = memory.add(message(picture()))
    assert memory.pages.attachment(page, CAT_ID).data == CAT
    assert len(files(folder)) == 1


def test_bytes_that_another_writer_begins_and_never_puts_are_those_of_the_first(open_memory, folder, monkeypatch):
    first, second = open_memory(), open_memory()
    put, is_begun, is_stored = Folder.put, Event(), Event()

    def puts(self, name, data):
        if current_thread() is other:
            is_begun.set()
            assert is_stored.wait(60)
            raise StoreFull()
        put(self, name, data)
        other.start()
        assert is_begun.wait(60)

    def adds() -> None:
        with pytest.raises(StoreFull) as told:
            second.add(message(picture()))
        refused.append(told.value)

    other = Thread(target=adds)
    refused: list[StoreFull] = []
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "put", puts)
        (page,) = first.add(message(picture()))
        is_stored.set()
        other.join()
    assert len(refused) == 1
    assert first.pages.attachment(page, CAT_ID).data == CAT
    (again,) = first.add(message(picture()))
    assert first.pages.attachment(again, CAT_ID).data == CAT


@pytest.mark.parametrize("is_same", [False, True])
def test_an_erasure_counts_no_upload_in_flight_of_something_else(open_memory, folder, monkeypatch, is_same):
    """The same bytes go, whoever stores them meanwhile, and come back with the page that is stored after it."""
    memory, other = open_memory(), open_memory()
    put, receipts = Folder.put, list[Receipt]()

    def puts(self, name, data):
        put(self, name, data)
        monkeypatch.setattr(Folder, "put", put)
        (page,) = other.add(message(*[picture()] * is_same, text="I keep bees."))
        receipts.append(other.governance.erase(page).receipt)
        assert len(files(folder)) == (0 if is_same else 1)

    monkeypatch.setattr(Folder, "put", puts)
    (page,) = memory.add(message(picture()))
    assert [(one.left, one.memories) for one in receipts] == [({}, {"page": 1})]
    assert memory.pages.attachment(page, CAT_ID).data == CAT


def test_an_erasure_tells_of_bytes_that_could_not_be_removed(open_memory, folder, monkeypatch):
    memory = open_memory()
    (page,) = memory.add(message(picture()))
    with monkeypatch.context() as away:
        away.setattr(Folder, "remove", lambda *_: (_ for _ in ()).throw(ObjectsUnreachable("away")))
        gone = memory.governance.erase(page)
        assert (gone.receipt.left, gone.is_complete, len(files(folder))) == ({"blobs": 1}, False, 1)
        other = memory.add("I keep bees.", "ok")
        assert memory.governance.erase(other).receipt.left == {}


def test_the_erasure_of_a_session_counts_no_upload_of_another(path, settings, monkeypatch):
    put, receipts = Folder.put, list[Receipt]()
    with MemoryOS.open(path, settings=settings, embedder=Hashing()) as store:
        talk, other = (store.of(Scope("ann", session=session)) for session in ("talk", "other"))
        talk.add("I keep bees.")

        def puts(self, name, data):
            put(self, name, data)
            receipts.append(talk.forget().receipt)

        monkeypatch.setattr(Folder, "put", puts)
        other.add(message(picture()))
    assert [(one.left, one.memories) for one in receipts] == [({}, {"page": 1})]


def test_a_url_stays_a_url(open_memory, folder):
    memory = open_memory()
    url = "https://example.org/cat.png"
    (page,) = memory.add(message({"type": "image_url", "image_url": {"url": url}}))
    (found,) = memory.pages.attachments(page)
    assert (found.id, found.size, found.url) == (None, None, url)
    assert files(folder) == []
    with pytest.raises(NotFound):
        memory.pages.attachment(page, sha256(url.encode()).hexdigest())


def test_who_asks_for_the_bytes_of_a_url_is_told_to_read_it(open_memory):
    memory = open_memory()
    page = memory.add("Look!", attachments=[Attachment(caption="a cat", uri="https://x.org/cat.png")])
    (found,) = memory.pages.attachments(page)
    with pytest.raises(InvalidInput, match=r"id: is None.*`url`"):
        memory.pages.attachment(page, found.id)


def test_hits_name_their_attachments(open_memory):
    memory = open_memory()
    memory.add(message(picture(caption="a cat on the sofa")))
    memory.add("The weather is fine.")
    hit = memory.search("cat on the sofa").hits[0]
    assert [one.id for one in hit.attachments] == [CAT_ID]
    assert hit.to_dict()["attachments"][0]["media_type"] == "image/png"
    weather = memory.search("the weather is fine").hits[0]
    assert "attachments" not in weather.to_dict()


def test_attachments_of_an_exchange_and_of_turns_are_kept_alike(open_memory, folder):
    memory = open_memory()
    one = memory.add("Look!", "A cat.", attachments=[Attachment(caption="a cat", uri=CAT_URL)])
    turn = Turn(role=Role.USER, text="Again.", attachments=(Attachment(caption="a cat", uri=CAT_URL),))
    (two,) = memory.add_many([turn])
    assert memory.pages.attachment(one, CAT_ID) == memory.pages.attachment(two, CAT_ID)
    assert len(files(folder)) == 1, "the same bytes lie there once"


def test_the_bytes_go_with_the_last_memory_that_refers_to_them(open_memory, folder):
    memory = open_memory()
    (one,), (two,) = (memory.add(message(picture(), text=text)) for text in ("Look.", "Look again."))
    (other,) = memory.add(message(picture(DOG, "a dog")))
    memory.wait()
    memory.delete(one)
    assert memory.pages.attachment(two, CAT_ID).data == CAT
    assert len(files(folder)) == 2
    memory.delete(two)
    assert [sha256(DOG).hexdigest() in name for name in files(folder)] == [True]
    assert memory.pages.attachment(other, sha256(DOG).hexdigest()).data == DOG
    with pytest.raises(NotFound):
        memory.pages.attachment(two, CAT_ID)


def test_the_same_bytes_can_come_back(open_memory, folder):
    memory = open_memory()
    for _ in range(3):
        (page,) = memory.add(message(picture()))
        assert memory.pages.attachment(page, CAT_ID).data == CAT
        memory.delete(page)
        assert files(folder) == []


def test_a_correction_keeps_what_an_older_version_shows(open_memory, folder):
    memory = open_memory()
    (page,) = memory.add(message(picture()))
    memory.update(page, "Look at that.")
    assert memory.pages.attachment(page, CAT_ID).data == CAT
    memory.delete(page)
    assert files(folder) == []


def test_pages_that_move_keep_theirs(open_memory):
    memory = open_memory()
    (page,) = memory.add(message(picture()))
    for number in range(12):
        memory.add(f"I have {number} hives.", "Bees.")
    memory.wait()
    assert memory.pages.attachment(page, CAT_ID).data == CAT


def test_bytes_are_reached_only_through_a_page_of_the_own_scope(open_memory, folder):
    memory = open_memory()
    (page,) = memory.add(message(picture()))
    ben = memory.of(BEN)
    for wanted in (page, "nobody"):
        with pytest.raises(NotFound):
            ben.pages.attachment(wanted, CAT_ID)
        with pytest.raises(NotFound):
            ben.pages.attachments(wanted)
    his = ben.add("I have no picture.")
    with pytest.raises(NotFound):
        ben.pages.attachment(his, CAT_ID)
    with pytest.raises(BlobMissing):  # to name bytes is not to have them
        ben.add("Mine now.", attachments=[Attachment(caption="a cat", uri=f"blob:{CAT_ID}/{len(CAT)}")])
    (same,) = ben.add(message(picture()))
    assert len(files(folder)) == 2, "each owner has objects of his own"
    memory.delete(page)
    assert ben.pages.attachment(same, CAT_ID).data == CAT


def test_who_knows_the_hash_of_bytes_does_not_read_them(open_memory, tmp_path):
    (tmp_path / "ward.cedar").write_text("""
        permit (principal, action, resource is Cube) when { resource.owner == principal };
        permit (principal == User::"kim", action in [Action::"read", Action::"write"], resource)
        when { resource.sensitivity.isEmpty() };
        permit (principal == User::"clerk", action == Action::"write", resource);
    """)
    ann = open_memory(policies=str(tmp_path / "ward.cedar"))
    ann.add(message(picture()), sensitivity=["diagnosis"])
    engine = ann._engine
    kim, clerk = (Memory(engine, ann.scope, Caller(name)) for name in ("kim", "clerk"))
    named = Attachment(caption="a cat", uri=f"blob:{CAT_ID}/{len(CAT)}")
    unknown = Attachment(caption="a cat", uri=f"blob:{'0' * 64}/{len(CAT)}")
    for guest in (kim, clerk):
        errors = []
        for attached in (named, unknown):
            with pytest.raises((BlobMissing, PermissionDenied)) as refused:
                guest.add("Mine now.", attachments=[attached])
            errors.append(str(refused.value).replace(CAT_ID, "").replace("0" * 64, ""))
        assert errors[0] == errors[1]
    same = kim.add("I have it, too.", attachments=[Attachment(caption="a cat", uri=CAT_URL)])
    assert kim.pages.attachment(same, CAT_ID).data == CAT
    again = kim.add("The cat again.", attachments=[named])  # it may read it now
    assert kim.pages.attachment(again, CAT_ID).data == CAT
    assert ann.pages.attachment(ann.add("My cat.", attachments=[named]), CAT_ID).data == CAT


def test_a_gate_that_refuses_keeps_the_bytes(open_memory):
    class Closed:
        def admit(self, caller, action, scope):
            raise PermissionDenied("not today")

    memory = open_memory()
    (page,) = memory.add(message(picture()))
    memory.wait()
    memory._engine.vault.gate = Closed()
    with pytest.raises(PermissionDenied):
        memory.pages.attachment(page, CAT_ID)


def test_a_large_attachment_is_refused_with_the_limit(open_memory, folder):
    memory = open_memory()
    with pytest.raises(InvalidInput, match=r"1,001 bytes, the limit is 1,000.*max_attachment_bytes"):
        memory.add(message(picture(b"x" * 1001)))
    assert (memory.pages.list(), files(folder)) == ([], [])
    memory.add(message(picture(b"x" * 1000)))


@pytest.mark.parametrize("url", ["data:image/png;base64,%%%", "data:image/png;base64,AAA", "data:nothing"])
def test_a_data_url_that_is_none_is_refused(open_memory, url):
    memory, broken = open_memory(), Attachment(caption="a cat", uri=url)
    fine = {"role": "user", "content": "Look!"}
    pictured = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    turns = [Turn(role=Role.USER, text="Look!"), Turn(role=Role.USER, text="There!", attachments=(broken,))]
    places = {
        "attachments[1].uri": lambda: memory.add("Look!", attachments=[Attachment(caption="a dog"), broken]),
        "messages[1].content.uri": lambda: memory.add([fine, pictured]),
        "turns[1].attachments.uri": lambda: memory.add_many(turns),
    }
    for place, call in places.items():
        with pytest.raises(InvalidInput) as refused:
            call()
        assert refused.value.field == place
    assert memory.pages.list() == []


def test_a_repeated_call_stores_its_bytes_once(open_memory, folder):
    memory = open_memory()
    first = memory.add(message(picture()), idempotency_key="k")
    assert memory.add(message(picture()), idempotency_key="k") == first
    assert len(files(folder)) == 1


def test_bytes_in_the_page_of_an_older_program_are_read_where_they_are(open_memory, monkeypatch):
    memory = open_memory()
    with monkeypatch.context() as patch:
        patch.setattr("memoryos.operation.intake.page_writer.taken_out", lambda turns, most: (turns, {}))
        (page,) = memory.add(message(picture()))
    (found,) = memory.pages.attachments(page)
    assert (found.id, found.size, found.url) == (CAT_ID, len(CAT), None)
    assert memory.pages.attachment(page, CAT_ID).data == CAT


def test_bytes_that_are_missing_or_altered_are_named(open_memory, folder):
    memory = open_memory()
    (page,) = memory.add(message(picture()))
    (name,) = files(folder)
    (folder / name).write_bytes(DOG)
    with pytest.raises(StoreCorrupt, match="altered"):
        memory.pages.attachment(page, CAT_ID)
    (folder / name).unlink()
    with pytest.raises(StoreCorrupt, match="missing"):
        memory.pages.attachment(page, CAT_ID)


def test_bytes_without_a_page_are_swept(open_memory, folder, clock, monkeypatch):
    """What a process leaves that dies between the two."""
    memory = open_memory()
    memory.add("I keep bees.")
    with monkeypatch.context() as patch:
        patch.setattr("memoryos.operation.intake.arrival.Arrival.store", _dies)
        patch.setattr(SqlVault, "sweep_blobs", _does_nothing)  # a kill would end it
        with pytest.raises(KeyboardInterrupt):
            memory.add(message(picture()))
    assert len(files(folder)) == 1
    assert "sweep" in [job.kind for job in memory.jobs.list(JobState.QUEUED)]
    clock.advance(hours=2)
    memory.jobs.run()
    assert files(folder) == []
    (page,) = memory.add(message(picture()))
    clock.advance(hours=2)
    memory.jobs.run()
    assert memory.pages.attachment(page, CAT_ID).data == CAT


def test_bytes_of_an_add_that_was_interrupted_are_removed_at_once(open_memory, folder, monkeypatch):
    memory = open_memory()
    with monkeypatch.context() as patch:
        patch.setattr("memoryos.operation.intake.arrival.Arrival.store", _dies)
        with pytest.raises(KeyboardInterrupt):
            memory.add(message(picture()))
    assert files(folder) == []
    (page,) = memory.add(message(picture()))
    assert memory.pages.attachment(page, CAT_ID).data == CAT


def _dies(*_):
    raise KeyboardInterrupt


def _does_nothing(*_):
    pass


def test_bytes_that_cannot_be_removed_now_are_removed_later(open_memory, folder, clock, monkeypatch):
    memory = open_memory()
    (page,) = memory.add(message(picture()))
    with monkeypatch.context() as patch:
        patch.setattr(SqlVault, "sweep_blobs", _is_away)
        memory.delete(page)
    assert len(files(folder)) == 1
    clock.advance(hours=1)
    memory.jobs.run()
    assert files(folder) == []
    with memory._engine.vault.read(memory._scope) as reader:
        assert reader.blobs.next_removal() is None


def _is_away(*_):
    raise ObjectsUnreachable("away")


def test_a_store_without_a_place_for_bytes_says_so(open_memory, back_end):
    memory = open_memory(object_store=None)
    if back_end == "sqlite":  # which has a folder beside it
        assert memory.pages.attachments(memory.add(message(picture()))[0])
        return
    with pytest.raises(InvalidInput, match="MEMORYOS_OBJECT_STORE"):
        memory.add(message(picture()))
    assert memory.pages.list() == []


def work_with(open_memory, user: str, pages: int) -> list[int]:
    """What SQLite does in each write transaction that removes the bytes of one of so many pages with attachments."""
    memory = open_memory(user, short_term_capacity=1)
    ids = [memory.add(message(picture(f"{user} {one}".encode(), f"a cat {one}")))[0] for one in range(pages)]
    memory.wait()
    with database_work(memory._engine.vault) as taken, memory._engine.vault.write(memory.scope) as writer:
        writer.delete(ids[:1])
    return taken[1:]


@pytest.mark.file  # the lock of the whole file
def test_the_bytes_that_go_with_one_memory_do_not_cost_more_beside_those_of_others(open_memory):
    """All bytes of the owner were looked at under the write lock: 49 ms for 2,000."""
    few, many = work_with(open_memory, "ann", 20), work_with(open_memory, "ben", 80)
    assert len(many) == 2
    assert max(many) < 1.5 * max(few)


@pytest.mark.file
def test_many_attachments_are_noted_with_few_statements(open_memory):
    """Three statements for each were sent under the write lock: 340 ms for 640 in a branch."""
    memory = open_memory(short_term_capacity=1)
    engine = memory._engine.vault._kept_writer().engine
    sent: list[str] = []

    def noted(_connection, _cursor, statement, *_rest):
        sent.append(statement)

    event.listen(engine, "before_cursor_execute", noted)
    memory.add(message(*(picture(bytes([number]) * 9, f"cat {number}") for number in range(60))))
    assert len([one for one in sent if "blobs" in one or "attached" in one]) < 10
    assert len(memory.pages.list()[0].payload.turns[0].attachments) == 60


def steps_with(open_memory, user: str, attachments: int) -> list[int]:
    """The calls in each write transaction that deletes one of two pages of one talk with so many attachments each."""
    memory = open_memory(user, short_term_capacity=1)
    pictures = [[picture(f"{user} {page} {one}".encode(), "a cat") for one in range(attachments)] for page in range(2)]
    ids = [memory.add(message(*some))[0] for some in pictures]
    memory.add("Bye.")
    memory.wait()
    with locks_of(memory._engine.vault) as taken:
        memory.delete(ids[0])
    assert len(memory.pages.attachments(ids[1])) == attachments
    return taken


@pytest.mark.once
def test_the_end_of_a_page_with_many_attachments_is_no_work_of_python_for_each(open_memory):
    """Of 2,000, each was asked for by itself under the write lock, and so were those of the page behind it: 55 ms."""
    steps_with(open_memory, "warm", 2)
    few, many = steps_with(open_memory, "ann", 10), steps_with(open_memory, "ben", 210)
    assert many[0] < 1.1 * few[0]  # what is behind it removes the bytes, some at a time


def test_bytes_are_noted_some_at_a_time(open_memory, monkeypatch):
    """2,000 of them were noted in one transaction."""
    monkeypatch.setattr(parcels, "NOTED_AT_ONCE", 4)
    memory, noted = open_memory(), list[int]()
    begin = BlobPart.begin

    def counting(part, blobs, **until):
        noted.append(len(blobs))
        begin(part, blobs, **until)

    monkeypatch.setattr(BlobPart, "begin", counting)
    (page,) = memory.add(message(*(picture(bytes([number]) * 9, f"cat {number}") for number in range(10))))
    assert noted == [4, 4, 2]
    read = [memory.pages.attachment(page, one.id).data for one in memory.pages.attachments(page)]
    assert read == [bytes([number]) * 9 for number in range(10)]


@pytest.mark.once
@pytest.mark.parametrize("told", [5, None, ["QQ=="], {"data": "QQ=="}, "QQ", "é==="])
def test_bytes_of_an_export_that_are_no_base64_are_refused_with_their_line(open_memory, tmp_path, told):
    whole, changed = tmp_path / "whole.jsonl", tmp_path / "changed.jsonl"
    memory = open_memory()
    memory.add(message(picture()))
    memory.export(whole)
    lines = [json.loads(line) for line in whole.read_text("utf-8").splitlines()]
    (number,) = (number for number, line in enumerate(lines) if "blobs" in line)
    lines[number]["blobs"][0]["base64"] = told
    changed.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with MemoryOS.open(tmp_path / "other.db", settings=load_settings(embedder="hashing")) as other:
        with pytest.raises(InvalidInput, match=f"line {number + 1} holds no memory"):
            other.admin.load(changed)
        assert other.admin.scopes() == []


COPIES = {
    "branch": lambda memory, _: memory.branches.create("trial"),
    "export": lambda memory, folder: memory.export(folder / "all.jsonl"),
}


@pytest.mark.once
@pytest.mark.parametrize("copy", COPIES)
def test_a_page_with_many_attachments_is_copied_in_proportion_to_them(open_memory, tmp_path, monkeypatch, copy):
    """For each of 2,000, all of them were looked through: 16 s for a branch of three such pages."""
    read, looked = BlobRef.read, list[str | None]()
    memory = open_memory()
    memory.add(message(*(picture(bytes([number]) * 9, f"cat {number}") for number in range(40))))
    memory.wait()
    monkeypatch.setattr(BlobRef, "read", lambda uri: looked.append(uri) or read(uri))
    COPIES[copy](memory, tmp_path)
    assert len(looked) <= 5 * 40
