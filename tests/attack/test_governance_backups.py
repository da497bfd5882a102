"""A backup that was made before something was forgotten: the receipt names it, and a restore forgets again.

Also packs of cold pages, snapshots, branches and copies: whatever is forgotten is in no file but those that the receipt
names, however it is written there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from contract import server
from memoryos import MemoryOS, Scope, load_settings, stores
from memoryos.config import PersonaSharing
from memoryos.errors import CubeProtected, StorageError
from memoryos.models.hashing import Hashing

from .raw import is_in

WORD = "zanzibarquux"
Open = Callable[..., MemoryOS]


@pytest.fixture
def places(back_end: str, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """Where the store is, and where it is restored."""
    if back_end == "sqlite":
        yield tmp_path / "memory.db", tmp_path / "restored.db"
        return
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    first, second = (server.store_of(folder).render_as_string(hide_password=False) for folder in folders)
    yield first, second
    for folder in folders:
        server.give_back(folder)


@pytest.fixture
def place(places: tuple[Any, Any]) -> Any:
    return places[0]


@pytest.fixture
def settings(tmp_path: Path) -> Any:
    (tmp_path / "o").mkdir()
    return load_settings(
        embedder="hashing", short_term_capacity=1, heat_threshold=0, object_store=(tmp_path / "o").as_uri()
    )


@pytest.fixture
def opened(settings: Any, clock: Any) -> Iterator[Open]:
    with ExitStack() as stack:

        def call(place: Any) -> MemoryOS:
            return stack.enter_context(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock))

        yield call


@pytest.fixture
def restore(tmp_path: Path, settings: Any, clock: Any, places: tuple[Any, Any]) -> Callable[[], Any]:
    """restore(): the place of the store that was restored from the backup."""

    def call() -> Any:
        stores.restore(tmp_path / "one.backup", places[1], settings=settings, clock=clock)
        return places[1]

    return call


def fill(store: MemoryOS, *names: str) -> dict[str, str]:
    """Two tenants, two users, two agents, two sessions, or some of them; each has a parrot. Returns ids of pages."""
    found = {}
    for name in names or SCOPES:
        memory = store.of(SCOPES[name])
        found[name] = memory.add(f"I have a parrot called {WORD}.", "Hello.")
        memory.add("I live in Oslo.", "Is it cold?")
        memory.consolidate()
    return found


SCOPES = {
    "ann": Scope(user="ann"),
    "ann's other session": Scope(user="ann", session="autumn"),
    "ann's coder": Scope(user="ann", agent="coder"),
    "bob": Scope(user="bob"),
    "another tenant": Scope(user="ann", tenant="acme"),
}
FORGET: dict[str, tuple[Callable[[MemoryOS, str], Any], set[str]]] = {
    "a tenant": (lambda store, _: store.admin.forget_tenant("acme"), {"another tenant"}),
    "a user": (lambda store, _: store.admin.forget("ann"), {"ann", "ann's other session", "ann's coder"}),
    "an owner": (lambda store, _: store.memory("ann").forget(), {"ann", "ann's other session"}),
    "a session": (lambda store, _: store.of(SCOPES["ann's other session"]).forget(), {"ann's other session"}),
    "a memory": (lambda store, page: store.memory("ann").governance.erase(page), {"ann"}),
}


BESIDE = {  # whose pages there are: some that are forgotten, and those that are nearest to them
    "a tenant": ["ann", "another tenant"],
    "a user": ["ann", "ann's coder", "bob", "another tenant"],
    "an owner": ["ann", "ann's other session", "ann's coder"],
    "a session": ["ann", "ann's other session"],
    "a memory": ["ann", "ann's other session"],
}


def has(store: MemoryOS, scope: Scope, page: str) -> bool:
    return page in {one.id for one in store.of(scope).pages.list()}


@pytest.mark.parametrize("what", FORGET)
def test_what_was_forgotten_is_forgotten_again_by_a_restore(
    opened, place, restore, tmp_path, clock, settings, what, long
):
    store = opened(place)
    pages = fill(store, *(SCOPES if long else BESIDE[what]))
    clock.advance(hours=1)
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    clock.advance(hours=1)
    forget, gone = FORGET[what]
    receipt = forget(store, pages["ann"]).receipt
    assert [Path(one.place).name for one in receipt.copies] == ["one.backup"]
    beside = (tmp_path / "one.backup.forgotten").read_text()
    assert not [name for name in ("ann", "acme", "autumn", pages["ann"]) if f'"{name}' in beside], "it tells no names"
    assert stores.verify(tmp_path / "one.backup", settings=settings).is_sound
    target = restore()
    restored = opened(target)
    assert {name for name, page in pages.items() if not has(restored, SCOPES[name], page)} == gone & pages.keys()
    own = {"ann", "ann's other session"}
    for name in (gone - own if own - gone else gone) & pages.keys():  # both told the same fact
        told = " ".join(fact.text for fact in restored.of(SCOPES[name]).facts.list())
        assert WORD not in told.lower()
    assert stores.verify(target, settings=settings).is_sound


@pytest.mark.parametrize("is_merged", [False, True])
def test_what_an_erased_memory_took_in_before_or_since_the_backup_is_erased_again(
    opened, place, restore, tmp_path, clock, settings, is_merged
):
    memory = opened(place).memory("ann")
    pages = [memory.add("I like tea."), memory.add("I like tea.")]
    memory.wait()
    if is_merged:
        memory.duplicates.merge(pages)
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    if not is_merged:
        memory.duplicates.merge(pages)
    assert memory.governance.erase(pages[0]).is_complete
    assert opened(restore()).memory("ann").pages.list() == []


def test_what_is_erased_from_a_shared_persona_is_erased_again(place, places, tmp_path, clock, settings):
    shared = settings.model_copy(update={"persona_sharing": PersonaSharing.USER})
    with closing(MemoryOS.open(place, settings=shared, embedder=Hashing(), clock=clock)) as store:
        memory = store.memory("ann", agent="one")
        fact = memory.facts.add("Ann lives in Rome")
        memory.facts.add("Ann plays chess")
        stores.backup(place, tmp_path / "one.backup", settings=shared, clock=clock)
        memory.governance.erase(fact)
    stores.restore(tmp_path / "one.backup", places[1], settings=shared, clock=clock)
    with closing(MemoryOS.open(places[1], settings=shared, embedder=Hashing(), clock=clock)) as restored:
        assert [fact.text for fact in restored.memory("ann", agent="one").facts.list()] == ["Ann plays chess"]


def test_what_was_only_deleted_comes_back(opened, place, restore, tmp_path, clock, settings):
    """That is what backups are for."""
    store = opened(place)
    pages = fill(store, "ann")
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    store.memory("ann").delete(pages["ann"])
    assert has(opened(restore()), SCOPES["ann"], pages["ann"])


def test_who_begins_anew_is_in_the_next_backup(opened, place, restore, tmp_path, clock, settings):
    store = opened(place)
    fill(store, "ann")
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    clock.advance(hours=1)
    store.admin.forget("ann")
    clock.advance(hours=1)
    page = store.memory("ann").add("Here I am again.")
    for file in tmp_path.glob("one.backup"):
        file.unlink()
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    assert has(opened(restore()), SCOPES["ann"], page)


def test_what_is_frozen_in_the_backup_is_named_and_nothing_is_restored(
    opened, places, place, restore, tmp_path, clock, settings
):
    store = opened(place)
    page = fill(store, "ann")["ann"]
    store.memory("ann").governance.freeze(page)
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    store.memory("ann").governance.thaw(page)
    store.admin.forget("ann")
    with pytest.raises(CubeProtected, match="frozen"):
        restore()
    with pytest.raises(StorageError, match="not complete"):
        opened(places[1])


@pytest.mark.file
@pytest.mark.parametrize("text", ["no JSON\n", '{"at": "2030-01-01T00:00:00+00:00", "key": "x", "subject": "y"}\n'])
def test_a_list_of_another_store_is_refused(opened, place, restore, tmp_path, clock, settings, text):
    fill(opened(place), "ann")
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    (tmp_path / "one.backup.forgotten").write_text(text)
    with pytest.raises(StorageError, match=r"one\.backup\.forgotten"):
        restore()


@pytest.mark.file
def test_a_store_that_was_restored_has_none_of_the_bytes(opened, place, restore, tmp_path, clock, settings):
    """Packs, snapshots, branches and attachments hold nothing; the receipt names the backup and the copy, which do."""
    store = opened(place)
    ann = store.memory("ann")
    fill(store)
    picture = {"type": "image", "source": {"media_type": "image/png", "data": WORD.encode() * 9}, "caption": WORD}
    ann.add([{"role": "user", "content": ["Look.", picture]}])
    ann.snapshots.create("before")
    ann.branches.create("what if")
    ann.branch("what if").add(f"And another {WORD}.")
    store.admin.cool(after_days=0)
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    stores.backup(place, tmp_path / "two.backup", settings=settings, clock=clock)
    clock.advance(hours=1)
    store.admin.forget_tenant("acme")
    store.memory("bob").forget()
    receipt = store.admin.forget("ann").receipt
    assert {Path(one.place).name for one in receipt.copies} == {"one.backup", "two.backup"}
    holding = {path.relative_to(tmp_path).parts[0] for path in files(tmp_path) if is_in(WORD, path.read_bytes())}
    assert {"one.backup", "two.backup"} <= holding <= NAMED
    restored = restore()
    holding = {path.relative_to(tmp_path).parts[0] for path in files(tmp_path) if is_in(WORD, path.read_bytes())}
    assert restored.name not in holding
    assert holding <= NAMED, "and not in the object store, in which the restored store has its bytes"


NAMED = {"one.backup", "one.backup.objects", "two.backup", "two.backup.objects"}


def files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


@pytest.mark.file
@pytest.mark.parametrize("is_moved", [True, False])
def test_a_backup_and_a_link_to_it_have_one_list(opened, place, places, tmp_path, clock, settings, is_moved):
    """Whichever of both the store knows."""
    store = opened(place)
    page = fill(store, "ann")["ann"]
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "one.backup")
    if is_moved:  # the backup moved, and a link is where it was
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "one.backup").rename(tmp_path / "elsewhere" / "one.backup")
        (tmp_path / "one.backup").symlink_to(tmp_path / "elsewhere" / "one.backup")
    store.admin.forget("ann")
    done = stores.restore(link, places[1], settings=settings, clock=clock)
    assert done.forgotten_again == 1
    assert not has(opened(places[1]), SCOPES["ann"], page)


@pytest.mark.file
def test_an_erasure_after_the_clock_was_set_back_is_applied(opened, place, restore, tmp_path, clock, settings):
    store = opened(place)
    page = fill(store, "ann")["ann"]
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    clock.advance(hours=-2)
    store.admin.forget("ann")
    assert not has(opened(restore()), SCOPES["ann"], page)


@pytest.mark.file
def test_an_erasure_while_a_backup_is_written_is_noted(opened, place, restore, tmp_path, clock, settings):
    store = opened(place)
    page = fill(store, "ann")["ann"]
    receipts = []

    def forget(done: int, total: int) -> None:
        if not receipts:
            receipts.append(store.admin.forget("ann").receipt)

    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock, progress=forget)
    assert [Path(one.place).name for one in receipts[0].copies] == ["one.backup"]
    assert not has(opened(restore()), SCOPES["ann"], page)


@pytest.mark.file
def test_a_receipt_tells_where_the_erasure_could_not_be_noted(opened, place, tmp_path, clock, settings):
    store = opened(place)
    fill(store, "ann")
    for name in ("one", "two", "three", "four"):
        stores.backup(place, tmp_path / f"{name}.backup", settings=settings, clock=clock)
    os.mkfifo(tmp_path / "one.backup.forgotten")
    (tmp_path / "two.backup.forgotten").symlink_to(tmp_path / "victim")
    (tmp_path / "three.backup.forgotten").mkdir()
    receipt = store.admin.forget("ann").receipt
    told = {Path(one.place).stem: one.not_noted for one in receipt.copies}
    assert told.pop("four") is None
    assert told["one"] == "it is not a regular file"
    assert told["two"]
    assert told["three"]
    assert not (tmp_path / "victim").exists()
    assert store.admin.verify_receipt(receipt.to_json())["copies"][1]["not_noted"] == told["one"]


@pytest.mark.file
def test_a_restore_counts_the_erasures_that_it_applied(opened, place, places, tmp_path, clock, settings):
    store = opened(place)
    pages = fill(store)
    stores.backup(place, tmp_path / "one.backup", settings=settings, clock=clock)
    store.admin.forget("bob")
    store.memory("ann").governance.erase(pages["ann"])
    store.of(SCOPES["ann's other session"]).forget()
    store.admin.forget_tenant("acme")
    store.memory("new").add("I began after the backup.")
    store.admin.forget("new")
    assert stores.restore(tmp_path / "one.backup", places[1], settings=settings, clock=clock).forgotten_again == 4
