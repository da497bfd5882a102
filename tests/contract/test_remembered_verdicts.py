"""What a store remembers of its decisions never outlives what they depend on: a search decides as a new store would."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from attack.governed import statements_in
from memoryos import Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.caller import SYSTEM, acting
from memoryos.errors import CubeProtected, PermissionDenied
from memoryos.infrastructure.vault.contract import Vault, Writer
from memoryos.infrastructure.vault.records import (
    CHANGES_NO_CLASS,
    RESTING,
    CubeClass,
    Entry,
    Link,
    LinkKind,
    Operation,
)
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.stored_cubes import StoredCubes
from memoryos.models.hashing import Hashing

pytestmark = pytest.mark.memory

ANN = Scope(user="ann")
OWNER, GUEST = Caller("ann"), Caller("gus", frozenset({"guest"}), purpose="support")
POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal == User::"operator", action == Action::"administer", resource is Store);
permit (principal in Role::"guest", action == Action::"read", resource)
when { resource.sensitivity.isEmpty() && context has purpose && context.purpose == "support" };
permit (principal in Role::"doctor", action == Action::"read", resource)
when { resource.sensitivity.contains("diagnosis") };
"""
TIMED = """
permit (principal in Role::"guest", action == Action::"read", resource)
when { context.time >= datetime("2026-06-01T08:00:00Z") && context.time < datetime("2026-06-01T18:00:00Z") };
"""
OPEN, SECRET = "The bees hum.", "The bees made it an allergy."
Open = Callable[..., MemoryOS]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    made = tmp_path / "policies"
    made.mkdir()
    (made / "clinic.cedar").write_text(POLICIES)
    return made


@pytest.fixture
def opened(place, clock, rules: Path) -> Iterator[Open]:
    """opened(): the store, opened anew with nothing remembered."""
    with ExitStack() as stack:

        def call(*, read_only: bool = False) -> MemoryOS:
            settings = load_settings(embedder="hashing")
            options = {"settings": settings, "embedder": Hashing(), "clock": clock, "read_only": read_only}
            store = MemoryOS.open(place, policies=rules, **options)
            stack.callback(store.close)
            return store

        yield call


@pytest.fixture
def vault(store: MemoryOS) -> Vault:
    return store._engine.vault


@pytest.fixture
def store(opened: Open) -> MemoryOS:
    made = opened()
    mine = made.of(ANN, OWNER)
    mine.add(OPEN)
    mine.add(SECRET, sensitivity=["diagnosis"])
    mine.facts.add("has bees")
    mine.facts.add("has an allergy to bees", sensitivity=["diagnosis"])
    return made


def seen(store: MemoryOS, caller: Caller = GUEST) -> set[str] | None:
    """What a search tells of, the latest pages and the facts included; None if it is refused."""
    try:
        found = store.of(ANN, caller).search("bees allergy")
    except PermissionDenied:
        return None
    hits = (*found.hits, *found.recent, *found.user_facts)
    return {hit.cube.payload.turns[0].text if hit in (*found.hits, *found.recent) else hit.text for hit in hits}


PART = {OPEN, "has bees"}
SICK = {SECRET, "has an allergy to bees"}


def relabel(vault: Vault, page: str, *sensitivity: str) -> None:
    """Give a page other labels, without other words."""

    def write() -> None:
        with vault.write(ANN) as writer:
            cube = writer.get([page])[page]
            governance = replace(cube.governance, sensitivity=sensitivity)
            writer.update([Entry(replace(cube, governance=governance))], Operation.REFRESH)

    acting(SYSTEM, write)


def test_other_policies_decide_from_the_next_search(store, rules):
    for _ in range(3):
        assert seen(store) == PART
        (rules / "more.cedar").write_text('permit (principal == User::"gus", action, resource is Cube);')
        assert seen(store) == PART | SICK
        (rules / "more.cedar").write_text('forbid (principal == User::"gus", action, resource);')
        assert seen(store) is None
        (rules / "more.cedar").unlink()


