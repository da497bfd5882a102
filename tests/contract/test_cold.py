"""Cold pages: into the object store and back, with both kinds of store and of object store."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest

import memoryos
from memoryos import Memory, stores
from memoryos.config import load_settings
from memoryos.cube import Turn, to_json
from memoryos.errors import InvalidInput, NotFound, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.cold.pack import Pack
from memoryos.infrastructure.vault.records import JobKind, JobState, Operation
from memoryos.infrastructure.vault.session import SqlWriter
from memoryos.kinds import Kind, Role, Tier
from memoryos.models.hashing import Hashing
from memoryos.operation.maintenance import cooler
from memoryos.operation.scheduler.job_runner import MOST_TRIES
from memoryos.scope import Scope
from public import store_of

TOM = Scope(user="tom")
QUIET = {"extract_within_seconds": None, "recent_within_seconds": None}  # no job but those that are asked for
TALK = (
    ("My telescope shows the rings of Saturn, it is called zqsaturn.", "Saturn's rings need a good telescope."),
    ("土星的光环在望远镜里很漂亮，我的望远镜叫小明。", "望远镜要放稳。"),
    ("I like spicy noodle soup with garlic and ginger.", "Garlic and ginger go well with noodle soup."),
    ("I play football and we won the final match.", "Football teams love a final match."),
    ("I hate my tax return and the accountant.", "Accountants like a tax return."),
    ("The garden needs water and the roses bloom.", "Roses drink a lot of water."),
    ("My sister plays the violin in an orchestra.", "An orchestra has many violins."),
    ("The train to Vienna was late again.", "Trains to Vienna are often late."),
)


@pytest.fixture
def memory(open_memory, objects) -> Memory:
    """A memory whose first pages are archived, and nothing is cold yet."""
    memory = open_memory(object_store=objects.url, mid_term_capacity=1, **QUIET)
    talk(memory)
    assert len(memory.pages.list(tier=Tier.ARCHIVE)) >= 3
    return memory


def talk(memory: Memory) -> None:
    memory.add_many(
        Turn(role=role, text=text)
        for pair in TALK
        for role, text in zip((Role.USER, Role.ASSISTANT), pair, strict=True)
    )
    memory.wait()


def names(objects) -> list[str]:
    return sorted(path.name for path in objects.folder.glob("*")) if objects.folder.exists() else []


def cold(memory: Memory) -> dict[str, str]:
    """The packs of the cold pages, as the store has them."""
    with memory._engine.vault.read(TOM) as reader:
        pages = [passage.page for passage in reader.passages()]
        return reader.cold(pages)


def documents(memory: Memory) -> dict[str, str]:
    return {page.id: to_json(page) for page in memory.pages.list()}


def sweep(memory: Memory, clock) -> None:
    clock.advance(hours=2)
    store_of(memory).admin.cool(after_days=10_000)


def test_a_pack_has_so_many_characters(memory, monkeypatch):
    """64 pages of any size were one pack, which goes out and comes back under the write lock."""
    before, count = documents(memory), len(memory.pages.list(tier=Tier.ARCHIVE))
    monkeypatch.setattr(cooler, "CHARS_AT_ONCE", max(map(len, before.values())))
    moved = store_of(memory).admin.cool(after_days=0)
    assert (moved.pages, moved.packs) == (count, count)
    assert documents(memory) == before


def test_pages_go_out_and_are_read_byte_for_byte(memory, objects):
    before, archived = documents(memory), {page.id for page in memory.pages.list(tier=Tier.ARCHIVE)}
    moved = store_of(memory).admin.cool(after_days=0)
    assert (moved.pages, moved.packs) == (len(archived), 1)
    assert set(cold(memory)) == archived
    assert names(objects) == sorted(set(cold(memory).values()))
    assert documents(memory) == before
    lines = gzip.decompress((objects.folder / names(objects)[0]).read_bytes()).decode()
    assert "小明" in lines  # readable with zcat, in whatever language
    assert store_of(memory).admin.cool(after_days=0).pages == 0


def test_only_what_nobody_visited_for_so_long_goes(memory, clock):
    clock.advance(days=10)
    seen = memory.pages.list(tier=Tier.ARCHIVE)[0]
    memory.search("zqsaturn", pages=1)
    memory.close()
    assert memory.settings.cold_after_days is None
    with memoryos.open(
        memory_place(memory), user="tom", settings=memory.settings, embedder=Hashing(), clock=clock
    ) as m:
        store_of(m).admin.cool(after_days=5)
        assert "zqsaturn" in seen.text
        assert seen.id not in cold(m)
        assert cold(m)


def memory_place(memory: Memory):
    engine = memory._engine.vault._engine
    return engine.url.database if engine.dialect.name == "sqlite" else engine.url.render_as_string(hide_password=False)


def test_a_search_finds_them_on_request_and_they_come_back(memory, objects, clock):
    store_of(memory).admin.cool(after_days=0)
    assert all("zqsaturn" not in hit.text for hit in memory.search("zqsaturn", strategy="bm25").hits)
    assert memory.search("zqsaturn", strategy="bm25", archive=True).hits == ()
    found = memory.search("zqsaturn", strategy="bm25", cold=True).hits
    assert ["zqsaturn" in hit.text for hit in found] == [True]
    memory.wait()
    assert found[0].id not in cold(memory)
    assert memory.get(found[0].id).behaviour.visits == 1
    assert "zqsaturn" in memory.search("zqsaturn", strategy="bm25").hits[0].text
    sweep(memory, clock)
    assert names(objects) == []
    store_of(memory).admin.cool(after_days=0)
    assert found[0].id in cold(memory)


@pytest.mark.parametrize("strategy", ["hybrid", "dense", "two_stage"])
def test_every_strategy_finds_chinese_words_on_request(memory, strategy):
    store_of(memory).admin.cool(after_days=0)
    found = memory.search("望远镜叫什么名字？", strategy=strategy, pages=20, cold=True, archive=True)
    assert any("小明" in hit.text for hit in found.hits)
    left_out = memory.search("望远镜叫什么名字？", strategy=strategy, pages=20, archive=True)
    assert cold(memory).keys().isdisjoint(hit.id for hit in left_out.hits) or not cold(memory)


def test_they_are_left_out_and_found_through_a_candidate_index_too(memory, back_end):
    assert memory.upkeep.index() == (back_end == "postgres")
    memory.search("zqsaturn")
    store_of(memory).admin.cool(after_days=0)
    assert cold(memory).keys().isdisjoint(hit.id for hit in memory.search("zqsaturn telescope", pages=20).hits)
    found = memory.search("zqsaturn telescope", pages=20, cold=True).hits
    assert set(cold(memory)) <= {hit.id for hit in found}
    memory.wait()
    assert cold(memory) == {}
    assert "zqsaturn" in memory.search("zqsaturn telescope").hits[0].text


def test_one_that_is_asked_for_by_its_id_comes_back(memory):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    assert memory.get(page.id) == page
    memory.wait()
    assert page.id not in cold(memory)


def test_the_log_tells_of_both(memory):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    memory.get(page.id)
    memory.wait()
    told = [event.operation for event in memory.log.events() if event.cube_id == page.id]
    assert told[-4:] == [Operation.COOL, Operation.WARM, Operation.VISIT, Operation.TRANSITION]


def test_as_of_and_history_read_a_cold_page(memory, clock):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    memory.update(page.id, "My telescope is called zqjupiter.")
    store_of(memory).admin.cool(after_days=0)
    assert page.id in cold(memory)
    words = [version.text.split("\n")[0] for version in memory.history(page.id)]
    assert ["zqsaturn" in words[0], "zqjupiter" in words[1]] == [True, True]
    found = memory.search("zqjupiter", strategy="bm25", cold=True, as_of=clock.now).hits
    assert [hit.id for hit in found] == [page.id]


def test_an_update_brings_it_back(memory):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    memory.update(page.id, "It is called zqjupiter now.")
    assert cold(memory) == {}
    assert "zqjupiter" in memory.get(page.id).text


def test_what_is_deleted_is_nowhere(memory, objects, clock):
    page, *others = memory.pages.list(tier=Tier.ARCHIVE)
    before = {one.id: one for one in others}
    store_of(memory).admin.cool(after_days=0)
    memory.delete(page.id)
    with pytest.raises(NotFound):
        memory.get(page.id)
    assert {one: memory.get(one).text for one in before} == {one: kept.text for one, kept in before.items()}
    sweep(memory, clock)
    assert names(objects) == []
    store_of(memory).admin.cool(after_days=0)
    assert names(objects)
    packed = b"".join(gzip.decompress((objects.folder / name).read_bytes()) for name in names(objects))
    assert b"zqsaturn" not in packed


def test_what_came_back_and_is_deleted_is_nowhere(memory, objects, clock):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    memory.get(page.id)
    memory.wait()
    memory.delete(page.id)
    sweep(memory, clock)
    assert names(objects) == []


@pytest.mark.parametrize("objects", ["s3", "az"], indirect=True)
def test_what_was_deleted_is_removed_after_the_bucket_was_mistaken_for_another(memory, objects, clock, open_memory):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    memory.delete(page.id)
    memory.close()  # it would sweep by itself
    mistaken = open_memory(object_store=objects.url_of_no_bucket)
    with pytest.raises(ObjectsUnreachable, match="no such bucket"):
        sweep(mistaken, clock)
    assert names(objects)
    sweep(open_memory(object_store=objects.url), clock)
    assert names(objects) == []


def test_a_deletion_waits_for_the_object_store(memory, objects, clock, open_memory):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    forget_held(memory)
    objects.go_away()
    with pytest.raises(ObjectsUnreachable, match="deletion is recorded"):
        memory.delete(page.id)
    memory.wait()
    assert [job.kind for job in memory.jobs.list(JobState.QUEUED)] == [JobKind.ERASE]
    for _ in range(MOST_TRIES + 1):  # it is never given up
        clock.advance(hours=1)
        memory.jobs.run()
    assert [job.kind for job in memory.jobs.list(JobState.QUEUED)] == [JobKind.ERASE]
    objects.come_back()
    clock.advance(hours=1)
    memory.jobs.run()
    with pytest.raises(NotFound):
        memory.get(page.id)
    assert memory.jobs.list() == []
    sweep(memory, clock)
    assert names(objects) == []


def forget_held(memory: Memory) -> None:
    """As another process sees it, which has read no pack yet."""
    memory._engine.vault.packs._held.clear()


def test_while_the_object_store_is_away_the_rest_goes_on(memory, objects):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    forget_held(memory)
    objects.go_away()
    with pytest.raises(ObjectsUnreachable):
        memory.search("zqsaturn", cold=True)
    with pytest.raises(ObjectsUnreachable):
        memory.get(page.id)
    assert memory.search("train to Vienna").hits
    added = memory.add("The train to Graz was on time.")
    memory._engine.housekeeping.visited(TOM, [page.id, added], memory._engine.clock())
    memory._engine.housekeeping.queued(TOM)
    memory.wait()
    assert memory.get(added).behaviour.visits == 1
    objects.come_back()
    memory._engine.housekeeping.queued(TOM)
    memory.wait()
    assert "zqsaturn" in memory.get(page.id).text


def test_what_expired_and_is_in_the_store_goes_while_the_object_store_is_away(memory, objects, clock):
    memory.governance.retain("a day", ttl=timedelta(days=1))
    memory.wait()
    store_of(memory).admin.cool(after_days=0)
    away = set(cold(memory))
    assert away
    clock.advance(hours=1)
    near = memory.add("The train to Graz was on time.")
    forget_held(memory)
    objects.go_away()
    clock.advance(days=1)
    memory.jobs.run()
    with memory._engine.vault.read(TOM) as reader:
        assert reader.kinds([near, *away]).keys() == away
    assert [job.kind for job in memory.jobs.list(JobState.QUEUED)] == [JobKind.EXPIRE]
    objects.come_back()
    clock.advance(hours=1)
    memory.jobs.run()
    with memory._engine.vault.read(TOM) as reader:
        assert reader.kinds(away) == {}
    sweep(memory, clock)
    assert names(objects) == []


def test_nothing_goes_out_while_it_is_away(memory, objects, clock):
    before = documents(memory)
    objects.go_away()
    with pytest.raises(ObjectsUnreachable):
        store_of(memory).admin.cool(after_days=0)
    assert cold(memory) == {}
    assert documents(memory) == before
    objects.come_back()
    sweep(memory, clock)
    with memory._engine.vault.read(TOM) as reader:
        assert reader.packs() == {}


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped", "empty"])
def test_damage_is_an_error_that_names_the_pack_and_spares_the_rest(memory, objects, damage):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    rest = [one.id for one in memory.pages.list() if one.tier is not Tier.ARCHIVE]
    store_of(memory).admin.cool(after_days=0)
    forget_held(memory)
    (name,) = names(objects)
    kept = memory._engine.vault.packs._objects  # behind its back, a server would take a while to see what was changed
    whole = kept.get(name)
    middle = len(whole) // 2
    harm = {
        "cut": whole[:-5],
        "empty": b"",
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    }
    if damage == "missing":
        kept.remove(name)
    else:
        kept.put(name, harm[damage])
    for read in (lambda: memory.get(page.id), lambda: memory.search("zqsaturn", cold=True), memory.pages.list):
        with pytest.raises(StoreCorrupt, match=name):
            read()
    assert [memory.get(one).id for one in rest] == rest
    assert memory.search("train to Vienna").hits
    memory.wait()
    kept.put(name, whole)
    assert "zqsaturn" in memory.get(page.id).text


def test_a_pack_whose_page_changes_meanwhile_is_not_used(memory, objects, clock):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    put = memory._engine.vault.packs._objects.put

    def put_late(name, data):
        put(name, data)
        memory.update(page.id, "It is called zqjupiter now.")

    memory._engine.vault.packs._objects.put = put_late
    assert store_of(memory).admin.cool(after_days=0).pages == 0
    memory._engine.vault.packs._objects.put = put
    assert cold(memory) == {}
    assert "zqjupiter" in memory.get(page.id).text
    sweep(memory, clock)
    assert names(objects) == []


def packed(objects) -> bytes:
    """The bytes of all packs, unpacked."""
    return b"".join(gzip.decompress((objects.folder / name).read_bytes()) for name in names(objects))


class Killed(BaseException):
    """Ends the program."""


@pytest.mark.parametrize("what", ["erase", "forget", "delete"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_is_erased_while_a_pack_is_written_is_in_none(memory, open_memory, objects, monkeypatch, moment, what):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    assert "zqsaturn" in page.text
    other, kept, receipts = open_memory(object_store=objects.url, **QUIET), memory._engine.vault.packs._objects, []
    put = kept.put

    def erased() -> None:
        if what == "delete":
            other.delete(page.id)
        else:
            receipts.append((other.governance.erase(page.id) if what == "erase" else other.forget()).receipt)

    def put_late(name, data):
        monkeypatch.setattr(kept, "put", put)
        if moment == "before":
            erased()
        put(name, data)
        if moment == "after":
            assert b"zqsaturn" in packed(objects)
            erased()

    monkeypatch.setattr(kept, "put", put_late)
    assert store_of(memory).admin.cool(after_days=0).pages == 0
    assert b"zqsaturn" not in packed(objects)
    in_flight = {"packs": 1} if moment == "before" else {}
    assert [one.left for one in receipts] == ([] if what == "delete" else [in_flight])
    if what == "forget":
        return
    assert store_of(memory).admin.cool(after_days=0).pages > 0
    assert b"zqsaturn" not in packed(objects)


@pytest.mark.parametrize("what", ["erase", "forget"])
def test_what_is_erased_after_its_document_was_read_for_a_pack_is_never_packed(
    memory, open_memory, objects, monkeypatch, what
):
    """The documents of a pack are read some time before it is begun; whoever writes it is killed then."""
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    other, of, receipts = open_memory(object_store=objects.url, **QUIET), Pack.of, []

    def packed_late(documents):
        if not receipts:
            receipts.append((other.governance.erase(page.id) if what == "erase" else other.forget()).receipt)
        return of(documents)

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Pack, "of", packed_late)
        patch.setattr(SqlWriter, "cool", killed)
        assert store_of(memory).admin.cool(after_days=0).packs == 0
    assert ([one.left for one in receipts], names(objects)) == ([{}], [])


@pytest.mark.parametrize("what", ["erase", "forget"])
def test_a_pack_that_comes_after_its_owner_erased_something_goes_within_the_hour(
    memory, open_memory, objects, monkeypatch, clock, what
):
    """Whoever wrote it is killed when its bytes are there: the receipt tells of it, and a sweep still knows it."""
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    other, kept, receipts = open_memory(object_store=objects.url, **QUIET), memory._engine.vault.packs._objects, []
    put = kept.put

    def put_late(name, data):
        receipts.append((other.governance.erase(page.id) if what == "erase" else other.forget()).receipt)
        put(name, data)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(kept, "put", put_late)
        store_of(memory).admin.cool(after_days=0)
    assert b"zqsaturn" in packed(objects)
    assert [one.left for one in receipts] == [{"packs": 1}]
    sweep(other, clock)
    assert names(objects) == []
    with other._engine.vault.read(TOM) as reader:
        assert reader.packs() == {}


@pytest.mark.parametrize("before", [0, 1])
def test_a_receipt_counts_a_pack_in_flight_once_where_there_are_branches(
    memory, open_memory, objects, monkeypatch, before
):
    """That of the owner is the first, that of the branch the second."""
    memory.branches.create("try")
    other, receipts, written = open_memory(object_store=objects.url, **QUIET), [], []
    kept = memory._engine.vault.packs._objects
    put = kept.put

    def put_late(name, data):
        if len(written) == before:
            receipts.append(other.forget().receipt)
        written.append(name)
        put(name, data)

    with monkeypatch.context() as patch:
        patch.setattr(kept, "put", put_late)
        store_of(memory).admin.cool(after_days=0)
    assert [one.left for one in receipts] == [{"packs": 1}]


@pytest.mark.parametrize("what", ["erase", "forget"])
def test_a_receipt_counts_a_draft_that_was_removed(memory, open_memory, objects, monkeypatch, what):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    left_by_a_killed_writer(memory, monkeypatch)
    drafts = len(names(objects))
    other = open_memory(object_store=objects.url, **QUIET)
    gone = other.governance.erase(page.id) if what == "erase" else other.forget()
    assert (gone.packs, gone.places["packs"], names(objects), drafts > 0) == (drafts, drafts, [], True)


@pytest.mark.parametrize("minutes", [0, 56])
def test_what_is_erased_after_a_writer_of_a_pack_was_killed_is_in_none(
    memory, open_memory, objects, monkeypatch, clock, minutes
):
    page, *others = memory.pages.list(tier=Tier.ARCHIVE)
    left_by_a_killed_writer(memory, monkeypatch)
    assert b"zqsaturn" in packed(objects)
    clock.advance(minutes=minutes)
    gone = open_memory(object_store=objects.url, **QUIET).governance.erase(page.id)
    assert (gone.is_complete, names(objects)) == (True, [])
    sweep(memory, clock)
    with memory._engine.vault.read(TOM) as reader:
        assert reader.packs() == {}
    assert all(memory.get(one.id).text == one.text for one in others)


def left_by_a_killed_writer(memory, monkeypatch) -> None:
    """A pack in the object store that was never put in use."""

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SqlWriter, "cool", killed)
        store_of(memory).admin.cool(after_days=0)


def test_a_damaged_pack_that_was_never_in_use_is_removed_by_an_erase(memory, open_memory, objects, monkeypatch):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    left_by_a_killed_writer(memory, monkeypatch)
    other = open_memory(object_store=objects.url, **QUIET)

    def damaged(_):
        raise StoreCorrupt("an object is damaged")

    with monkeypatch.context() as patch:
        patch.setattr(other._engine.vault.packs._objects, "get", damaged)
        gone = other.governance.erase(page.id)
    assert (gone.is_complete, names(objects)) == (True, [])


def test_an_erase_while_the_file_of_a_pack_is_written_ends_no_move(memory, open_memory, objects, monkeypatch):
    """It removes the file, so it cannot get its final name."""
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    other, kept, receipts = open_memory(object_store=objects.url, **QUIET), memory._engine.vault.packs._objects, []
    put = kept.put

    def put_away(name, data):
        if not receipts:
            receipts.append(other.governance.erase(page.id).receipt)
            raise ObjectsUnreachable("the file to rename is not there")
        put(name, data)

    monkeypatch.setattr(kept, "put", put_away)
    assert store_of(memory).admin.cool(after_days=0).pages == 0
    assert store_of(memory).admin.cool(after_days=0).pages > 0
    assert b"zqsaturn" not in packed(objects)


def test_an_erase_removes_packs_of_a_branch_that_were_never_in_use(memory, open_memory, objects, monkeypatch):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    memory.branches.create("try")
    cool = SqlWriter.cool

    def killed(writer, pack):
        if page.id not in pack.documents and b"zqsaturn" in gzip.decompress(pack.data):
            raise Killed
        return cool(writer, pack)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SqlWriter, "cool", killed)
        store_of(memory).admin.cool(after_days=0)
    assert b"zqsaturn" in packed(objects)
    gone = open_memory(object_store=objects.url, **QUIET).governance.erase(page.id)
    assert gone.is_complete
    left = {name for name in names(objects) if b"zqsaturn" in gzip.decompress((objects.folder / name).read_bytes())}
    with memory._engine.vault.read(TOM) as reader:
        known = reader.packs()
    assert left <= {name for name, at in known.items() if at is not None}  # that was in use goes in five minutes


def test_a_pack_that_took_too_long_is_not_used(memory, objects, clock):
    put = memory._engine.vault.packs._objects.put

    def put_late(name, data):
        put(name, data)
        clock.advance(hours=2)

    memory._engine.vault.packs._objects.put = put_late
    assert store_of(memory).admin.cool(after_days=0).pages == 0
    assert cold(memory) == {}
    assert len(documents(memory)) == len(TALK)


def test_a_session_that_began_before_reads_on(memory):
    archived = memory.pages.list(tier=Tier.ARCHIVE)
    with memory._engine.vault.read(TOM) as before:
        before.sequence()
        store_of(memory).admin.cool(after_days=0)
        assert before.get(page.id for page in archived) == {page.id: page for page in archived}
    with memory._engine.vault.read(TOM) as between:
        between.sequence()
        memory.get(archived[0].id)
        memory.wait()
        forget_held(memory)
        assert between.get(page.id for page in archived) == {page.id: page for page in archived}


def test_it_happens_by_itself(open_memory, objects, clock):
    memory = open_memory(object_store=objects.url, cold_after_days=1, mid_term_capacity=1, **QUIET)
    talk(memory)
    assert cold(memory) == {}
    clock.advance(days=2)
    memory.add("One more page.")
    memory.wait()
    assert cold(memory)


def test_it_has_to_be_told_where_and_when(open_memory, objects):
    with pytest.raises(InvalidInput, match="object_store"):
        store_of(open_memory()).admin.cool(after_days=0)
    with pytest.raises(InvalidInput, match="after_days"):
        store_of(open_memory(object_store=objects.url)).admin.cool()


def test_a_backup_and_a_copy_hold_the_documents_themselves(memory, objects, tmp_path, clock):
    before = documents(memory)
    store_of(memory).admin.cool(after_days=0)
    settings = load_settings(object_store=objects.url)
    stores.backup(memory_place(memory), tmp_path / "backup.db", settings=settings)
    objects.go_away()
    try:
        assert stores.verify(tmp_path / "backup.db").is_sound
        stores.restore(tmp_path / "backup.db", tmp_path / "restored.db")
        with memoryos.open(tmp_path / "restored.db", user="tom", embedder=Hashing(), clock=clock) as restored:
            assert documents(restored) == before
            assert cold(restored) == {}
        forget_held(memory)
        with pytest.raises(ObjectsUnreachable):
            stores.copy(memory_place(memory), tmp_path / "copy.db", settings=settings)
    finally:
        objects.come_back()
    stores.copy(memory_place(memory), tmp_path / "copy.db", settings=settings)
    assert stores.verify(tmp_path / "copy.db").is_sound


def test_verify_reads_the_packs(memory, objects):
    store_of(memory).admin.cool(after_days=0)
    settings = load_settings(object_store=objects.url)
    assert stores.verify(memory_place(memory), settings=settings).is_sound
    (name,) = names(objects)
    memory._engine.vault.packs._objects.put(name, b"something else")
    found = stores.verify(memory_place(memory), settings=settings).damages
    assert {(one.fault, one.id) for one in found} == {("cold", page) for page in cold(memory)}
    assert all(name in one.detail for one in found)
    assert not stores.verify(memory_place(memory)).is_sound  # what cannot be read cannot be called sound


def test_other_vectors_and_a_rebuild_read_cold_pages(memory, objects, clock):
    before = {page.id: page.text for page in memory.pages.list()}
    store_of(memory).admin.cool(after_days=0)
    memory.upkeep.rebuild()
    assert {page.id: page.text for page in memory.pages.list()} == before
    assert memory.segments.list(archive=True)


def test_two_that_bring_back_and_sweep_at_once_lose_nothing(memory, open_memory, objects, clock):
    archived = memory.pages.list(tier=Tier.ARCHIVE)
    store_of(memory).admin.cool(after_days=0)
    other = open_memory(object_store=objects.url, mid_term_capacity=1)
    other.get(archived[0].id)
    memory.get(archived[1].id)
    memory.wait(), other.wait()
    sweep(memory, clock)
    sweep(other, clock)
    assert names(objects) == []
    with memory._engine.vault.read(TOM) as reader:
        assert {page.id for page in reader.cubes(Kind.PAGE, tiers=[Tier.ARCHIVE])} >= {page.id for page in archived}
        assert reader.packs() == {}


def test_a_pack_stays_for_a_while_after_its_pages_came_back(memory, objects, clock):
    page = memory.pages.list(tier=Tier.ARCHIVE)[0]
    store_of(memory).admin.cool(after_days=0)
    memory.get(page.id)
    memory.wait()
    with memory._engine.vault.read(TOM) as reader:
        assert list(reader.packs().values()) == [clock.now + timedelta(minutes=5)]
    assert store_of(memory).admin.cool(after_days=10_000).removed == 0
    assert names(objects)
