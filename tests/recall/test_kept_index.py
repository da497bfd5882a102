"""The index of a large owner, kept beside the store for the next process: it changes no answer, and keeps no word."""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from uuid_utils.compat import uuid7

import memoryos
from forked import fork
from memoryos import Memory, Scope, stores
from memoryos.infrastructure.vault import index_files
from memoryos.infrastructure.vault.records import Operation
from memoryos.models.hashing import Hashing
from memoryos.operation.index import keeper as keeper_module
from memoryos.operation.index import resident as resident_module
from memoryos.operation.index.arrays import NOT_KEPT, ArrayReader, ArrayWriter
from memoryos.operation.index.column import Matrix
from memoryos.operation.index.keeper import Keeper
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.maintenance import housekeeping
from memoryos.operation.scheduler import background

from .conftest import ANN, QUESTIONS, assert_same_by_each, by_strategy, dialogue
from .test_following import known, step

pytestmark = pytest.mark.file

SECRET = "plimpsofrag"


@pytest.fixture(autouse=True)
def every_scope_is_large(monkeypatch):
    monkeypatch.setattr(resident_module, "_LARGE", 1)
    monkeypatch.setattr(resident_module, "_MOVED_ON", 1)


def folder(path: Path) -> Path:
    return path.with_name(f"{path.name}.index")


def files(path: Path) -> list[Path]:
    return sorted(folder(path).glob("*"))


def everything(path: Path) -> bytes:
    """All that lies on the disk for a store, and beside it."""
    beside = [file for file in path.parent.rglob("*") if file.is_file() and file.relative_to(path.parent).parts]
    return b"".join(file.read_bytes() for file in beside)


@pytest.fixture
def kept(path, open_memory) -> Path:
    """A store beside which an index lies."""
    memory = open_memory(path)
    memory.search("honey")
    memory.close()
    assert len(files(path)) == 1
    return path


@pytest.fixture
def only_on_demand(monkeypatch) -> None:
    """A memory keeps an index only when somebody waits for it; else one of after a deletion may be there soon."""
    monkeypatch.setattr(background, "QUIET_SECONDS", 1e9)  # also of a memory that was not called yet
    monkeypatch.setattr(housekeeping, "PATIENCE_SECONDS", 3600)


@pytest.fixture
def reads(monkeypatch) -> list[bool]:
    """Whether each index that was looked for was there and served."""
    found: list[bool] = []
    read = Keeper.read

    def noted(*arguments):
        index = read(*arguments)
        found.append(index is not None)
        return index

    monkeypatch.setattr(Keeper, "read", noted)
    return found


def without(path: Path, open_memory) -> dict:
    """The answers of a process that finds no index."""
    copied = path.with_name(f"{uuid7()}.db")
    stores.copy(path, copied)
    return by_strategy(open_memory(copied))


def test_answers_are_the_same_with_it(kept, open_memory, reads):
    with_it = by_strategy(open_memory(kept))
    assert reads == [True]
    assert_same_by_each(with_it, without(kept, open_memory))


def test_everything_that_is_known_is_the_same_with_it(path, open_memory, long):
    """In every state that a memory comes into; what was kept serves until a page loses words."""
    memory, chance = open_memory(path, short_term_capacity=3, mid_term_capacity=2), random.Random(4)
    keeper, served = Keeper(memory._engine.vault, Hashing(), Hashing()), 0
    for _ in range(40 if long else 16):
        step(memory, chance)
        with memory._engine.vault.read(ANN) as reader:
            newcomer, late = Resident(Hashing.dim, Hashing(), 7), Resident(Hashing.dim, Hashing(), 7)
            newcomer.follow(reader)
            late.follow(reader, find_kept=lambda: keeper.read(ANN, reader))
            served += (is_served := late._unkept < resident_module._NEVER_KEPT)
        assert not (is_served and late.turns.postings._tail)  # what came in since is merged
        assert known(late) == known(newcomer)
        if chance.random() < 0.4:
            keeper.write(ANN, newcomer.kept())
    assert served


def test_what_others_did_since_is_followed(kept, open_memory, reads):
    other = open_memory(kept)
    page = other.add("The zanzibarquux is in the drawer.")
    other._engine.vault.index_files = None  # it keeps no newer one
    other.wait()
    memory = open_memory(kept)
    assert memory.search("Where is the zanzibarquux?").hits[0].id == page
    assert reads[-1]
    assert_same_by_each(by_strategy(memory), without(kept, open_memory))


