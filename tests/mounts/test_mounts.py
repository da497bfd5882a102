"""Several memories searched as one."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

import memoryos
from memoryos import Kind, Mount, Scope, load_settings
from memoryos.errors import EmbedderMismatch, InvalidInput, StorageError, StoreReadOnly
from memoryos.operation.mounts import lazy_mount
from memoryos.operation.recall.hit import Strategy
from mounts.conftest import ANN, BOB, CLINIC, EXPERT, NOW, OWN, away

QUESTION = "Is propranolol dangerous with my asthma?"


def mounts_of(recall) -> list[str | None]:
    return [turn.mount for turn in recall.turns]


@pytest.mark.parametrize("strategy", list(Strategy))
def test_a_search_finds_what_each_memory_knows_and_says_where(own, expert_base, strategy):
    own.mounts.add(expert_base)
    found = own.search(QUESTION, strategy=strategy)
    assert {turn.turn.text: turn.mount for turn in found.turns}[EXPERT[0][1]] == "cardiology"
    assert {turn.turn.text: turn.mount for turn in found.turns}[OWN[1][0]] is None
    assert found.turns[0].turn.text in {EXPERT[0][0], EXPERT[0][1], OWN[1][0]}
    assert {hit.mount for hit in found.hits} == {None, "cardiology"}
    assert found.missing == ()


def test_a_mount_with_nothing_to_say_takes_no_place(own, expert_base):
    own.mounts.add(expert_base)
    found = own.search("Do I take violin lessons?", pages=1)
    assert [hit.mount for hit in found.hits] == [None]
    assert OWN[0][0] in [turn.turn.text for turn in found.turns]


def test_facts_of_a_mount_are_knowledge_and_none_of_the_user(own, expert_base):
    own.mounts.add(expert_base)
    found = own.search(QUESTION)
    assert [(hit.text, hit.mount) for hit in found.knowledge] == [
        ("Propranolol is dangerous with asthma.", "cardiology")
    ]
    assert "Propranolol" not in " ".join(hit.text for hit in found.user_facts)


def test_knowledge_is_told_once_and_not_as_what_the_user_is(own, expert_base, open_memory):
    own.mounts.add(expert_base)
    own.mounts.add(Mount("again", expert_base.place, CLINIC))
    own.facts.add("Ann has asthma.")
    own.mounts.add(Mount("self", scope=ANN))
    own.wait()
    assert [hit.text for hit in own.search(QUESTION).knowledge] == ["Propranolol is dangerous with asthma."]
    assert own.search(QUESTION, explain=True).knowledge[0].parts.keys() == {"cosine", "words"}


def test_a_context_tells_shared_knowledge_under_a_title_of_its_own(own, expert_base):
    before = own.context(QUESTION)
    assert "Shared knowledge" not in before.text
    own.mounts.add(expert_base)
    text = own.context(QUESTION).text
    shared, earlier = text.split("Shared knowledge")[1].split("Conversation")
    assert EXPERT[0][1] in shared
    assert OWN[1][0] in earlier
    assert OWN[1][0] not in shared


def test_mounts_can_be_named_or_left_out(own, expert_base):
    own.mounts.add(expert_base)
    assert set(mounts_of(own.search(QUESTION, mounts=[]))) == {None}
    assert "cardiology" in mounts_of(own.search(QUESTION, mounts=["cardiology"]))
    with pytest.raises(InvalidInput, match="there is no mount 'surgery'"):
        own.search(QUESTION, mounts=["surgery"])


def test_filters_hold_in_mounted_memories(own, expert_base):
    own.mounts.add(expert_base)
    assert set(mounts_of(own.search(QUESTION, tags=["heart"]))) == {"cardiology"}
    assert set(mounts_of(own.search(QUESTION, tags=["life"]))) == {None}
    assert own.search(QUESTION, session="another").turns == ()
    late = own.search(QUESTION, since=NOW.replace(hour=0), mounts=["cardiology"])
    assert {turn.turn.text for turn in late.turns} == set(EXPERT[0])
    assert own.search(QUESTION, as_of="2026-05-24T00:00Z").hits
    assert set(mounts_of(own.search(QUESTION, as_of="2026-05-24T00:00Z"))) == {None}


def test_what_is_tagged_is_found_in_all_the_latest_first(own, expert_base):
    own.mounts.add(expert_base)
    own.add("The pulse of my heart is high.", at=NOW, tags=["heart", "life"])
    found = own.tagged("heart")
    pages = [hit for hit in found if hit.cube.kind is Kind.PAGE]
    assert [hit.mount for hit in pages] == [None, "cardiology", "cardiology", "cardiology"]
    assert [hit.at for hit in found] == sorted((hit.at for hit in found), reverse=True)
    assert [hit.mount for hit in own.tagged("heart", "life")] == [None]
    assert own.tagged("nowhere") == []
    assert [hit.mount for hit in own.tagged("heart", limit=2)] == [None, "cardiology"]
    with pytest.raises(InvalidInput, match="tags: is empty"):
        own.tagged()
    with pytest.raises(InvalidInput, match="segments have no tags"):
        own.tagged("heart", kinds=["segment"])
    assert own.tagged("heart", since=NOW, kinds=["page"]) != []
    assert {hit.at for hit in own.tagged("heart", since=NOW)} == {NOW}


def test_a_mount_to_be_read_stays_as_it_is(own, expert_base, left_in):
    before = left_in(expert_base.place)
    own.mounts.add(expert_base)
    own.search(QUESTION)
    own.search(QUESTION, strategy="two_stage")
    own.wait()
    with pytest.raises(StoreReadOnly, match="'cardiology' is mounted for reading"):
        own.add("Write this down.", mount="cardiology")
    own.mounts.remove("cardiology")
    assert left_in(expert_base.place) == before


def test_a_writable_mount_is_written_and_found_by_others(own, open_memory, place_of):
    team = Scope(user="team", agent=None, namespace=("context", "ward-3"))
    own.mounts.add(Mount("team", place_of("team"), team, writable=True))
    page = own.add("The drill is on Friday.", "Noted.", tags=["drill"], mount="team", idempotency_key="drill-1")
    assert own.add("The drill is on Friday.", "Noted.", tags=["drill"], mount="team", idempotency_key="drill-1") == page
    own.wait()
    assert mounts_of(own.search("When is the drill?"))[0] == "team"
    assert [hit.text for hit in own.search("When is the drill?", mounts=[]).hits if "drill" in hit.text] == []
    other = open_memory("other", user="bob")
    other.mounts.add(Mount("ward", place_of("team"), team))
    assert [hit.id for hit in other.tagged("drill")] == [page]


def test_a_part_of_the_own_store_is_mounted_without_a_place(own):
    pool = Scope(user="agents", agent=None, namespace=("context", "task-1"))
    own.mounts.add(Mount("pool", scope=pool, writable=True))
    own.add("The parser fails on empty input.", mount="pool")
    own.wait()
    assert own.of(pool).pages.list()[0].text in [hit.text for hit in own.search("What fails on empty input?").hits]
    assert mounts_of(own.search("What fails on empty input?"))[0] == "pool"


@pytest.mark.parametrize(
    ("scope", "served", "refused"),
    [
        (Scope(user="ann", agent="coder"), [ANN], [BOB, Scope(user="ann", tenant="other")]),
        (Scope(user="clinic", namespace=("expert", "x")), [ANN, BOB, Scope(user="x", tenant="other")], []),
        (Scope(user="board", namespace=("industry",)), [ANN, Scope(user="x", tenant="other")], []),
        (Scope(user="agents", namespace=("context", "task")), [ANN, BOB], [Scope(user="x", tenant="other")]),
        (Scope(user="etl", namespace=("pipeline", "night")), [ANN, BOB], [Scope(user="x", tenant="other")]),
        (Scope(user="team", namespace=("house",)), [ANN, BOB], [Scope(user="x", tenant="other")]),
    ],
)
def test_a_namespace_says_whom_a_mount_serves(open_memory, scope, served, refused):
    memory = open_memory()
    memory.of(scope).add("The code word is heron.")
    memory.mounts.add(Mount("shared", scope=scope))
    for caller in served:
        assert "shared" in mounts_of(memory.of(caller).search("What is the code word?", mounts=["shared"]))
    for caller in refused:
        assert "shared" not in mounts_of(memory.of(caller).search("What is the code word?"))
        assert memory.of(caller).tagged("any") == []
        with pytest.raises(InvalidInput, match="there is no mount 'shared'"):
            memory.of(caller).search("What is the code word?", mounts=["shared"])
        with pytest.raises(InvalidInput, match="there is no mount 'shared'"):
            memory.of(caller).add("I was here.", mount="shared")


def test_a_mount_that_does_not_answer_is_named_and_the_rest_answers(own, expert_base):
    own.mounts.add(expert_base)
    with away(expert_base.place):
        found = own.search(QUESTION)
        assert found.missing == ("cardiology",)
        assert set(mounts_of(found)) == {None}
        with pytest.raises(StorageError):
            own.search(QUESTION, mounts=["cardiology"])


@pytest.mark.file
def test_a_file_that_is_not_there_cannot_be_mounted(own, tmp_path):
    with pytest.raises(InvalidInput, match="does not exist"):
        own.mounts.add(Mount("lost", tmp_path / "lost.db", CLINIC))
    with pytest.raises(InvalidInput, match="is a folder"):
        own.mounts.add(Mount("folder", tmp_path, CLINIC))
    assert own.mounts.list() == []


@pytest.mark.file
def test_a_file_that_the_settings_mount_may_be_made_later(open_memory, tmp_path, monkeypatch):
    memory = open_memory(mounts=[Mount("later", tmp_path / "later.db", CLINIC)])
    assert memory.search(QUESTION).missing == ("later",)
    monkeypatch.setattr(lazy_mount, "AWAY_SECONDS", 0.0)
    with pytest.raises(StorageError, match=r"later\.db does not exist"):
        memory.search(QUESTION, mounts=["later"])
    with open_memory("later") as later:
        later.of(CLINIC).add("Propranolol narrows the airways.")
    assert "later" in mounts_of(memory.search(QUESTION))


def test_what_cannot_be_mounted_is_told(own, expert_base):
    own.mounts.add(expert_base)
    with pytest.raises(InvalidInput, match="'cardiology' is mounted already"):
        own.mounts.add(expert_base)
    with pytest.raises(InvalidInput, match=r"mount\.scope: is missing"):
        own.mounts.add(Mount("nobody's", expert_base.place))
    with pytest.raises(InvalidInput, match="no adapter is installed for gopher://"):
        own.mounts.add(Mount("old", "gopher://somewhere"))
    with pytest.raises(InvalidInput, match=r"mount\.scope: is missing"):
        Mount("nowhere")
    with pytest.raises(InvalidInput, match=r"mount\.name"):
        Mount("", expert_base.place, CLINIC)
    with pytest.raises(InvalidInput, match="names a session"):
        Mount("monday", expert_base.place, Scope(user="clinic", session="monday"))
    with pytest.raises(InvalidInput, match="there is no mount 'surgery'"):
        own.mounts.remove("surgery")
    assert [mount.name for mount in own.mounts.list()] == ["cardiology"]


def test_a_mount_has_our_embedder(open_memory, expert_base):
    memory = open_memory("static", embedder="static")
    with pytest.raises(EmbedderMismatch, match="hashing"):
        memory.mounts.add(expert_base)
    assert memory.mounts.list() == []


def test_settings_name_mounts(open_memory, expert_base, monkeypatch):
    value = (
        f'[{{"name": "cardiology", "place": "{expert_base.place}",'
        ' "scope": {"user": "clinic", "namespace": ["expert", "cardiology"]}}]'
    )
    monkeypatch.setenv("MEMORYOS_MOUNTS", value)
    memory = open_memory()
    assert [(mount.name, mount.scope) for mount in memory.mounts.list()] == [("cardiology", CLINIC)]
    assert mounts_of(memory.search(QUESTION))[0] == "cardiology"
    for wrong, told in (('[{"name": "cardiology"}]', r"mount\.scope"), ("[{", "mounts")):
        monkeypatch.setenv("MEMORYOS_MOUNTS", wrong)
        with pytest.raises(InvalidInput, match=told):
            load_settings()


def test_a_mount_of_the_settings_that_is_away_keeps_nobody_from_the_own_memory(open_memory, expert_base, monkeypatch):
    with away(expert_base.place):
        memory = open_memory(mounts=[expert_base])
        memory.add("My asthma got worse in spring.")
        assert memory.search(QUESTION).missing == ("cardiology",)
        with pytest.raises(StorageError, match="a moment ago"):
            memory.search(QUESTION, mounts=["cardiology"])
    assert memory.search(QUESTION).missing == ("cardiology",)  # it is left alone for a while
    monkeypatch.setattr(lazy_mount, "AWAY_SECONDS", 0.0)
    assert "cardiology" in mounts_of(memory.search(QUESTION))


def test_a_mount_that_says_nothing_keeps_nobody_waiting(open_memory, monkeypatch):
    monkeypatch.setattr(lazy_mount, "AWAY_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/memory"
        memory = open_memory(mounts=[Mount("silent", place, CLINIC)], mount_timeout_seconds=0.1)
        memory.add("My asthma got worse in spring.")
        found = memory.search(QUESTION)
        assert (len(found.hits), found.missing) == (1, ("silent",))
        with pytest.raises(StorageError, match=r"'silent' did not answer within 0\.1 seconds"):
            memory.search(QUESTION, mounts=["silent"])
        memory.close()  # while the client still waits


def test_nothing_is_mounted_in_a_memory_that_is_closed(own, expert_base):
    own.close()
    with pytest.raises(StorageError, match="is closed"):
        own.mounts.add(expert_base)


# `rrf` and `linear`, which are there to compare, scale by all turns that are ranked, which are fewer here.
@pytest.mark.parametrize("strategy", ["hybrid", "dense", "bm25", "two_stage"])
def test_an_empty_mount_changes_nothing(open_memory, place_of, strategy):
    open_memory("empty").close()
    memory = open_memory("many")
    for number, (query, response) in enumerate(12 * [*OWN, *EXPERT]):
        memory.add(f"{query} ({number})", response, at=NOW - timedelta(hours=number))
    memory.wait()
    questions = [QUESTION, "When do we go skiing?", "violin (7)", "蜜蜂"]

    def told(pages: int | None) -> list[list[tuple[str, int]]]:
        found = [memory.search(question, strategy=strategy, pages=pages).turns for question in questions]
        turns = [[(turn.cube.id, turn.index) for turn in recalled] for recalled in found]
        # The paper's search tells pages with all their turns, and ranks the pages alone.
        return [sorted(recalled) for recalled in turns] if strategy == "two_stage" else turns

    plain = {pages: told(pages) for pages in (None, 1, 3)}
    memory.mounts.add(Mount("empty", place_of("empty"), CLINIC))
    assert {pages: told(pages) for pages in plain} == plain


def test_the_same_page_in_two_memories_is_told_once(own, tmp_path):
    own.mounts.add(Mount("again", scope=ANN))
    found = own.search("violin")
    assert len({hit.id for hit in found.hits}) == len(found.hits) == len(OWN)
    assert set(mounts_of(found)) == {None}


def test_a_page_visited_through_a_mount_stays_unvisited_there(own):
    pool = Scope(user="agents", agent=None, namespace=("context", "task-1"))
    own.of(pool).add("The parser fails on empty input.")
    own.mounts.add(Mount("pool", scope=pool))
    own.search("What fails on empty input?")
    own.wait()
    (page,) = own.of(pool).pages.list()
    assert page.behaviour.visits == 0


def test_a_store_opened_to_be_read_refuses_writes(open_memory, own):
    own.close()
    reader = open_memory(read_only=True)
    assert reader.search("violin").hits
    with pytest.raises(StoreReadOnly):
        reader.add("Write this down.")
    for refused in (reader.consolidate, reader.jobs.run, reader.upkeep.rebuild):
        with pytest.raises(StoreReadOnly):
            refused()


@pytest.mark.file
def test_a_file_that_is_not_there_is_not_opened_to_be_read(tmp_path):
    with pytest.raises(InvalidInput, match="does not exist"):
        memoryos.open(tmp_path / "lost.db", user="ann", read_only=True)


def test_a_place_is_shown_without_its_password():
    mount = Mount("base", "postgresql://ann:secret@host:5432/expert?sslpassword=other", CLINIC)
    assert mount.shown == "postgresql://host:5432/expert"
    assert "secret" not in repr(mount)
    for place in ("postgresql://ann:se?cret@host/db", "postgresql://ann:se/cret@host/db", "mongo://h/d?key=a@secret"):
        assert "cret" not in Mount("base", place, CLINIC).shown
    assert Mount("part", scope=CLINIC).shown == ""


def test_a_mount_that_knows_raises_the_confidence(own, expert_base):
    question = "Which beta blockers are dangerous with asthma?"
    alone = own.search(question).confidence
    own.mounts.add(expert_base)
    assert own.search(question).confidence > max(alone, 0.9)