def test_a_page_with_other_labels_is_decided_anew(store, vault):
    mine = store.of(ANN, OWNER)
    page, secret = (one.id for one in mine.pages.list())
    if mine.get(page).payload.turns[0].text != OPEN:
        page, secret = secret, page
    for _ in range(2):
        assert seen(store) == PART
        relabel(vault, page, "diagnosis")
        assert seen(store) == {"has bees"}
        relabel(vault, secret)
        assert seen(store) == {SECRET, "has bees"}
        relabel(vault, page)
        relabel(vault, secret, "diagnosis")


def test_a_fact_with_other_labels_is_decided_anew(store):
    assert seen(store) == PART
    store.of(ANN, OWNER).facts.add("has bees", sensitivity=["diagnosis"])
    assert seen(store) == {OPEN}


def test_a_verdict_within_a_write_that_is_undone_is_forgotten(store, vault, rules):
    """The next events get the numbers of those that were undone."""
    (rules / "more.cedar").write_text(
        'permit (principal in Role::"guest", action == Action::"write", resource is Cube);'
    )
    mine = store.of(ANN, OWNER)
    secret = next(fact.id for fact in mine.facts.list() if fact.governance.sensitivity)
    mine.wait()

    def begin() -> None:
        with vault.write(ANN) as writer:
            cube = writer.get([secret])[secret]
            public = replace(cube, governance=replace(cube.governance, sensitivity=()))
            writer.update([Entry(public)], Operation.REFRESH)
            raise CubeProtected("it stands in the way", memory_id=secret)

    def facts() -> set[str]:
        return {fact.text for fact in store.of(ANN, GUEST).facts.list()}

    assert facts() == {"has bees"}
    with pytest.raises(CubeProtected):
        acting(GUEST, begin)
    for _ in range(3):
        mine.search("bees")
        mine.wait()
        assert facts() == {"has bees"}


def changed(vault: Vault, write: Callable[[Writer], object]) -> tuple[dict[str, list[CubeClass]], set[Operation]]:
    """What a transaction makes of the classes of memories, where that is something else, and its events."""

    def run() -> tuple[dict[str, list[CubeClass]], set[Operation]]:
        with vault.write(ANN) as writer:
            ids = [one.id for one in writer.placed()]
            before, sequence = writer.classes(ids), writer.sequence()
            write(writer)
            after = writer.classes(ids)
            events = {one.operation for one in writer.events(after=sequence)}
        return {one: after[one] for one in after if after[one] != before[one]}, events

    return acting(SYSTEM, run)


@pytest.mark.parametrize("kind", RESTING)
def test_links_that_change_who_may_read_are_events(store, vault, kind):
    """Also where nothing else is written of the memory: a load and a copy write the links last."""
    mine = store.of(ANN, OWNER)
    page = next(page.id for page in mine.pages.list() if page.governance.sensitivity)
    fact = next(fact.id for fact in mine.facts.list() if not fact.governance.sensitivity)
    mine.wait()
    assert seen(store) == PART
    told, events = changed(vault, lambda writer: writer.link([Link(fact, kind, page)]))
    assert (set(told), events) == ({fact}, {Operation.REFRESH})
    assert seen(store) == {OPEN}
    told, events = changed(vault, lambda writer: writer.unlink([Link(fact, kind, page)]))
    assert (set(told), events) == ({fact}, {Operation.REFRESH})
    assert seen(store) == PART


def test_a_visit_beside_a_link_does_not_hide_it(store, vault):
    mine = store.of(ANN, OWNER)
    page = next(page.id for page in mine.pages.list() if page.governance.sensitivity)
    fact = next(fact.id for fact in mine.facts.list() if not fact.governance.sensitivity)

    def write(writer: Writer) -> None:
        writer.update([Entry(writer.get([fact])[fact])], Operation.VISIT)
        writer.link([Link(fact, LinkKind.DERIVED_FROM, page)])

    assert changed(vault, write)[1] == {Operation.VISIT, Operation.REFRESH}


