"""`governance.relabel`: another access, more sensitivity, another end of a stored memory, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from attack.governed import statements_in
from built_cubes import put_built
from contract.test_versions import MADE
from hierarchy.work import calls_in
from memoryos import AccessMode, Action, Caller, MemCube, Memory, MemoryOS, Mount, Scope, load_settings
from memoryos.errors import CubeProtected, InvalidInput, NotFound, OnHold, PermissionDenied, StaleVersion
from memoryos.infrastructure.vault import version_part
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.infrastructure.vault.session import SqlWriter
from memoryos.kinds import Kind
from memoryos.models.hashing import Hashing
from memoryos.operation.correction.branch_maker import BranchMaker
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.relabelled import Relabelling

ANN, HOUR = Scope(user="ann"), timedelta(hours=1)
POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action == Action::"read", resource is Cube)
when { resource.sensitivity.isEmpty() && resource.access != "private" };
permit (principal in Role::"porter", action == Action::"read", resource is Cube)
when { resource.sensitivity.isEmpty() };
permit (principal in Role::"writer", action in [Action::"read", Action::"write"], resource is Cube);
permit (principal in Role::"sharer", action in [Action::"read", Action::"write", Action::"share"], resource is Cube);
permit (principal in Role::"remover", action in [Action::"read", Action::"write", Action::"delete"], resource is Cube);
permit (principal == User::"tests", action, resource is Cube);
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""
NURSE, PORTER, WRITER, SHARER, REMOVER = (
    Caller(f"kim-{role}", frozenset({role})) for role in ("nurse", "porter", "writer", "sharer", "remover")
)


@pytest.fixture
def open_store(place, clock, tmp_path) -> Iterator[Callable[..., MemoryOS]]:
    (tmp_path / "ward.cedar").write_text(POLICIES)
    opened: list[MemoryOS] = []

    def open_one(**more: object) -> MemoryOS:
        known = {"short_term_capacity": 1, "policies": str(tmp_path / "ward.cedar")} | more
        opened.append(MemoryOS.open(place, settings=load_settings(**known), embedder=Hashing(), clock=clock))
        return opened[-1]

    yield open_one
    for one in reversed(opened):
        one.close()


@pytest.fixture
def store(open_store) -> MemoryOS:
    return open_store()


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN, Caller("ann"))


def labels(memory: Memory, cube_id: str, **then: str) -> tuple[str, tuple[str, ...], object]:
    known = memory.get(cube_id, **then).governance
    return known.access.mode.value, known.sensitivity, known.lifespan.expires_at


def seen(memory: Memory, word: str) -> str:
    """All that a caller sees of a memory."""
    memory.export(lines := StringIO())
    lists = [memory.pages.list(), memory.facts.list(), memory.log.events()]
    return repr([memory.search(word, session=None).hits, memory.context(word).text, lines.getvalue(), lists])


def sees(memory: Memory, cube_id: str, word: str) -> bool:
    """Whether a caller sees it; the same by every way."""
    found = {cube_id in seen(memory, word), word in seen(memory, word)}
    for read in (memory.get, memory.history, memory.governance.provenance):
        try:
            found.add(cube_id in repr(read(cube_id)))
        except NotFound:
            found.add(False)
    (answer,) = found
    return answer


def learned(memory: Memory, page: str) -> str:
    """The id of the fact that was learned from a page."""
    memory.consolidate()
    (fact,) = (one.id for one in memory.facts.list() if page in one.descriptive.provenance)
    return fact


@pytest.mark.parametrize("kind", MADE)
def test_a_memory_gets_other_labels_and_another_end(ann, clock, kind):
    made = MADE[kind](ann)
    before = ann.get(made)
    clock.advance(minutes=1)
    ann.snapshots.create("before")
    clock.advance(minutes=1)
    told = ann.governance.relabel(made, sensitivity=["diagnosis"], access="shared", ttl=HOUR, reason="the ward asks")
    assert told == ann.get(made)
    assert (told.text, told.number) == (before.text, before.number + 1)
    assert labels(ann, made) == ("shared", ("diagnosis",), clock.now + HOUR)
    assert labels(ann, made, as_of="before") == ("private", (), None)
    assert [one.governance.access.mode for one in ann.history(made)] == [AccessMode.PRIVATE, AccessMode.SHARED]
    ann.governance.relabel(made, sensitivity=["address"], access="private", endless=True)
    assert labels(ann, made) == ("private", ("diagnosis", "address"), None)
    origin = ann.governance.provenance(made)
    changes = [one for one in origin.labels if one.call == "governance.relabel"]
    assert [set(one.added) for one in changes] == [{"sensitivity:diagnosis", "access:shared"}, {"sensitivity:address"}]
    assert {one.by for one in changes} == {"ann"}
    assert "the ward asks" in [one.reason for one in origin.versions]
    ann.governance.relabel(made, expires_at=clock.now + HOUR)
    clock.advance(hours=1)
    with pytest.raises(NotFound):
        ann.get(made)


def test_the_answer_quotes_no_page_that_the_caller_may_not_read(open_store, tmp_path):
    scribe = """permit (principal in Role::"scribe", action in [Action::"read", Action::"write"], resource is Cube)
    when { resource.sensitivity.isEmpty() || resource.sensitivity == ["address"] };"""
    (tmp_path / "ward.cedar").write_text(POLICIES + scribe)
    store = open_store()
    ann = store.of(ANN, Caller("ann"))
    ann.add("I have the flumpquiz fever.", sensitivity=["diagnosis"])
    page = ann.add("I have the fever pills, too.")
    assert "flumpquiz" in ann.get(page).payload.chain_summary
    kim = store.of(ANN, Caller("kim", frozenset({"scribe"})))
    told = kim.governance.relabel(page, sensitivity=["address"])
    assert ("pills" in repr(told), "flumpquiz" in repr(told)) == (True, False)


def test_what_changes_nothing_makes_no_version(ann):
    page = ann.add("The bees sting.", sensitivity=["diagnosis"])
    before = ann.log.events()
    told = ann.governance.relabel(page, sensitivity=["diagnosis"], access="private", endless=True)
    assert (told.number, ann.log.events()) == (1, before)


def test_an_expected_version_is_compared(ann):
    page = ann.add("The bees sting.")
    with pytest.raises(StaleVersion):
        ann.governance.relabel(page, access="shared", expected_version=2)
    assert ann.governance.relabel(page, access="shared", expected_version=1).number == 2


# What readers see


@pytest.mark.each
@pytest.mark.parametrize("change", [{"sensitivity": ["diagnosis"]}, {"access": "private"}], ids=str)
def test_who_may_not_read_it_any_more_does_not_see_it_by_any_way(open_store, store, ann, change):
    nurse, elsewhere = store.of(ANN, NURSE), open_store().of(ANN, NURSE)
    page, fact = ann.add("The bees sting.", access="shared"), ann.facts.add("Ann has wasps.", access="shared")
    for one, word in ((page, "bees"), (fact, "wasps")):
        assert sees(nurse, one, word) and sees(elsewhere, one, word)
        ann.governance.relabel(one, **change)
        assert not sees(elsewhere, one, word) and not sees(nurse, one, word)
        assert sees(ann, one, word)


@pytest.mark.parametrize("change", [{"sensitivity": ["diagnosis"]}, {"access": "private"}], ids=str)
def test_a_mount_does_not_show_it_any_more(store, change):
    team = Scope(user="ann", namespace=("context",))
    owner, kim = store.of(team, Caller("ann")), store.of(Scope(user="kim-nurse"), NURSE)
    store.mounts.add(Mount("team", None, team))
    page, fact = owner.add("The bees sting.", access="shared"), owner.facts.add("Ann has wasps.", access="shared")
    for one, word in ((page, "bees"), (fact, "wasps")):
        assert one in repr(kim.search(word, mounts=["team"]))
        owner.governance.relabel(one, **change)
        assert one not in repr(kim.search(word, mounts=["team"]))


def test_what_was_learned_from_a_page_is_hidden_with_it(open_store, store, ann):
    porter, elsewhere = store.of(ANN, PORTER), open_store().of(ANN, PORTER)
    page = ann.add("I live in Rome.", "ok")
    fact = learned(ann, page)
    assert sees(porter, fact, "Rome") and sees(elsewhere, fact, "Rome")
    ann.governance.relabel(page, sensitivity=["address"])
    for memory in (elsewhere, porter):
        assert not sees(memory, fact, "Rome") and not sees(memory, page, "Rome")
    assert sees(ann, fact, "Rome")


@pytest.mark.each
def test_a_memory_that_is_shared_is_seen_at_once(open_store, store, ann):
    nurse, elsewhere = store.of(ANN, NURSE), open_store().of(ANN, NURSE)
    page = ann.add("The bees sting.")
    assert not sees(nurse, page, "bees") and not sees(elsewhere, page, "bees")
    ann.governance.relabel(page, access="shared")
    assert nurse.search("bees").hits and elsewhere.search("bees").hits


def test_what_it_took_in_gets_the_same(store, ann, clock):
    first = ann.add("The bees sting.", access="shared")
    second = ann.add("The bees sting!", access="shared")
    ann.duplicates.merge([first, second])
    nurse = store.of(ANN, NURSE)
    assert nurse.get(second)
    ann.governance.relabel(first, sensitivity=["diagnosis"], ttl=HOUR)
    assert labels(ann, second) == labels(ann, first) == ("shared", ("diagnosis",), clock.now + HOUR)
    assert not sees(nurse, second, "bees") and not sees(nurse, first, "bees")
    with pytest.raises(CubeProtected, match="was merged into another one"):
        ann.governance.relabel(second, access="private")
    ann.duplicates.unmerge(second)
    assert not sees(nurse, second, "bees")


def test_what_it_took_in_is_not_more_open_than_itself(place, clock, tmp_path):
    (tmp_path / "tags.cedar").write_text(BY_TAGS)
    settings = load_settings(short_term_capacity=1, policies=str(tmp_path / "tags.cedar"))
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as store:
        ann, nurse = store.of(ANN, Caller("ann")), store.of(ANN, Caller("nurse"))
        first, second = ann.add("The bees sting."), ann.add("The bees sting!")
        ann.duplicates.merge([first, second])
        ann.update(first, tags=["secret"])
        ann.governance.relabel(first, access="shared")
        for one in (first, second):
            assert (ann.get(one).descriptive.tags, labels(ann, one)[0]) == (("secret",), "shared")
            with pytest.raises(NotFound):
                nurse.get(one)


BY_TAGS = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal == User::"nurse", action == Action::"read", resource is Cube)
when { resource.access != "private" && !resource.tags.contains("secret") };
permit (principal == User::"kim", action, resource is Cube);
forbid (principal == User::"kim", action == Action::"administer", resource is Cube)
when { !resource.tags.contains("open") };
"""


