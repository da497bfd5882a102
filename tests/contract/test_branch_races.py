"""What is removed while a branch is made is in no branch when both have ended, whatever came first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from threading import Event, Thread, current_thread

import pytest

from memoryos import Memory, MemoryOS, Scope, load_settings
from memoryos.errors import NotFound
from memoryos.kinds import Kind, State
from memoryos.models.hashing import Hashing
from memoryos.operation.correction import branch_maker
from memoryos.operation.correction.branch import BranchPlace, branches, made_until
from memoryos.operation.correction.branch_maker import LEFT_AFTER, BranchMaker
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.forget import Forgetter
from memoryos.stores import verify

SECRET = "xylophone"
WAYS = {  # of removing, by the moment at which that is done; each is at two of the three
    "before the copy": ("delete", "erase", "segment", "expire", "owner", "person"),
    "behind the copy": ("fact", "delete", "sweep", "segment", "session", "owner"),
    "before the end": ("erase", "fact", "expire", "sweep", "person", "session"),
}
ERASING = ("erase", "session", "owner", "person")  # whoever makes a branch does not finish it then


@pytest.fixture
def stores(place, clock) -> Iterator[tuple[MemoryOS, MemoryOS]]:
    """One store for whoever makes branches, and one for whoever removes."""
    settings = load_settings(short_term_capacity=1, heat_threshold=0)
    with (
        closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as maker,
        closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as remover,
    ):
        yield maker, remover


def lived(store: MemoryOS, user: str) -> Memory:
    """The memory of a user with a secret in a page of a session, in a fact and in the summary of a segment."""
    memory = store.of(Scope(user=user))
    memory.add("I like tea.", "Fine.")
    held = {"ttl": 60} if user == "sweep" else {}
    memory.of(Scope(user=user, session="s")).add(f"I live in {SECRET.title()}. My {SECRET} is green.", "Nice.", **held)
    memory.add("I play chess.", "Good.")
    memory.consolidate()
    return memory


def remove(store: MemoryOS, way: str, clock) -> None:
    """Remove the secret, or everything, of the user of that name."""
    memory = store.of(Scope(user=way))
    page = next(one.id for one in memory.pages.list() if SECRET in one.text)
    if way == "delete":
        memory.delete(page)
    elif way == "erase":
        assert memory.governance.erase(page).is_complete
    elif way == "expire":
        memory.governance.expire(page)
    elif way == "segment":
        memory.delete(next(one.cube.id for one in memory.segments.list() if SECRET in one.cube.text.lower()))
    elif way == "fact":
        memory.delete(next(one.id for one in memory.facts.list() if SECRET in one.text.lower()))
        memory.delete(page)
    elif way == "sweep":
        clock.advance(seconds=61)
        memory.jobs.run()
    elif way == "session":
        assert memory.of(Scope(user=way, session="s")).forget().is_complete
    elif way == "owner":
        assert memory.forget().is_complete
    else:
        assert store.admin.forget(way).is_complete


def tellers(store: MemoryOS, user: str) -> list[tuple[str, str]]:
    """Where the store still has the secret of a user."""
    found = []
    for scope in store._engine.vault.owners_of("default", user):
        with store._engine.vault.read(scope) as reader:
            for cube in [cube for kind in Kind for cube in reader.cubes(kind, states=list(State))]:
                told = [cube.text, *(one.text for one in reader.history(cube.id)), str(cube.to_dict())]
                if any(SECRET in one.lower() for one in told):
                    found.append((str(scope.namespace), cube.kind.value))
    return found


def made(memory: Memory) -> bool:
    try:
        return memory.branches.create("try", ttl=86_400).is_whole
    except NotFound:
        return False


@pytest.mark.each
@pytest.mark.parametrize("moment", WAYS)
def test_what_goes_while_a_branch_is_made_is_not_in_it(stores, back_end, clock, monkeypatch, moment):
    maker, remover = stores
    ways = WAYS[moment] if back_end == "sqlite" else WAYS[moment][::2]  # on another store, each way once
    function = "_without_ended" if moment == "before the end" else "_copy"
    original, begun = getattr(BranchMaker, function), set[str]()

    def interrupted(self, *given):
        user = self._owner.user
        is_first = user not in begun
        begun.add(user)
        if is_first and moment == "before the copy":
            remove(remover, user, clock)
        result = original(self, *given)
        if is_first and moment != "before the copy":
            remove(remover, user, clock)
        return result

    monkeypatch.setattr(BranchMaker, function, interrupted)
    for way in ways:
        memory = lived(maker, way)
        assert any("branch" not in place for place, _ in tellers(maker, way)), way
        is_whole = made(memory)
        remover.of(memory.scope).wait()  # its own threads may remove what has expired
        memory.jobs.run()
        if is_whole:
            branch = memory.branch("try")
            branch.jobs.run()
            assert {"I like tea.", "I play chess."} <= {one.text[6:19].split("\n")[0] for one in branch.pages.list()}
            assert not any(SECRET in hit.text for hit in branch.search(SECRET).hits)
        assert tellers(maker, way) == [], way
        assert is_whole == (way not in ERASING), way
        if not is_whole:
            assert not [one for one in maker._engine.vault.owners_of("default", way) if one.is_branch]


@pytest.mark.parametrize("way", ["delete", "erase", "owner", "person"])
def test_a_branch_that_is_made_while_something_goes_does_not_keep_it(stores, clock, monkeypatch, way):
    maker, remover = stores
    memory = lived(maker, way)
    after, before = (Forgetter, "owner"), (Brancher, "_whole")  # the last look at branches before it goes, and its end
    place, name = after if way in ("owner", "person") else before
    original, done = getattr(place, name), []

    def interrupted(self, *given):
        looked = original(self, *given) if place is Brancher else None
        if not done:
            done.append(True)
            assert memory.branches.create("try").is_whole
        return looked if place is Brancher else original(self, *given)

    monkeypatch.setattr(place, name, interrupted)
    remove(remover, way, clock)
    assert done and tellers(maker, way) == []


def test_a_branch_that_is_finished_while_something_is_erased_is_whole_or_nobody_got_it(stores, clock, monkeypatch):
    maker, remover = stores
    memory = lived(maker, "erase")
    ended, owner = BranchMaker._ended, Forgetter.owner
    is_copied, goes_on, outcome = Event(), Event(), list[bool]()

    def waiting(self, homes):
        is_copied.set()
        assert goes_on.wait(60)
        return ended(self, homes)

    def finished(self, *given):  # the branch was found unfinished, and goes next
        goes_on.set()
        if current_thread() is not thread:
            thread.join(60)
        return owner(self, *given)

    monkeypatch.setattr(BranchMaker, "_ended", waiting)
    monkeypatch.setattr(Forgetter, "owner", finished)
    thread = Thread(target=lambda: outcome.append(made(memory)))
    thread.start()
    assert is_copied.wait(60)
    remove(remover, "erase", clock)
    thread.join(60)
    assert outcome == [bool(memory.branches.list())]
    assert tellers(maker, "erase") == []


def test_a_branch_whose_maker_died_is_discarded_within_minutes(stores, clock, monkeypatch):
    maker, _ = stores
    memory = lived(maker, "ann")

    def cut(self, homes):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BranchMaker, "_ended", cut)
        with pytest.raises(KeyboardInterrupt):
            memory.branches.create("try")
    assert memory.branches.list() == []
    with pytest.raises(NotFound):
        memory.branch("try")
    clock.advance(seconds=LEFT_AFTER.total_seconds() - 1)
    memory.jobs.run()
    assert [one for one, _ in tellers(maker, "ann") if "branch" in one]  # somebody may still make it
    clock.advance(seconds=1)
    memory.jobs.run()
    assert not [one for one in maker._engine.vault.owners_of("default", "ann") if one.is_branch]
    with maker._engine.vault.read(memory.scope) as reader:
        assert branches(reader) == []
    assert memory.branches.create("try", ttl=timedelta(days=1)).is_whole


@pytest.mark.parametrize("way", ["delete", "erase", "session"])
def test_what_a_dead_maker_copied_goes_with_the_memory(place, stores, clock, monkeypatch, way):
    """At once when it is erased, and else when nobody can be making the branch any more."""
    maker, remover = stores
    memory = lived(maker, way)

    def cut(self, home, *given):
        original(self, home, *given)
        raise KeyboardInterrupt

    original = BranchMaker._copy_some
    with monkeypatch.context() as patched:
        patched.setattr(BranchMaker, "_copy_some", cut)
        with pytest.raises(KeyboardInterrupt):
            memory.branches.create("try")
    assert any("branch" in one for one, _ in tellers(maker, way))
    assert verify(place, settings=load_settings(embedder="hashing")).is_sound  # links are copied last
    if way not in ERASING:
        clock.advance(seconds=LEFT_AFTER.total_seconds())
    remove(remover, way, clock)
    assert tellers(maker, way) == []


def test_a_maker_whose_branch_is_discarded_before_its_first_copy_leaves_nothing(stores, monkeypatch):
    maker, remover = stores
    memory = lived(maker, "ann")
    original, made = BranchPlace.scope, []

    def interrupted(self, home):
        if not made:  # the branch is in the list, and nothing in it yet
            made.append(None)
            made.append(remover.of(memory.scope).branches.create("try"))
        return original(self, home)

    monkeypatch.setattr(BranchPlace, "scope", interrupted)
    with pytest.raises(NotFound, match="discarded"):
        memory.branches.create("try")
    assert memory.branches.list() == made[1:]
    scopes = [one for one in maker._engine.vault.owners_of("default", "ann") if one.is_branch]
    assert scopes == [made[1].scope(memory.scope)]
    assert texts_of(memory.branch("try")) == texts_of(memory)


def texts_of(memory: Memory) -> set[str]:
    return {page.text for page in memory.pages.list()}


def test_a_branch_that_is_whole_is_noted_as_made_by_nobody(stores):
    maker, _ = stores
    memory = lived(maker, "ann")
    made = memory.branches.create("try")
    with maker._engine.vault.read(made.scope(memory.scope)) as reader:
        assert made_until(reader) is None


@pytest.mark.each
def test_what_leaves_a_shared_persona_while_a_branch_is_written_is_not_in_it(place, back_end, clock, monkeypatch):
    """On PostgreSQL, who writes the branch keeps nobody from the persona; on SQLite, the last moment is before that."""
    settings = load_settings(persona_sharing="user")
    with (
        closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as maker,
        closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as remover,
    ):
        memory = maker.memory("ann", agent="one")
        fact = memory.facts.add(f"Ann plays the {SECRET}")
        memory.facts.add("Ann lives in Rome")
        where, name = (branch_maker, "write_branch") if back_end == "postgres" else (BranchMaker, "_sequence")
        original, done = getattr(where, name), []

        def interrupted(*given):
            is_last = getattr(given[1], "is_whole", True)
            if is_last and not done:
                done.append(True)
                remover.memory("ann").delete(fact)
            return original(*given)

        monkeypatch.setattr(where, name, interrupted)
        made = memory.branches.create("try")
        assert done and made.is_whole
        assert [one.text for one in memory.branch("try").facts.list()] == ["Ann lives in Rome"]
        assert tellers(maker, "ann") == []