def test_links_written_with_their_memory_are_no_further_events(store, vault):
    mine = store.of(ANN, OWNER)
    page, fact = mine.pages.list()[0].id, mine.facts.list()[0].id

    def write(writer: Writer) -> None:
        writer.update([Entry(writer.get([fact])[fact])], Operation.REVISE)
        writer.link([Link(fact, LinkKind.DERIVED_FROM, page), Link(page, LinkKind.EXTRACTED, page)])

    assert changed(vault, write)[1] == {Operation.REVISE}


def test_each_operation_that_changes_who_may_read_has_an_event_that_makes_decisions_void(
    store, rules, tmp_path, monkeypatch
):
    """Its transactions have an event other than those that change no class."""
    mine, silent, changing = store.of(ANN, OWNER), set[str](), set[str]()
    written = SqlVault.write

    @contextmanager
    def watched(vault: SqlVault, scope: Scope) -> Iterator[Writer]:
        with written(vault, scope) as writer:
            before, sequence = writer.classes(one.id for one in writer.placed()), writer.sequence()
            yield writer
            after = writer.classes(one.id for one in writer.placed())
            told = {event.operation for event in writer.events(after=sequence)}
        changing.update([step] if after != before else [])
        silent.update([step] if after != before and told <= set(CHANGES_NO_CLASS) else [])

    monkeypatch.setattr(SqlVault, "write", watched)
    page, secret = (one.id for one in mine.pages.list())
    (rules / "more.cedar").write_text('permit (principal == User::"operator", action, resource);')
    step = ""
    kept = tmp_path / "kept.jsonl"
    deeds: dict[str, Callable[[], object]] = {
        "label": lambda: mine.facts.add("has bees", tags=["new"], sensitivity=["diagnosis"]),
        "tag": lambda: mine.update(page, tags=["hive"]),
        "extract": lambda: (mine.add("My name is Ann. I live in Rome."), mine.consolidate()),
        "correct": lambda: mine.update(page, "I moved to Paris. I have a dog."),
        "branch": lambda: mine.branches.create("try"),
        "delete": lambda: mine.delete(secret),
        "forget": lambda: (mine.export(kept), mine.forget()),
        "load": lambda: store.admin.load(kept, again=True),
    }
    for step in deeds:
        deeds[step]()
    assert (silent, changing) == (set(), set(deeds))


def test_a_label_that_nothing_had_is_decided_when_it_comes(store):
    assert seen(store) == PART
    store.of(ANN, OWNER).add("The bees swarm.", tags=["new"])
    store.of(ANN, OWNER).add("The bees are ill.", tags=["newer"], sensitivity=["diagnosis"])
    assert seen(store) == {*PART, "The bees swarm."}


def test_purpose_network_and_roles_of_the_call_decide(store, rules):
    (rules / "net.cedar").write_text(
        'forbid (principal, action, resource) when { context has network && context.network == "cafe" };'
    )
    doctor = replace(GUEST, roles=frozenset({"doctor"}))
    for _ in range(2):
        assert seen(store) == PART
        assert seen(store, replace(GUEST, purpose="marketing")) == set()
        assert seen(store, replace(GUEST, purpose=None)) == set()
        assert seen(store, replace(GUEST, network="cafe")) is None
        assert seen(store, doctor) == SICK
        assert seen(store, replace(GUEST, roles=GUEST.roles | doctor.roles)) == PART | SICK


def test_a_window_of_time_opens_and_closes(store, rules, clock):
    (rules / "clinic.cedar").write_text(POLICIES.replace('Role::"guest"', 'Role::"nobody"') + TIMED)
    assert seen(store) is None
    clock.advance(hours=8)
    assert seen(store) == PART | SICK
    clock.advance(hours=9, minutes=59, seconds=59)
    assert seen(store) == PART | SICK
    clock.advance(seconds=1)
    assert seen(store) is None


