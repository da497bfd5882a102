"""Forgetting: a session, an owner, a person, and that nothing of them is left."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest

from memoryos import Memory, MemoryOS, Scope, load_settings
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.operation.correction import forget

from .conftest import Open, live

WORDS = ("zebracorn", "quokkastamps", "Kiwi", "Bergen", "Oslo")


def everything(store: MemoryOS, user: str) -> list[str]:
    memory = store.memory(user)
    found = [*memory.pages.list(), *memory.facts.list(), *(view.cube for view in memory.segments.list())]
    return [cube.text for cube in found]


def known(memory: Memory) -> str:
    user = memory.profile.get().user
    return " ".join(cube.text for cube in [*user.profile, *user.facts])


def everywhere(store: MemoryOS) -> dict[str, str]:
    """Every memory of Alice: kinds by id."""
    with store._engine.vault.read(Scope(user="alice")) as reader:
        return {one.id: one.kind.value for one in reader.placed()}


def gone_since(before: dict[str, str], after: dict[str, str]) -> dict[str, int]:
    return dict(Counter(kind for cube_id, kind in before.items() if cube_id not in after))


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_person_is_forgotten_and_others_are_not(open_store: Open):
    with open_store("memory") as store:
        live(store.memory("alice"))
        live(store.memory("alice", agent="coder"))
        live(store.memory("bob"), "Bob")
        before = everything(store, "bob")
        forgotten = store.admin.forget("alice")
        assert forgotten.is_complete
        assert forgotten.memories["page"] == 14
        assert {"page", "fact", "segment", "profile"} <= set(forgotten.memories)
        assert forgotten.rows > 0
        assert [scope.user for scope in store.admin.scopes()] == ["bob"]
        assert everything(store, "alice") == []
        assert everything(store, "bob") == before


def test_nothing_of_the_past_is_left(open_store: Open):
    with open_store("memory") as store:
        memory = store.memory("alice")
        live(memory)
        page = memory.pages.list()[-1]
        moment = page.descriptive.recorded_at
        memory.forget()
        assert memory.search("Where does Alice live?", as_of=moment).hits == ()
        assert memory.search("tea zebracorn", strategy="bm25").hits == ()
        assert memory.profile.get().user.is_empty
        assert memory.jobs.list() == []
        assert {event.operation.value for event in memory.log.events()} == {"delete"}
        assert memory.log.usage() == []
        with pytest.raises(NotFound, match="'alice' has no memory"):
            store.admin.forget("alice")


@pytest.mark.file
def test_the_bytes_are_gone(open_store: Open, tmp_path: Path):
    with open_store("memory") as store:
        live(store.memory("alice"))
        store.memory("alice").search("zebracorn quokkastamps")
        assert b"zebracorn" in bytes_of(tmp_path)
        assert store.memory("alice").forget().is_complete
        left = bytes_of(tmp_path)
    for word in WORDS:
        for encoding in ("utf-8", "utf-16-le"):
            assert word.encode(encoding) not in left
            assert word.encode(encoding) not in bytes_of(tmp_path)


def test_a_process_that_has_the_store_open_finds_nothing_any_more(open_store: Open):
    with open_store("memory") as store, open_store("memory") as other:
        live(store.memory("alice"))
        assert other.memory("alice").search("zebracorn").hits
        store.memory("alice").forget()
        assert other.memory("alice").search("zebracorn").hits == ()
        assert other.memory("alice").profile.get().user.is_empty


def test_a_person_can_begin_anew(open_store: Open):
    with open_store("memory") as store, open_store("memory") as other:
        memory = store.memory("alice")
        live(memory)
        assert other.memory("alice").search("Where does she live?").hits
        memory.forget()
        memory.add("I live in Rome.", "Ciao!")
        assert [hit.text for hit in other.memory("alice").search("Where does she live?").hits] == [
            memory.pages.list()[0].text
        ]
        memory.wait()
        assert "Rome" in " ".join(cube.text for cube in memory.profile.get().user.profile)


def test_a_session_goes_with_what_rests_on_it_alone(open_store: Open):
    with open_store("memory") as store:
        kept = store.memory("alice", session="spring")
        gone = store.memory("alice", session="autumn")
        kept.add("I have a parrot called Kiwi.", "Hello Kiwi!")
        gone.add("I live in Bergen.", "How is it there?")
        gone.add("I am a plumber.", "Since when?")
        gone.consolidate()
        assert "Bergen" in " ".join(cube.text for cube in gone.profile.get().user.profile)
        before = everywhere(store)
        forgotten = gone.forget()
        assert forgotten.is_complete
        assert forgotten.memories == gone_since(before, after := everywhere(store))
        assert {"page", "fact", "profile"} <= set(forgotten.memories)
        assert after
        assert [page.text for page in kept.pages.list()] == [kept.search("parrot").hits[0].text]
        profile = kept.profile.get().user
        assert "Bergen" not in " ".join(cube.text for cube in [*profile.profile, *profile.facts])


def test_what_a_session_told_a_shared_persona_is_counted_too(open_store: Open):
    with open_store("memory", persona_sharing="user") as store:
        memory = store.memory("alice", agent="coder", session="autumn")
        memory.add("I live in Bergen.", "I see.")
        memory.consolidate()
        forgotten = memory.forget()
        assert {kind: forgotten.memories[kind] for kind in ("page", "profile")} == {"page": 1, "profile": 1}


def test_what_an_agent_told_a_shared_persona_goes_with_that_agent(tmp_path):
    settings = load_settings(short_term_capacity=2, persona_sharing="user")
    with MemoryOS.open(tmp_path / "memory.db", settings=settings) as store:
        coder, cook = store.memory("alice", agent="coder"), store.memory("alice", agent="cook")
        coder.add("I live in Bergen.", "I see.")
        cook.add("I am a vegetarian.", "Noted.")
        for memory in (coder, cook):
            memory.consolidate()
        assert "Bergen" in known(cook)
        coder.forget()
        assert "Bergen" not in known(cook)
        assert "vegetarian" in known(cook)


def test_who_asks_again_after_a_crash_goes_on(open_store: Open, monkeypatch):
    with open_store("memory") as store:
        live(store.memory("alice"))
        with monkeypatch.context() as patched:
            patched.setattr(forget, "AT_ONCE", 5)
            patched.setattr(forget.Forgetter, "_rows", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                store.admin.forget("alice")
    with open_store("memory") as store:
        assert everything(store, "alice") == []
        assert store.admin.forget("alice").is_complete
        with pytest.raises(NotFound, match="has no memory"):
            store.admin.forget("alice")


def test_a_gate_is_asked(open_store: Open):
    class Closed:
        def admit(self, caller, action, scope):
            if action.value == "administer":
                raise PermissionDenied("no")

    with open_store("memory") as store:
        live(store.memory("alice"))
        store._engine.vault.gate = Closed()
        with pytest.raises(PermissionDenied):
            store.admin.forget("alice")
        assert everything(store, "alice")


@pytest.mark.parametrize("user", ["", " ", 5, None])
def test_a_user_has_to_be_named(open_store: Open, user):
    with open_store("memory") as store, pytest.raises(InvalidInput, match="user"):
        store.admin.forget(user)


def test_each_step_under_the_lock_is_short(open_store: Open, monkeypatch):
    monkeypatch.setattr(forget, "AT_ONCE", 3)
    monkeypatch.setattr(forget, "ROWS_AT_ONCE", 4)
    with open_store("memory") as store:
        live(store.memory("alice"))
        sizes = []
        writer = type(store._engine.vault).write.__wrapped__.__globals__["SqlWriter"]
        for name in ("discard", "purge"):
            real = getattr(writer, name)

            def counted(self, what, real=real, **limits):
                sizes.append(what if isinstance(what, int) else len(what))
                return real(self, what, **limits)

            monkeypatch.setattr(writer, name, counted)
        assert store.admin.forget("alice").is_complete
        assert max(sizes) <= 4
        assert len(sizes) > 5


def test_what_was_stated_of_a_page_stays_without_its_words(open_store: Open):
    """The quote that supported it was words of the page that is gone."""
    with open_store("one", short_term_capacity=1) as store:
        memory = store.memory("alice")
        page = memory.add("I have a parrot called Kiwi.", "I see.")
        memory.consolidate()
        (known,) = memory.facts.list()
        memory.update(known.id, "Her bird is green.")
        memory.wait()
        assert "Kiwi" in memory.get(known.id).payload.quote
        assert memory.governance.erase(page).is_complete
        (stated,) = memory.facts.list()
        assert (stated.text, stated.payload.quote) == ("Her bird is green.", "")
        memory.export(told := io.StringIO())
        assert "Kiwi" not in told.getvalue()