def test_who_may_not_open_what_it_took_in_opens_neither(place, clock, tmp_path):
    (tmp_path / "tags.cedar").write_text(BY_TAGS)
    settings = load_settings(short_term_capacity=1, policies=str(tmp_path / "tags.cedar"))
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as store:
        ann, kim = store.of(ANN, Caller("ann")), store.of(ANN, Caller("kim"))
        first, second = ann.add("The bees sting."), ann.add("The bees sting!")
        ann.duplicates.merge([first, second])
        ann.update(first, tags=["open"])
        with pytest.raises(PermissionDenied, match="may not administer"):
            kim.governance.relabel(first, access="shared")
        assert [labels(ann, one)[0] for one in (first, second)] == ["private", "private"]


class Killed(BaseException):
    """Ends the program."""


def merged(memory: Memory, access: str) -> list[str]:
    ids = [
        memory.add("The bees sting" + "!" * (number % 2) + ".", access=access) for number in range(70)
    ]  # three steps
    memory.duplicates.merge(ids)
    return ids


def updates(monkeypatch: pytest.MonkeyPatch, most: int | None = None) -> dict[int, int]:
    """How many memories each transaction writes from now on; the program ends when it wants to write after `most`."""
    rows: dict[int, int] = {}
    writers: list[SqlWriter] = []  # kept, so that no other one has the same id
    original = SqlWriter.update

    def update(self: SqlWriter, entries: Sequence[Entry], operation: Operation, **more: Any) -> None:
        if id(self) not in rows and len(rows) == most:
            raise Killed
        writers.append(self)
        rows[id(self)] = rows.get(id(self), 0) + len(entries)
        original(self, entries, operation, **more)

    monkeypatch.setattr(SqlWriter, "update", update)
    return rows