@pytest.mark.parametrize(
    ("heat", "operation"), [(1_000, Operation.MOVE), (0, Operation.PROMOTE)], ids=["moves", "jobs"]
)
def test_one_is_kept_of_what_was_written_last(path, open_memory, reads, monkeypatch, heat, operation):
    """More events than are followed, after the index was read for the moves and the jobs that wrote them."""
    monkeypatch.setattr(keeper_module, "FOLLOWED", 5)
    monkeypatch.setattr(keeper_module, "_ROWS_AN_EVENT", 1_000)
    memory = open_memory(path, short_term_capacity=3, mid_term_capacity=6, heat_threshold=heat)
    memory.add_many(dialogue(60, seed=5))
    memory.close()
    late = open_memory(path)
    with late._engine.vault.read(ANN) as reader:
        written = [event.operation for event in reader.events(limit=1_000)]
    assert written.count(operation) > keeper_module.FOLLOWED
    reads.clear()
    late.search("honey")
    assert reads == [True]
    assert_same_by_each(by_strategy(late), without(path, open_memory))


CHANGES: dict[str, Callable[[Memory, str], object]] = {
    "delete": lambda memory, page: memory.delete(page),
    "update": lambda memory, page: memory.update(page, "nothing of that"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_word_of_a_page_stays_on_the_disk(only_on_demand, path, open_memory, change):
    memory = open_memory(path)
    page = memory.add(f"The {SECRET} is under the mat.")
    memory.search("honey")
    memory.wait()
    assert SECRET.encode() in b"".join(file.read_bytes() for file in files(path))
    change(open_memory(path), page)
    assert files(path) == []  # at once: whoever kept it is still there


@pytest.mark.parametrize("embedder_runs", [1, 2])
def test_what_is_deleted_is_nowhere_when_all_are_closed(tmp_path, open_memory, embedder_runs):
    path = tmp_path / "alone" / "memory.db"
    path.parent.mkdir()
    memory = open_memory(path)
    memory.add_many(dialogue(20))
    for _ in range(embedder_runs):
        memory.delete(memory.add(f"The {SECRET} is under the mat."))
        memory.search("honey")
        memory.wait()
    memory.close()
    late = open_memory(path)
    late.search("honey")
    late.close()
    assert len(files(path)) == 1
    assert SECRET.encode() not in everything(path)


def test_an_index_from_before_a_deletion_is_not_read_and_goes(kept, open_memory, tmp_path):
    """Also when the process that deleted died before it could remove it."""
    before = tmp_path / "before"
    shutil.copytree(folder(kept), before)
    doomed = open_memory(kept)
    doomed.delete(doomed.pages.list()[0].id)
    doomed.wait()  # the background uses the files, too
    doomed._engine.vault.index_files = None
    doomed.close()
    shutil.copytree(before, folder(kept), dirs_exist_ok=True)
    memory = open_memory(kept)
    with memory._engine.vault.read(ANN) as reader:
        assert Keeper(memory._engine.vault, Hashing(), Hashing()).read(ANN, reader) is None
    assert files(kept) == []
    found = by_strategy(memory)
    assert_same_by_each(found, without(kept, open_memory))


def test_a_deletion_while_an_index_is_written_wins(only_on_demand, kept, open_memory, monkeypatch):
    memory = open_memory(kept)
    doomed = memory.pages.list()[0].id
    keeper = Keeper(memory._engine.vault, Hashing(), Hashing())
    resident = Resident(Hashing.dim, Hashing(), 7)
    with memory._engine.vault.read(ANN) as reader:
        resident.follow(reader)
    index, write = resident.kept(), index_files._write

    def slow(stream, bundle):
        write(stream, bundle)
        monkeypatch.setattr(index_files, "_write", write)
        memory.delete(doomed)

    monkeypatch.setattr(index_files, "_write", slow)
    assert not keeper.write(ANN, index)
    assert files(kept) == []


def test_a_deletion_just_before_an_index_is_kept_wins(only_on_demand, kept, open_memory):
    memory = open_memory(kept)
    resident = Resident(Hashing.dim, Hashing(), 7)
    with memory._engine.vault.read(ANN) as reader:
        resident.follow(reader)
    memory.delete(memory.pages.list()[0].id)
    assert not Keeper(memory._engine.vault, Hashing(), Hashing()).write(ANN, resident.kept())
    assert files(kept) == []


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _grow(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"x")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut off": _cut,
    "a bit": _flip,
    "longer": _grow,
    "empty": lambda file: file.write_bytes(b""),
    "another format": lambda file: file.write_bytes(b"memoryos index 0\n" + bytes(100)),
    "a huge header": lambda file: file.write_bytes(b"memoryos index 1\n" + b"\xff" * 8),
    "a header of another kind": lambda file: file.write_bytes(b"memoryos index 1\n" + bytes([2, *bytes(7)]) + b"[]"),
    "the header alone": lambda file: file.write_bytes(file.read_bytes()[:200]),
}


ALIKE = {"empty", "the header alone"}  # cut off, too
DAMAGED = [pytest.param(DAMAGES[name], id=name, marks=[pytest.mark.long] * (name in ALIKE)) for name in DAMAGES]


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_one_is_not_read_and_goes(kept, open_memory, reads, damage):
    damage(files(kept)[0])
    found = by_strategy(open_memory(kept))
    assert reads == [False]
    assert_same_by_each(found, without(kept, open_memory))


def test_a_new_one_takes_the_place_of_a_damaged_one(kept, open_memory, reads):
    _flip(files(kept)[0])
    for _ in range(2):
        memory = open_memory(kept)
        memory.search("honey")
        memory.close()
    assert reads == [False, True]


def test_one_of_another_history_is_not_read(kept, open_memory, reads, tmp_path):
    """As of a store that was restored from a backup, and went on another way."""
    other = tmp_path / "other.db"
    memory = open_memory(other)
    memory.add_many(dialogue(60, seed=5))
    memory.close()
    shutil.rmtree(folder(other), ignore_errors=True)
    shutil.copytree(folder(kept), folder(other))
    found = by_strategy(open_memory(other))
    assert reads[-1] is False
    assert_same_by_each(found, without(other, open_memory))


def test_a_restored_backup_answers_from_its_own_state(kept, open_memory, tmp_path):
    backup, restored = tmp_path / "backup.db", tmp_path / "restored.db"
    stores.backup(kept, backup)
    memory = open_memory(kept)
    page = memory.add(f"The {SECRET} is under the mat.")
    memory.search("honey")
    memory.close()
    assert len(files(kept)) == 1
    stores.restore(backup, restored)
    shutil.copytree(folder(kept), folder(restored))  # somebody put the file in the place of the other
    late = open_memory(restored)
    assert page not in [hit.id for hit in late.search(SECRET, archive=True).hits]
    assert_same_by_each(by_strategy(late), without(restored, open_memory))
    late.add("The zanzibarquux is in the drawer.")
    later = open_memory(restored)
    assert page not in [hit.id for hit in later.search(SECRET, archive=True).hits]


def test_a_backup_and_a_copy_take_none_along(kept, tmp_path):
    for make, name in ((stores.backup, "backup.db"), (stores.copy, "copy.db")):
        make(kept, tmp_path / name)
        assert files(tmp_path / name) == []


def test_one_of_another_program_is_not_read(kept, open_memory, reads, monkeypatch):
    monkeypatch.setattr(keeper_module, "_FORMAT", 0)
    open_memory(kept).search("honey")
    assert reads == [False]


def test_who_only_reads_uses_it_and_changes_nothing(kept, open_memory, reads):
    before = {file.name: file.read_bytes() for file in files(kept)}
    with memoryos.open(kept, user="ann", settings=open_memory(kept).settings, read_only=True) as memory:
        found = by_strategy(memory)
    assert reads == [True]
    assert {file.name: file.read_bytes() for file in files(kept)} == before
    assert_same_by_each(found, without(kept, open_memory))


def test_who_only_reads_writes_none(path, open_memory):
    shutil.rmtree(folder(path), ignore_errors=True)
    with memoryos.open(path, user="ann", settings=open_memory(path).settings, read_only=True) as memory:
        memory.search("honey")
    assert files(path) == []


def test_only_the_owner_of_the_store_may_read_it(kept):
    assert stat.S_IMODE(folder(kept).stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in files(kept)] == [0o600]


def test_others_have_their_own(kept, open_memory):
    bob = open_memory(kept, scope=Scope(user="bob", agent="default"))
    bob.delete(bob.add("I like tea"))
    bob.add("I like honey")
    bob.search("honey")
    bob.close()
    assert len(files(kept)) >= 1
    reader = open_memory(kept)
    assert [hit.id for hit in reader.search(QUESTIONS[0]).hits] != []


def test_without_room_search_does_without_it(path, open_memory):
    shutil.rmtree(folder(path), ignore_errors=True)
    folder(path).write_text("in the way")
    memory = open_memory(path)
    assert memory.search("honey").hits
    memory.close()
    folder(path).unlink()


def _dies_while_it_writes(path: Path, memory: Memory) -> None:
    resident = Resident(Hashing.dim, Hashing(), 7)
    with memory._engine.vault.read(ANN) as reader:
        resident.follow(reader)
    index, write = resident.kept(), index_files._Summed.write
    written = []

    def dying(stream, data):
        write(stream, data)
        stream._stream.flush()
        written.append(data)
        if len(written) == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    index_files._Summed.write = dying
    Keeper(memory._engine.vault, Hashing(), Hashing()).write(ANN, index)


def test_what_a_killed_process_left_is_not_read_and_goes_with_the_words(kept, open_memory, reads):
    memory = open_memory(kept)
    page = memory.add(f"The {SECRET} is under the mat.")
    memory.close()
    if (child := fork()) == 0:
        _dies_while_it_writes(kept, open_memory(kept))
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert len(files(kept)) == 2
    late = open_memory(kept)
    assert late.search(SECRET).hits[0].id == page
    assert_same_by_each(by_strategy(late), without(kept, open_memory))
    late.delete(page)
    assert files(kept) == []


def test_every_attribute_of_an_index_comes_back(open_memory, path):
    """A new column is kept without a word about it; what is not to be kept is named."""
    memory, resident = open_memory(path), Resident(Hashing.dim, Hashing(), 7)
    with memory._engine.vault.read(ANN) as reader:
        resident.follow(reader)
    resident.turns.postings.merge()
    writer, again = ArrayWriter(), TurnIndex(Hashing.dim)
    writer.write("turns", resident.turns)
    ArrayReader({name: np.asarray(array) for name, array in writer.arrays.items()}).read("turns", again)
    second = ArrayWriter()
    second.write("turns", again)
    assert {name: np.asarray(array).tolist() for name, array in second.arrays.items()} == {
        name: np.asarray(array).tolist() for name, array in writer.arrays.items()
    }
    assert set(NOT_KEPT) >= {
        name for name in vars(again) if not any(key.startswith(f"turns.{name}") for key in writer.arrays)
    } - {"_buried"}


@pytest.mark.parametrize("texts", [0, 1, 4_095, 4_096, 4_097, 9_000])
def test_every_text_comes_back_however_many_there_are(texts):
    index, again = TurnIndex(2), TurnIndex(2)
    index._page_ids = [f'{number} "蜜蜂"\n' for number in range(texts)]
    writer = ArrayWriter()
    writer.write("turns", index)
    ArrayReader({name: np.asarray(array) for name, array in writer.arrays.items()}).read("turns", again)
    assert again._page_ids == index._page_ids


@pytest.mark.parametrize(("number", "kind"), [(0.5, np.float16), (0.1, np.float32), (1e9, np.float32)])
def test_vectors_are_kept_in_half_the_bytes_where_that_loses_nothing(number, kind):
    matrix, vectors = Matrix(2), np.full((3, 2), number, np.float32)
    matrix.append(vectors)
    (block,) = matrix.blocks
    matrix.append(vectors)
    assert block.dtype == kind
    assert np.asarray(block).dtype == kind
    assert np.array_equal(np.asarray(block), vectors)


def test_what_cannot_be_kept_is_refused():
    index = TurnIndex(2)
    index.another = object()  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="another"):
        ArrayWriter().write("turns", index)


def test_which_operations_take_words_from_a_page():
    assert {Operation.DELETE, Operation.REVISE} <= keeper_module._LOSSES