def test_a_granted_role_counts_until_it_is_revoked_or_ends(store, clock):
    kim = Caller("kim", purpose="support")
    assert seen(store, kim) is None
    for role, told in (("guest", PART), ("doctor", SICK)):
        granted = store.roles.grant("kim", [role], ttl=60)
        assert seen(store, kim) == told
        store.roles.revoke(granted.id)
        assert seen(store, kim) is None
    store.roles.grant("kim", ["guest"], ttl=60)
    clock.advance(seconds=59)
    assert seen(store, kim) == PART
    clock.advance(seconds=1)
    assert seen(store, kim) is None


def test_a_delegation_counts_until_it_is_revoked_or_ends(store, clock):
    ben, mine = Caller("ben"), store.of(ANN, OWNER)
    passed = mine.governance.delegate("ben", ttl=60)
    assert seen(store, ben) == PART | SICK
    mine.governance.revoke(passed.id)
    assert seen(store, ben) is None
    mine.governance.delegate("ben", ttl=60)
    assert seen(store, ben) == PART | SICK
    clock.advance(seconds=60)
    assert seen(store, ben) is None


def test_a_revoked_key_opens_nothing(store):
    made = store.keys.create("gus", roles=["guest"], purposes=["support"])
    caller = store.keys.caller(made.key)
    assert seen(store, caller) == PART
    store.keys.revoke(made.info.id)
    assert seen(store, caller) is None
    assert seen(store) == PART


def test_a_search_tells_what_one_with_nothing_remembered_tells(store, opened, vault):
    """Also the scores, which hidden pages would change."""

    def told(one: MemoryOS) -> list[tuple[str, float]]:
        return [(hit.id, hit.score) for hit in one.of(ANN, GUEST).search("bees allergy").hits]

    mine = store.of(ANN, OWNER)
    for number in range(12):
        mine.add(f"The bees of hive {number} hum.", tags=[f"hive{number % 5}"], sensitivity=["diagnosis"][: number % 2])
    for page in [page.id for page in mine.pages.list()][:4]:
        assert told(store) == told(opened())
        relabel(vault, page, "diagnosis")
        assert told(store) == told(opened())
        relabel(vault, page)
    assert told(store) == told(opened())


def test_a_guests_search_sends_few_statements_more(store, opened):
    for number in range(20):
        store.of(ANN, OWNER).add(f"The bees of hive {number} hum.")
    store.of(ANN, OWNER).wait()
    still = opened(read_only=True)  # without visits, which are events

    def statements(memory: Memory) -> int:
        memory.search("bees", pages=1)
        return statements_in(lambda: memory.search("hive", pages=20))  # which were not decided yet

    guest, owner = (statements(still.of(ANN, caller)) for caller in (GUEST, OWNER))
    assert guest <= owner + 1  # the number of the last event, for what it knows of single memories


def test_pages_found_are_decided_as_they_are_read(store, vault):
    """Whatever ids it is asked for: of pages, of facts, of hidden ones."""
    mine = store.of(ANN, OWNER)
    ids = [one.id for one in (*mine.pages.list(), *mine.facts.list())]

    def read() -> set[str]:
        with vault.view(ANN) as reader:
            return {cube.id for cube in reader.found_pages([*ids, "nothing"]).values()}

    assert acting(OWNER, read) == set(ids)
    assert acting(GUEST, read) == {one for one in ids if not mine.get(one).governance.sensitivity}


def test_visits_make_no_decision_void(store, monkeypatch):
    asked = set[str]()
    classes = StoredCubes.classes

    def noted(reader: StoredCubes, ids: Iterable[str]) -> dict[str, list[CubeClass]]:
        wanted = list(ids)
        asked.update(wanted)
        return classes(reader, wanted)

    monkeypatch.setattr(StoredCubes, "classes", noted)
    store.of(ANN, OWNER).wait()
    for _ in range(3):
        assert seen(store) == PART
        store.of(ANN, OWNER).wait()
        asked.clear()
    assert seen(store) == PART
    assert not asked
    store.of(ANN, OWNER).facts.add("has wasps")
    assert seen(store) == {*PART, "has wasps"}
    assert asked