@pytest.mark.each
@pytest.mark.parametrize("what", ["restricts", "opens", "ends"])
def test_much_is_written_some_at_a_time(ann, clock, monkeypatch, what):
    if what == "ends":
        page = ann.add(" ".join(f"I like item{number} tea." for number in range(96)), "ok")
        ann.consolidate()
        rows = updates(monkeypatch)
        ann.governance.relabel(page, ttl=HOUR)
        ends = [one.governance.lifespan.expires_at for one in ann.facts.list()]
        assert len(ends) > 64
        assert set(ends) == {clock.now + HOUR}
    else:
        before, after = ("shared", "private") if what == "restricts" else ("private", "shared")
        ids = merged(ann, before)
        rows = updates(monkeypatch)
        ann.governance.relabel(ids[0], access=after)
        assert {labels(ann, one)[0] for one in ids} == {after}
    assert max(rows.values()) <= 33


@pytest.mark.each
@pytest.mark.parametrize(("before", "after"), [("shared", "private"), ("private", "shared")])
def test_a_crash_leaves_nothing_more_open_than_the_memory_and_is_made_good(ann, monkeypatch, before, after):
    ids = merged(ann, before)
    for _ in range(2):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            updates(patch, most=1)
            ann.governance.relabel(ids[0], access=after)
        first, *others = (AccessMode(labels(ann, one)[0]).openness for one in ids)
        assert max(others) <= first
    ann.governance.relabel(ids[0], access=after)
    assert {labels(ann, one)[0] for one in ids} == {after}


def test_a_change_of_many_takes_time_in_proportion_to_them(ann):
    work = {}
    for number in (50, 200):
        ids = [ann.add(f"The bees sting {number}" + "!" * (one % 2) + ".") for one in range(number)]
        for start in range(1, number, 90):
            ann.duplicates.merge([ids[0], *ids[start : start + 90]])
        work[number] = calls_in(lambda ids=ids: ann.governance.relabel(ids[0], sensitivity=["diagnosis"]))
        assert {labels(ann, one)[1] for one in ids} == {("diagnosis",)}
    assert work[200] <= 4.5 * work[50], work


def meanwhile(monkeypatch: pytest.MonkeyPatch, name: str, cube_id: str, do: Callable[[], object]) -> None:
    """Do something once, before the relabelling of that memory plans that step."""
    usual = getattr(Relabelling, name)

    def planned(change: Relabelling, *parts: Any, **more: Any) -> Any:
        if change.cube_id == cube_id:
            monkeypatch.setattr(Relabelling, name, usual)
            do()
        return usual(change, *parts, **more)

    monkeypatch.setattr(Relabelling, name, planned)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("_planned", "69 memories that it took in got what is stricter already; its copies in branches got what is st"),
        ("_after", "the memory itself has its new labels already"),
    ],
)
def test_a_hold_that_comes_between_two_steps_is_told_with_what_was_done(ann, monkeypatch, step, told):
    ids = merged(ann, "shared")
    copy = ann.branches.create("try").id_of(ids[0])
    meanwhile(monkeypatch, step, ids[0], lambda: ann.governance.hold(reason="Smith", memory=ids[0]))
    with pytest.raises(OnHold, match=told) as error:
        ann.governance.relabel(ids[0], access="private", sensitivity=["diagnosis"])
    assert "nothing" not in str(error.value)
    assert labels(ann.branch("try"), copy)[:2] == ("private", ("diagnosis",))
    is_done = step == "_after"
    assert labels(ann, ids[0])[:2] == (("private", ("diagnosis",)) if is_done else ("shared", ()))
    (hold,) = ann.governance.holds()
    ann.governance.release(hold.id)
    ann.governance.relabel(ids[0], access="private", sensitivity=["diagnosis"])
    assert {labels(ann, one)[:2] for one in ids} == {("private", ("diagnosis",))}


def test_a_hold_on_one_of_many_that_it_took_in_refuses_all(ann):
    ids = merged(ann, "shared")
    copy = ann.branches.create("try").id_of(ids[0])
    ann.governance.hold(reason="Smith", memory=ids[-1])
    with pytest.raises(OnHold, match="nothing was changed"):
        ann.governance.relabel(ids[0], access="private")
    assert {labels(ann, one)[0] for one in ids} == {labels(ann.branch("try"), copy)[0]} == {"shared"}


@pytest.mark.parametrize("step", ["_before", "_planned", "_after"])
def test_what_is_given_back_meanwhile_keeps_its_labels(ann, monkeypatch, step):
    ids = merged(ann, "private")
    meanwhile(monkeypatch, step, ids[0], lambda: ann.duplicates.unmerge(ids[-1]))
    ann.governance.relabel(ids[0], access="shared")
    assert [labels(ann, one)[0] for one in (ids[0], ids[-2], ids[-1])] == ["shared", "shared", "private"]


def test_what_was_learned_keeps_its_end_if_the_page_cannot_get_another(ann, monkeypatch):
    page = ann.add(" ".join(f"I like item{number} tea." for number in range(40)), "ok")
    ann.consolidate()
    ann.wait()
    planned = Relabelling._planned

    def freezes(change: Relabelling, *parts: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(Relabelling, "_planned", planned)
            ann.governance.freeze(page)
        return planned(change, *parts)

    monkeypatch.setattr(Relabelling, "_planned", freezes)
    with pytest.raises(CubeProtected):
        ann.governance.relabel(page, ttl=HOUR)
    ends = [fact.governance.lifespan.expires_at for fact in ann.facts.list(limit=100)]
    assert (len(ends) >= 32, set(ends)) == (True, {None})


def test_what_was_merged_after_a_branch_was_made_is_restricted_there_too(store, ann):
    first, second = (ann.add(text, access="shared") for text in ("The bees sting.", "The bees sting!"))
    branch = ann.branches.create("try")
    ann.duplicates.merge([first, second])
    ann.governance.relabel(first, access="private", sensitivity=["diagnosis"])
    nurse = store.of(ANN, NURSE).branch("try")
    for one in (first, second):
        with pytest.raises(NotFound):
            nurse.get(branch.id_of(one))


def test_words_of_a_fact_from_when_it_was_private_stay_hidden_when_it_is_shared(store, ann):
    fact = ann.facts.add("Ann has quuxitis.")
    ann.update(fact, "Ann has wasps.")
    ann.governance.relabel(fact, access="shared", reason="for review")
    nurse = store.of(ANN, NURSE)
    assert nurse.get(fact).text == "Ann has wasps."
    assert "quuxitis" not in str([nurse.history(fact), nurse.governance.provenance(fact), nurse.log.events()])
    assert "quuxitis" in str(ann.history(fact))


def test_the_reason_of_a_hidden_version_is_told_by_no_way(store, ann):
    page, nurse = ann.add("The bees sting.", access="shared"), store.of(ANN, NURSE)
    ann.governance.relabel(page, access="private", reason="quuxing")
    ann.governance.relabel(page, access="shared", reason="for review")
    for told in (nurse.governance.provenance(page), nurse.log.events()):
        assert "quuxing" not in repr(told)
        assert "for review" in repr(told)
    assert [one.sequence for one in nurse.log.events()] == [one.sequence for one in ann.log.events()]
    assert "quuxing" in repr(ann.log.events())


def test_the_log_restores_only_the_versions_that_it_tells_of(store, ann, monkeypatch):
    page = ann.add("The bees sting.", access="shared")
    for number in range(50):
        ann.update(page, f"The bees sting {number}.", reason=f"count {number}")
    ann.governance.relabel(page, access="private", reason="quuxing")
    ann.governance.relabel(page, access="shared", reason="for review")
    nurse, restored = store.of(ANN, NURSE), list[str]()
    usual = version_part.restored
    monkeypatch.setattr(version_part, "restored", lambda *parts: restored.append("one") or usual(*parts))
    told = [(one.sequence, one.detail) for one in ann.log.events() if one.operation is Operation.REVISE]
    (one,) = nurse.log.events(after=told[4][0] - 1, limit=1)
    assert (one.sequence, one.detail, len(restored) <= 16) == (*told[4], True)
    (hidden,) = nurse.log.events(after=told[-2][0] - 1, limit=1)
    assert (hidden.sequence, "quuxing" in str(hidden.detail)) == (told[-2][0], False)
    shown = [one.detail for one in nurse.log.events() if one.operation is Operation.REVISE]
    assert [("reason" in one, one == detail) for one, (_, detail) in zip(shown, told, strict=True)] == [
        *((True, True) for _ in told[:-2]),
        (False, False),
        (True, True),
    ]


def test_a_log_of_which_all_but_the_end_is_hidden_takes_few_statements(store, ann):
    for number in range(60):
        ann.facts.add(f"Ann saw bee {number}.")
    ann.facts.add("Ann sings.", access="shared")
    nurse = store.of(ANN, NURSE)
    assert [one.kind for one in nurse.log.events(limit=1)] == [Kind.FACT]
    few, all_of_it = (statements_in(lambda limit=limit: nurse.log.events(limit=limit)) for limit in (1, 1_000))
    assert few <= all_of_it + 4


# Branches


def test_a_shared_persona_is_hidden_in_branches_too(open_store):
    """The fact rests on a page of one agent; the branches of both have a copy of it."""
    store = open_store(persona_sharing="user")
    agents = [Scope("ann", name) for name in ("coder", "friend")]
    coder, friend = (store.of(agent, Caller("ann")) for agent in agents)
    page = coder.add("I live in Rome.", "ok")
    friend.add("I like tea.", "ok")
    fact = learned(coder, page)
    made = [memory.branches.create("try") for memory in (coder, friend)]
    there = [store.of(agent, PORTER).branch("try") for agent in agents]
    assert all(memory.get(one.id_of(fact)) for memory, one in zip(there, made, strict=True))
    coder.governance.relabel(page, sensitivity=["address"])
    for memory, one in zip(there, made, strict=True):
        with pytest.raises(NotFound):
            memory.get(one.id_of(fact))


def test_only_own_branches_are_looked_at_under_the_lock(open_store, monkeypatch):
    """There may be any number of agents; what another one copies meanwhile is restricted after it."""
    coder, friend = agents(open_store(persona_sharing="user"), "coder", "friend")
    fact = coder.facts.add("Ann has wasps.", access="shared")
    friend.branches.create("try")
    locked, asked, write, ids = [False], list[tuple[bool, str | None]](), Relabelling.write, Brancher.ids

    def written(change: Relabelling, is_done: Callable[[], bool] = lambda: True) -> MemCube:
        def under_lock() -> bool:
            locked[0] = True
            done = is_done()
            locked[0] = False
            return done

        return write(change, under_lock)

    def named(brancher: Brancher) -> set[str]:
        asked.append((locked[0], brancher.owner.agent))
        return ids(brancher)

    monkeypatch.setattr(Relabelling, "write", written)
    monkeypatch.setattr(Brancher, "ids", named)
    coder.governance.relabel(fact, access="private")
    assert {agent for is_locked, agent in asked if is_locked} == {"coder"}
    assert {agent for is_locked, agent in asked if not is_locked} >= {"coder", "friend"}


def test_copies_in_branches_get_what_is_stricter(store, ann, clock):
    page = ann.add("I live in Rome.", "ok", access="shared")
    fact = learned(ann, page)
    made = ann.branches.create("try")
    copy = made.id_of(page)
    porter, nurse = (store.of(ANN, caller).branch("try") for caller in (PORTER, NURSE))
    assert porter.get(made.id_of(fact)) and nurse.get(copy)
    ann.governance.relabel(page, ttl=HOUR)
    assert labels(ann.branch("try"), copy)[2] == clock.now + HOUR
    assert labels(ann.branch("try"), made.id_of(fact))[2] == clock.now + HOUR
    ann.governance.relabel(page, access="private")
    ann.governance.relabel(page, access="shared", endless=True)
    assert labels(ann.branch("try"), copy) == ("private", (), clock.now + HOUR)
    ann.governance.relabel(page, sensitivity=["address"])
    for memory in (porter, nurse):
        assert not sees(memory, copy, "Rome") and not sees(memory, made.id_of(fact), "Rome")


def test_a_branch_that_refuses_after_another_one_changed_tells_so(ann, monkeypatch):
    page = ann.add("The bees sting.", access="shared")
    first, last = (ann.branches.create(name) for name in ("first", "last"))
    usual, done = Brancher._is_restricted, []

    def restricted(brancher: Brancher, change: Relabelling) -> bool:
        if done:
            ann.branch("last").governance.hold(memory=last.id_of(page), reason="quuxing")
        done.append(usual(brancher, change))
        return done[-1]

    monkeypatch.setattr(Brancher, "_is_restricted", restricted)
    with pytest.raises(CubeProtected, match="in the branch 'last'") as refused:
        ann.governance.relabel(page, access="private")
    assert "the rest was not changed" in str(refused.value)
    assert str(refused.value).endswith("; its copies in branches got what is stricter already")
    told = [labels(ann.branch(one.name), one.id_of(page))[0] for one in (first, last)]
    assert (labels(ann, page)[0], told) == ("shared", ["private", "shared"])


@pytest.mark.parametrize("protect", ["freeze", "hold"])
def test_a_copy_that_is_protected_in_its_branch_refuses_it(store, ann, protect):
    page = ann.add("The bees sting.", access="shared")
    others = [ann.branches.create(name) for name in ("first", "try", "zest")]
    made, there = others.pop(1), ann.branch("try")
    if protect == "freeze":
        there.governance.freeze(made.id_of(page))
    else:
        there.governance.hold(memory=made.id_of(page), reason="quuxing")
    for caller in (Caller("ann"), WRITER):
        with pytest.raises(CubeProtected, match="in the branch 'try'") as refused:
            store.of(ANN, caller).governance.relabel(page, access="private")
        assert refused.value.memory_id == made.id_of(page)
        assert "quuxing" not in str(refused.value)
    assert labels(ann, page)[0] == "shared"
    assert {labels(ann.branch(one.name), one.id_of(page))[0] for one in others} == {"shared"}
    assert ann.governance.relabel(page, access="shared", endless=True).number == 1


@pytest.mark.each
def test_a_branch_that_is_being_made_does_not_keep_what_was_more_open(open_store, ann, monkeypatch):
    page = ann.add("The bees sting.", access="shared")
    other, original = open_store().of(ANN, Caller("ann")), BranchMaker._copy_some

    def interrupted(*given: object) -> None:
        if labels(other, page)[0] == "shared":
            other.governance.relabel(page, access="private")
        original(*given)

    monkeypatch.setattr(BranchMaker, "_copy_some", interrupted)
    with pytest.raises(NotFound, match="erased or restricted"):
        ann.branches.create("try")
    assert not ann.branches.list()
    made = ann.branches.create("try")
    assert labels(ann.branch("try"), made.id_of(page))[0] == "private"


@pytest.mark.each
def test_a_branch_that_is_made_before_the_step_gets_them_too(open_store, ann, monkeypatch):
    page = ann.add("The bees sting.", access="shared")
    other, made = open_store().of(ANN, Caller("ann")), []
    original = Brancher.restrict

    def restricted(*given: object) -> object:
        done = original(*given)
        if not made:
            made.append(other.branches.create("try"))
        return done

    monkeypatch.setattr(Brancher, "restrict", restricted)
    ann.governance.relabel(page, access="private")
    assert labels(ann, page)[0] == labels(ann.branch("try"), made[0].id_of(page))[0] == "private"


# Ends


def test_what_was_learned_from_a_page_ends_with_it(ann, clock):
    page = ann.add("I work in Bern.", "ok")
    fact = learned(ann, page)
    for hours in (2, 1, 3):  # nearer, and later
        ann.governance.relabel(page, ttl=hours * HOUR)
        assert labels(ann, fact)[2] == clock.now + hours * HOUR
    ann.governance.relabel(page, endless=True)
    assert labels(ann, fact)[2] is None
    again = ann.add("As I said, I work in Bern.", "ok", ttl=HOUR)
    ann.consolidate()
    ann.governance.relabel(page, ttl=2 * HOUR)
    ends = {labels(ann, one.id)[2] for one in ann.facts.list() if {page, again} <= set(one.descriptive.provenance)}
    assert ends == {clock.now + 2 * HOUR}  # with the last of them
    ann.governance.relabel(page, ttl=HOUR / 2)
    clock.advance(hours=1)
    assert "Bern" not in repr(ann.facts.list())


def agents(store: MemoryOS, *names: str) -> list[Memory]:
    return [store.of(Scope("ann", one), Caller("ann")) for one in names]


@pytest.mark.parametrize("change", [{"ttl": HOUR}, {"expires_at": "2999-01-01"}, {"endless": True}], ids=str)
def test_the_end_of_a_page_is_refused_where_agents_share_what_was_learned(open_store, change):
    """It lies in another scope, and in the branches of all agents: they would end at other times after a crash."""
    store = open_store(persona_sharing="user")
    coder, friend = agents(store, "coder", "friend")
    page = coder.add("I work in Bern.", "ok")
    fact = learned(coder, page)
    made = coder.branches.create("try")
    for memory, one in ((coder, page), (coder.branch("try"), made.id_of(page))):
        with pytest.raises(InvalidInput, match=r"shared by all agents.*governance\.expire"):
            memory.governance.relabel(one, access="shared", **change)
        assert (memory.get(one).number, labels(memory, one)[0]) == (1, "private")
    assert coder.governance.relabel(page, access="shared", sensitivity=["address"]).number == 2
    own = friend.facts.add("Ann has wasps.")
    assert friend.governance.relabel(own, ttl=HOUR).number == 2
    coder.governance.expire(page)
    coder.wait()
    assert fact not in repr(friend.facts.list())


def test_what_rests_on_a_page_that_lies_elsewhere_has_no_end(open_store, clock):
    """The persona that agents share has pages of its own, and knows nothing of the ends of theirs."""
    store = open_store(persona_sharing="user")
    everyone, (coder,) = store.of(Scope("ann", None), Caller("ann")), agents(store, "coder")
    page = everyone.add("I work in Bern.", "ok")
    fact = learned(everyone, page)
    everyone.governance.relabel(page, ttl=2 * HOUR)
    assert labels(everyone, fact)[2] == clock.now + 2 * HOUR
    other = coder.add("I work in Bern.", "ok")
    assert learned(coder, other) == fact
    everyone.governance.relabel(page, ttl=HOUR)
    assert {page, other} == set(everyone.get(fact).descriptive.provenance)
    assert labels(everyone, fact)[2] is None


def test_a_retention_rule_ends_it_all_the_same(ann, clock):
    ann.governance.retain("short", ttl=3600)
    page = ann.add("The bees sting.", ttl=60)
    ann.governance.relabel(page, endless=True)
    assert labels(ann, page)[2] == clock.now + HOUR
    ann.governance.relabel(page, ttl=2 * HOUR)
    assert labels(ann, page)[2] == clock.now + HOUR
    ann.governance.relabel(page, ttl=HOUR / 2)
    assert labels(ann, page)[2] == clock.now + HOUR / 2


def test_what_was_built_from_it_is_gone(ann, clock):
    page = ann.add("I live in Rome.", "ok")
    fact = learned(ann, page)
    for source in (page, fact):
        built = put_built(ann._engine.vault, ann.get(source), clock)
        ann.governance.relabel(page, sensitivity=[f"of {source}"])
        with ann._engine.vault.read(ANN) as reader:
            assert not reader.kinds(one.id for one in built)


@pytest.mark.parametrize("way", ["relabel", "update"])
def test_a_state_of_a_topic_goes_when_one_of_its_pages_gets_other_labels(ann, clock, way):
    page, topic = hiked(ann)
    built = put_built(ann._engine.vault, topic, clock)
    if way == "relabel":
        ann.governance.relabel(page, sensitivity=["address"])
    else:
        ann.update(page, tags=["secret"])
    with ann._engine.vault.read(ANN) as reader:
        assert not reader.kinds(one.id for one in built)


def test_what_is_built_is_as_sensitive_as_the_pages_beneath_its_sources(store, ann, clock):
    """Also if the words came by way of another one: a state of a fact that an adapter told."""
    page, topic = hiked(ann, sensitivity=["address"])
    fact = ann.get(learned(ann, page))
    told = ann.get(ann.facts.add("Ann has wasps."))
    built = [one for source in (fact, topic, told) for one in put_built(ann._engine.vault, source, clock)]
    with ann._engine.vault.write(ANN) as writer:
        writer.link([Link(told.id, LinkKind.COMPUTED_FROM, fact.id)])
    for one in (page, fact, topic, told, *built):
        assert ann.get(getattr(one, "id", one))
        with pytest.raises(NotFound):
            store.of(ANN, PORTER).get(getattr(one, "id", one))


def test_what_an_adapter_told_takes_as_many_statements_as_an_id_that_nothing_has(store, ann, clock):
    """However many links lie between, and whether it may be read or not."""
    hidden, known = learned(ann, ann.add("I live in Rome.", "ok", sensitivity=["address"])), ann.facts.add("Ann sings.")
    tellers = [put_built(ann._engine.vault, ann.get(one), clock)[1] for one in (hidden, known)]
    told = [ann.facts.add(text) for text in ("Ann has wasps.", "Ann has bees.")]
    with ann._engine.vault.write(ANN) as writer:
        writer.link(
            [Link(*ends) for ends in zip(told, (LinkKind.COMPUTED_FROM,) * 2, (one.id for one in tellers), strict=True)]
        )
    porter = store.of(ANN, PORTER)
    work = {}

    def look(one: str) -> None:
        with pytest.raises(NotFound):
            porter.get(one)

    for name, one in {"nothing": str(uuid7()), "hidden": told[0], "adapter": tellers[0].id, "page": hidden}.items():
        for _ in range(2):
            work[name] = statements_in(lambda one=one: look(one))
    assert len(set(work.values())) == 1, work
    assert porter.get(told[1]).text == "Ann has bees."


def test_what_is_built_of_open_memories_is_read(store, ann, clock):
    page, topic = hiked(ann)
    built = [
        one for source in (topic, ann.get(learned(ann, page))) for one in put_built(ann._engine.vault, source, clock)
    ]
    assert all(store.of(ANN, PORTER).get(one.id) for one in built)


def hiked(memory: Memory, **about: list[str]) -> tuple[str, MemCube]:
    """A page with an address, and the topic that it is in."""
    page = memory.add("I live in Rome.", "ok", **about)
    for number in range(4):
        memory.add(f"I hiked in Norway {number}.", "ok")
    memory.consolidate()
    with memory._engine.vault.read(ANN) as reader:
        (home,) = (link.target for link in reader.targets([page], LinkKind.MEMBER_OF))
    (topic,) = (one.cube for one in memory.segments.list() if one.cube.id == home)
    return page, topic


# Who may


REFUSED: dict[str, tuple[Caller, dict[str, object], dict[str, object]]] = {
    "a reader": (NURSE, {"access": "shared"}, {"access": "private"}),
    "a writer shares": (WRITER, {}, {"access": "shared"}),
    "a sharer opens it": (SHARER, {}, {"access": "shared"}),
    "a sharer opens it for reading": (SHARER, {}, {"access": "read_only"}),
    "a sharer lifts read-only": (SHARER, {"access": "read_only"}, {"access": "shared"}),
    "a writer lifts read-only": (WRITER, {"access": "read_only"}, {"access": "private"}),
    "a writer ends it": (WRITER, {}, {"ttl": 60}),
    "a writer ends it earlier": (WRITER, {"ttl": HOUR}, {"ttl": 60}),
}
PERMITTED: dict[str, tuple[Caller, dict[str, object], dict[str, object]]] = {
    "a writer restricts": (WRITER, {"access": "shared"}, {"access": "private", "sensitivity": ["diagnosis"]}),
    "a sharer restricts": (SHARER, {"access": "shared"}, {"access": "read_only"}),
    "a writer keeps it": (WRITER, {"ttl": HOUR}, {"ttl": 2 * HOUR}),
    "a remover ends it": (REMOVER, {}, {"ttl": 60}),
    "the owner opens it": (Caller("ann"), {"access": "read_only"}, {"access": "shared"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_caller_may_not_is_refused(store, ann, name):
    caller, about, change = REFUSED[name]
    page = ann.add("The bees sting.", **about)
    before, events = ann.get(page), ann.log.events()
    with pytest.raises(PermissionDenied):
        store.of(ANN, caller).governance.relabel(page, **change)
    assert (ann.get(page), ann.log.events()) == (before, events)


@pytest.mark.parametrize("name", PERMITTED)
def test_what_the_caller_may_is_done(store, ann, name):
    caller, about, change = PERMITTED[name]
    page = ann.add("The bees sting.", **about)
    assert store.of(ANN, caller).governance.relabel(page, **change).number == 2


class Gate:
    """A gate that lets a caller administer once."""

    asked = 0

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        if action is Action.ADMINISTER:
            self.asked += 1
            if self.asked > 1:
                raise PermissionDenied("not any more")


@pytest.mark.each
def test_the_caller_is_asked_again_when_it_is_written(place, clock):
    gate = Gate()
    with closing(MemoryOS.open(place, embedder=Hashing(), clock=clock, gate=gate)) as store:
        memory = store.of(ANN)
        page = memory.add("The bees sting.")
        with pytest.raises(PermissionDenied, match="not any more"):
            memory.governance.relabel(page, access="shared")
        assert gate.asked == 2
        assert labels(memory, page)[0] == "private"


def test_it_is_in_the_audit_log_without_contents(open_store):
    store = open_store(audit=True)
    ann = store.of(ANN, Caller("ann"))
    page = ann.add("The bees sting.")
    ann.governance.relabel(page, access="shared", reason="quuxing")
    with pytest.raises(PermissionDenied):
        store.of(ANN, WRITER).governance.relabel(page, access="read_only")
    told = [one for one in store.audit.permissions(user="ann") if one.operation == "governance.relabel"]
    assert {(one.caller, one.change, one.decision.value) for one in told if one.change or one.caller != "ann"} == {
        ("ann", "label", "allowed"),
        (WRITER.identity, None, "refused"),
    }
    assert "quuxing" not in repr(told) and "bees" not in repr(told)


# What refuses it


def test_what_was_derived_follows_its_sources(ann):
    ann.add("I hiked in Norway.")
    page = ann.add("I live in Rome.", "ok")
    fact = learned(ann, page)
    (topic, *_) = ann.segments.list()
    state, adapter = put_built(ann._engine.vault, ann.get(page), ann._engine.clock)
    for one in (fact, topic.cube.id, state.id, adapter.id):
        for change in ({"access": "private"}, {"sensitivity": ["x"]}, {"ttl": 60}, {"endless": True}):
            with pytest.raises(InvalidInput, match="derived from other memories: its access"):
                ann.governance.relabel(one, **change)


PROTECTED: dict[str, tuple[Callable[[Memory, str], object], type[Exception]]] = {
    "frozen": (lambda memory, page: memory.governance.freeze(page), CubeProtected),
    "held": (lambda memory, page: memory.governance.hold(memory=page, reason="a case"), OnHold),
    "expired": (lambda memory, page: memory.governance.expire(page), NotFound),
    "erased": (lambda memory, page: memory.governance.erase(page), NotFound),
    "of nobody": (lambda memory, page: memory.forget(), NotFound),
}


@pytest.mark.parametrize("name", PROTECTED)
def test_what_refuses_an_update_refuses_it(ann, name):
    protect, error = PROTECTED[name]
    page = ann.add("The bees sting.")
    protect(ann, page)
    for call in (lambda: ann.update(page, "No."), lambda: ann.governance.relabel(page, access="shared")):
        with pytest.raises(error):
            call()


def test_a_read_only_memory_keeps_its_words_and_can_be_restricted(ann):
    page = ann.add("The bees sting.", access="read_only")
    assert ann.governance.relabel(page, sensitivity=["diagnosis"]).is_read_only
    with pytest.raises(CubeProtected):
        ann.update(page, "No.")
    ann.governance.relabel(page, access="private")
    assert ann.update(page, "No.").kind is Kind.PAGE


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "sensitivity"),
        ({"access": "public"}, "access"),
        ({"ttl": -1}, "ttl"),
        ({"ttl": 60, "expires_at": "2027-01-01"}, "ttl"),
        ({"expires_at": "2001-01-01"}, "expires_at"),
        ({"ttl": 60, "endless": True}, "endless"),
        ({"endless": 1}, "endless"),
        ({"sensitivity": "diagnosis"}, "sensitivity"),
        ({"sensitivity": [f"label {number}" for number in range(999)]}, "sensitivity"),
        ({"access": "shared", "expected_version": 0}, "expected_version"),
    ],
    ids=str,
)
def test_wrong_arguments_are_told(ann, wrong, field):
    page = ann.add("The bees sting.", sensitivity=["one", "two"])
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        ann.governance.relabel(page, **wrong)
    assert ann.get(page).number == 1


def test_an_end_in_the_past_is_told_how_to_end_it(ann):
    page = ann.add("The bees sting.")
    with pytest.raises(InvalidInput, match=r"governance\.expire"):
        ann.governance.relabel(page, expires_at="2001-01-01")


# What is stated again


@pytest.mark.parametrize(("access", "then"), [("private", "shared"), ("read_only", "private"), ("read_only", "shared")])
def test_what_is_stated_again_is_opened_by_nobody_who_may_not_relabel_it(store, ann, access, then):
    fact = ann.facts.add("Ann keeps bees.", access=access)
    for caller in (WRITER, SHARER):
        with pytest.raises(PermissionDenied):
            store.of(ANN, caller).facts.add("Ann keeps bees.", access=then)
    assert labels(ann, fact)[0] == access
    assert ann.facts.add("Ann keeps bees.", access=then) == fact
    assert labels(ann, fact)[0] == then


def test_the_caller_is_asked_again_when_a_fact_that_it_opens_is_written(place, clock):
    gate = Gate()
    with closing(MemoryOS.open(place, embedder=Hashing(), clock=clock, gate=gate)) as store:
        memory = store.of(ANN)
        fact = memory.facts.add("Ann keeps bees.")
        with pytest.raises(PermissionDenied, match="not any more"):
            memory.facts.add("Ann keeps bees.", access="shared")
        assert (gate.asked, labels(memory, fact)[0]) == (2, "private")


OF_PAGES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal == User::"tests", action, resource is Cube);
permit (principal == User::"ben", action == Action::"read", resource is Cube) when { resource.tags.contains("public") };
"""


@pytest.mark.parametrize("number", [1, 4, 5, 9])
def test_what_rests_on_any_number_of_sources_has_their_labels_and_not_its_own(place, clock, tmp_path, number):
    (tmp_path / "pages.cedar").write_text(OF_PAGES)
    settings = load_settings(short_term_capacity=1, policies=str(tmp_path / "pages.cedar"))
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as store:
        ann, ben = store.of(ANN, Caller("ann")), store.of(ANN, Caller("ben"))
        told, hidden = ann.facts.add("Ann has wasps."), ann.facts.add("Ann has bees.")
        pages = [ann.add(f"The bees sting {one}.", tags=["public"]) for one in range(number)]
        others = [*pages[1:], ann.add("The bees are secret.")]
        links = [Link(told, LinkKind.COMPUTED_FROM, one) for one in pages]
        links += [Link(hidden, LinkKind.COMPUTED_FROM, one) for one in others]
        with ann._engine.vault.write(ANN) as writer:
            writer.link(links)
        assert ben.get(told).text == "Ann has wasps."
        with pytest.raises(NotFound):
            ben.get(hidden)


@pytest.mark.parametrize(
    ("before", "change", "told"),
    [
        ("private", {"access": "shared"}, {"nothing"}),
        ("shared", {"sensitivity": ["diagnosis"]}, {"69 memories"}),
    ],
)
def test_only_what_changed_is_told_when_a_hold_comes_between(ann, monkeypatch, before, change, told):
    ann.add("Hello.")
    ann.branches.create("empty")  # without a copy of what is relabelled
    ids = merged(ann, before)
    meanwhile(monkeypatch, "_planned", ids[0], lambda: ann.governance.hold(reason="Smith", memory=ids[0]))
    with pytest.raises(OnHold) as error:
        ann.governance.relabel(ids[0], **change)
    found = {one for one in ("nothing", "69 memories", "copies in branches") if one in str(error.value)}
    assert found == told


def test_a_version_or_a_right_that_changes_between_two_steps_is_told_with_what_was_done(ann, monkeypatch):
    ids = merged(ann, "shared")
    number = ann.get(ids[0]).number
    meanwhile(monkeypatch, "_planned", ids[0], lambda: ann.update(ids[0], tags=["new"]))
    with pytest.raises(StaleVersion, match=r"the rest was not changed.*; 69 memories that it took in") as error:
        ann.governance.relabel(ids[0], sensitivity=["diagnosis"], expected_version=number)
    assert error.value.expected == number

    def denied() -> None:
        raise PermissionDenied("the policies are others now")

    meanwhile(monkeypatch, "_after", ids[0], denied)
    with pytest.raises(PermissionDenied, match="others now; the memory itself has its new labels already"):
        ann.governance.relabel(ids[0], access="private")
