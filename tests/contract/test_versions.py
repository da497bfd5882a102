"""Versions of a memory: updates that expect one, what differs between two, and the way back to an earlier one."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forked
from memoryos import AccessMode, Attachment, Caller, MemCube, Memory, MemoryOS, Scope, Subject
from memoryos.cube import Access, Trait
from memoryos.engine import Engine
from memoryos.errors import (
    CubeProtected,
    InvalidInput,
    NotFound,
    OnHold,
    PermissionDenied,
    PrivacyRefused,
    StaleVersion,
)
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import Level
from memoryos.models.hashing import Hashing
from memoryos.operation.scheduler.step import CUBES_AT_ONCE
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate
from public import store_of

TESTS = Path(__file__).parents[1]
ANN = Scope(user="ann")
MAIL = "a.b@mailbox.org"


def with_trait(memory: Memory) -> str:
    """A trait as rules would store it."""
    fact = memory.get(memory.facts.add("likes to cook"))
    payload = Trait(subject=Subject.USER, dimension="Food", level=Level.LOW, reason="first")
    trait = replace(fact, id=str(uuid4()), payload=payload)
    with memory._engine.vault.write(fact.scope) as writer:
        writer.insert([Entry(trait)])
    return trait.id


MADE: dict[str, Callable[[Memory], str]] = {
    "page": lambda memory: memory.add("first"),
    "fact": lambda memory: memory.facts.add("first"),
    "profile": lambda memory: memory.profile.set("motto", "first"),
    "trait": with_trait,
}
KINDS = pytest.mark.parametrize("kind", MADE)


def said(cube: MemCube) -> str:
    """The words that an update changes."""
    payload = cube.payload
    return {
        "page": lambda: payload.turns[0].text,
        "fact": lambda: payload.text,
        "profile": lambda: payload.value,
        "trait": lambda: payload.reason,
    }[cube.kind.value]()


def versions(memory: Memory, memory_id: str) -> list[tuple[int, str]]:
    return [(one.version.number, said(one)) for one in memory.history(memory_id)]


# An update that expects a version


@KINDS
def test_an_update_that_expects_the_stored_version_is_made(open_memory, kind):
    memory = open_memory()
    known = MADE[kind](memory)
    assert said(memory.update(known, "second", expected_version=1)) == "second"
    assert said(memory.update(known, "third", expected_version=2)) == "third"
    assert versions(memory, known) == [(1, "first"), (2, "second"), (3, "third")]


@KINDS
def test_an_update_that_expects_another_version_changes_nothing(open_memory, kind):
    memory = open_memory()
    known = MADE[kind](memory)
    memory.update(known, "second")
    memory.wait()
    before = memory.log.events()
    for expected in (1, 3):
        with pytest.raises(StaleVersion) as caught:
            memory.update(known, "lost", expected_version=expected)
        error = pickle.loads(pickle.dumps(caught.value))
        assert (error.memory_id, error.expected, error.stored) == (known, expected, 2)
        assert str(error).startswith(f"the memory {known} has version 2, not {expected}, and nothing was changed: read")
    assert memory.log.events() == before
    assert versions(memory, known) == [(1, "first"), (2, "second")]


@pytest.mark.once
@pytest.mark.parametrize("wrong", [0, -1, "1", True, 2**70])
def test_a_number_that_no_version_has_is_refused(open_memory, wrong):
    memory = open_memory()
    page = memory.add("first")
    with pytest.raises(InvalidInput, match="expected_version: "):
        memory.update(page, "second", expected_version=wrong)
    with pytest.raises(InvalidInput, match="version: "):
        memory.governance.rollback(page, wrong)
    with pytest.raises(InvalidInput, match="newer: "):
        memory.governance.diff(page, newer=wrong)


@KINDS
def test_of_two_threads_that_expect_one_version_one_wins(open_memory, kind):
    memory, other = open_memory(), open_memory()
    known, together = MADE[kind](memory), Barrier(2)

    def write(one: Memory, text: str, number: int) -> str | None:
        together.wait(30)
        try:
            return said(one.update(known, text, expected_version=number))
        except StaleVersion:
            return None

    with ThreadPoolExecutor(2) as pool:
        for number in range(1, 6):
            told = [pool.submit(write, one, f"{name} {number}", number) for one, name in ((memory, "a"), (other, "b"))]
            (won,) = [one.result() for one in told if one.result()]
            assert versions(memory, known)[-1] == (number + 1, won)


RACER = """
import sys
import memoryos
from memoryos.errors import StaleVersion
from memoryos.models.hashing import Hashing

memory = memoryos.open(sys.argv[1], user="tom", embedder=Hashing())
for number in range(1, int(sys.argv[4]) + 1):
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        memory.update(sys.argv[2], f"{sys.argv[3]} {number}", expected_version=number)
        print("won", flush=True)
    except StaleVersion:
        print("lost", flush=True)
memory.close()
"""


def test_of_two_processes_that_expect_one_version_one_wins(open_memory, place):
    memory, rounds = open_memory(), 6
    page = memory.add("first")
    start = lambda name: subprocess.Popen(  # noqa: E731
        [forked.executable(), "-c", RACER, place, page, name, str(rounds)],
        stdin=-1,
        stdout=-1,
        text=True,
        cwd=TESTS,
        env=os.environ,
    )
    racers = {name: start(name) for name in ("a", "b")}
    winners = []
    for _ in range(rounds):
        assert [one.stdout.readline() for one in racers.values()] == ["ready\n"] * 2
        for one in racers.values():
            one.stdin.write("go\n")
            one.stdin.flush()
        told = {name: one.stdout.readline().strip() for name, one in racers.items()}
        assert sorted(told.values()) == ["lost", "won"]
        winners += [name for name, became in told.items() if became == "won"]
    for one in racers.values():
        one.communicate()
        assert one.returncode == 0
    texts = ["first", *(f"{name} {number}" for number, name in enumerate(winners, 1))]
    assert versions(memory, page) == list(enumerate(texts, 1))


# Appending


@KINDS
def test_appended_words_follow_the_old_ones(open_memory, kind):
    memory = open_memory()
    known = MADE[kind](memory)
    memory.update(known, "second", mode="append")
    assert said(memory.update(known, "third", mode="append", expected_version=2)) == "first\nsecond\nthird"
    assert said(memory.update(known, "fourth", mode="overwrite")) == "fourth"
    assert [number for number, _ in versions(memory, known)] == [1, 2, 3, 4]


def test_what_is_appended_at_the_same_time_is_all_there(open_memory):
    memory, other = open_memory(), open_memory()
    page = memory.add("first")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: (memory, other)[one % 2].update(page, f"note {one}", mode="append"), range(12)))
    assert sorted(said(memory.get(page)).split("\n")) == sorted(["first", *(f"note {one}" for one in range(12))])
    assert memory.get(page).version.number == 13


def test_a_page_with_much_that_rests_on_it_is_appended_to_and_derived_again(open_memory):
    memory = open_memory()
    cities = [
        f"My friend {name}{letter} lives in Rome." for name in ("Ann", "Bob", "Tim") for letter in "abcdefghijklmn"
    ]
    page = memory.add("\n".join(["I live in Oslo.", *cities]))
    memory.consolidate()
    before = {fact.text for fact in memory.facts.list()}
    assert len(before) > CUBES_AT_ONCE
    with pytest.raises(StaleVersion):
        memory.update(page, "I live in Paris.", expected_version=7)
    assert {fact.text for fact in memory.facts.list()} == before
    memory.update(page, "I have a cat.", mode="append")
    memory.consolidate()
    after = {fact.text for fact in memory.facts.list()}
    assert before < after
    assert any("cat" in text for text in after - before)


@pytest.mark.once
def test_appending_is_refused_past_the_limit_of_a_text_and_for_an_unknown_mode(open_memory):
    memory = open_memory(max_text_chars=1_000)
    page = memory.add("x" * 600)
    with pytest.raises(InvalidInput, match="text: has 1,201 characters, the limit is 1,000"):
        memory.update(page, "y" * 600, mode="append")
    with pytest.raises(InvalidInput, match=r"mode: 'prepend' is unknown\. Use one of: overwrite, append"):
        memory.update(page, "y", mode="prepend")
    assert versions(memory, page) == [(1, "x" * 600)]


# What differs


def test_the_last_two_versions_are_compared_unless_others_are_named(open_memory):
    memory = open_memory()
    page = memory.add("I live in Oslo.", "Noted.")
    memory.update(page, "I live in Rome.")
    memory.update(page, "Good.", role="assistant")
    last, first, both = (memory.governance.diff(page, *numbers).to_dict() for numbers in ((), (1, 2), (1, 3)))
    rome = {
        "field": "turns[0].text",
        "before": "I live in Oslo.",
        "after": "I live in Rome.",
        "unified": ["@@ -1,4 +1,4 @@", " I", " live", " in", "-Oslo.", "+Rome."],
    }
    good = {
        "field": "turns[1].text",
        "before": "Noted.",
        "after": "Good.",
        "unified": ["@@ -1 +1 @@", "-Noted.", "+Good."],
    }
    assert last == {"memory_id": page, "older": 2, "newer": 3, "changes": [good]}
    assert first == {"memory_id": page, "older": 1, "newer": 2, "changes": [rome]}
    assert both == {"memory_id": page, "older": 1, "newer": 3, "changes": [rome, good]}
    assert json.loads(memory.governance.diff(page, newer=2).to_json()) == first
    assert memory.governance.diff(page, 2, 2).changes == ()


@KINDS
def test_each_kind_is_compared(open_memory, kind):
    memory = open_memory()
    known = MADE[kind](memory)
    memory.update(known, "second")
    (change,) = memory.governance.diff(known).changes
    assert (change.before, change.after, change.unified[1:]) == ("first", "second", ("-first", "+second"))


def test_what_is_not_kept_cannot_be_compared(open_memory):
    memory = open_memory()
    page = memory.add("first")
    with pytest.raises(NotFound, match="there is no version before 1"):
        memory.governance.diff(page)
    memory.update(page, "second")
    for numbers in ((1, 3), (3, 3), (3,)):
        with pytest.raises(NotFound, match="version 3 is not kept"):
            memory.governance.diff(page, *numbers)
    with pytest.raises(NotFound, match="there is no version before 1"):
        memory.governance.diff(page, newer=1)
    with pytest.raises(InvalidInput, match=r"older: 2 is later than `newer`\. Swap them"):
        memory.governance.diff(page, 2, 1)
    with pytest.raises(NotFound, match="there is no memory 'nobody'"):
        memory.governance.diff("nobody")
    with pytest.raises(NotFound, match="there is no memory"):
        open_memory(user="ana").governance.diff(page)


# The way back


@KINDS
def test_a_rollback_makes_a_new_version_that_says_what_the_earlier_one_said(open_memory, kind):
    memory = open_memory()
    known = MADE[kind](memory)
    memory.update(known, "second")
    back = memory.governance.rollback(known, 1, reason="it was right")
    assert (back.version.number, said(back)) == (3, "first")
    assert memory.get(known) == back
    again = memory.governance.rollback(known, 2)
    assert (again.version.number, said(again)) == (4, "second")
    assert versions(memory, known) == [(1, "first"), (2, "second"), (3, "first"), (4, "second")]
    made = [event for event in memory.log.events() if event.cube_id == known and event.version > 2]
    by = {"by": "tom", "call": "governance.rollback"}
    assert [json.loads(event.detail) for event in made] == [
        {**by, "restored": 1, "reason": "it was right"},
        {**by, "restored": 2, "reason": ""},
    ]


def test_all_turns_of_a_page_come_back(open_memory):
    memory = open_memory()
    (page,) = memory.add(
        [
            {"role": "user", "content": "How warm is it?", "name": "Ann"},
            {"role": "tool", "content": "21 degrees"},
            {"role": "assistant", "content": "It is 21 degrees."},
        ]
    )
    first = memory.get(page)
    for role in ("user", "tool", "assistant"):
        memory.update(page, f"by {role}", role=role)
    assert {turn.text for turn in memory.get(page).payload.turns} == {"by user", "by tool", "by assistant"}
    assert memory.governance.rollback(page, 1).payload.turns == first.payload.turns


def test_search_and_what_was_derived_follow(open_memory):
    memory = open_memory()
    page = memory.add("I live in Oslo.", "Noted.")
    memory.consolidate()
    memory.update(page, "I live in Rome.")
    assert "Rome" in told(memory)
    memory.governance.rollback(page, 1)
    memory.wait()
    assert "Oslo" in told(memory)
    assert "Rome" not in told(memory)
    for one in (memory, open_memory()):
        assert [hit.id for hit in one.search("Oslo", strategy="bm25").hits] == [page]
        assert not one.search("Rome", strategy="bm25").hits


def told(memory: Memory) -> str:
    known = memory.profile.get().user
    return " ".join([*(fact.text for fact in memory.facts.list()), *known.fields.values()])


def test_the_history_is_verified_and_carried_by_an_export(open_memory, tmp_path):
    memory = open_memory()
    page = memory.add("first")
    memory.update(page, "second")
    memory.governance.rollback(page, 1)
    memory.export(tmp_path / "tom.jsonl")
    other = open_memory(tenant="acme")
    with MemoryOS.open(tmp_path / "other.db", embedder=Hashing()) as store:
        store.admin.load(tmp_path / "tom.jsonl")
        loaded = store.memory("tom")
        assert versions(loaded, page) == [(1, "first"), (2, "second"), (3, "first")]
        assert said(loaded.governance.rollback(page, 2)) == "second"
    with pytest.raises(NotFound):
        other.governance.rollback(page, 1)


def test_what_is_not_kept_does_not_come_back(open_memory):
    memory = open_memory()
    page = memory.add("first")
    memory.update(page, "second")
    with pytest.raises(NotFound, match="version 3 is not kept: `history` lists the versions"):
        memory.governance.rollback(page, 3)
    with pytest.raises(NotFound, match="there is no memory 'nobody'"):
        memory.governance.rollback("nobody", 1)
    assert len(memory.history(page)) == 2


def test_what_follows_from_the_pages_of_a_segment_is_not_brought_back(open_memory):
    memory = open_memory()
    for number in range(8):
        memory.add(f"I keep bees {number}.")
    (segment, *_) = memory.segments.list()
    with pytest.raises(InvalidInput, match="follow from what it holds"):
        memory.governance.rollback(segment.cube.id, segment.cube.version.number)


def test_what_is_frozen_on_hold_or_read_only_stays(open_memory):
    memory = open_memory()
    page = memory.add("first")
    memory.update(page, "second")
    memory.governance.freeze(page)
    with pytest.raises(CubeProtected, match="thaw it first"):
        memory.governance.rollback(page, 1)
    memory.governance.thaw(page)
    hold = memory.governance.hold(reason="a case", memory=page)
    with pytest.raises(OnHold, match=hold.id):
        memory.governance.rollback(page, 1)
    memory.governance.release(hold.id)
    cube = memory.get(page)
    kept = replace(cube, governance=replace(cube.governance, access=Access(mode=AccessMode.READ_ONLY)))
    with memory._engine.vault.write(cube.scope) as writer:
        writer.update([Entry(kept)], Operation.REFRESH)
    with pytest.raises(CubeProtected, match="read-only"):
        memory.governance.rollback(page, 1)
    assert versions(memory, page) == [(1, "first"), (2, "second")]


def test_the_audit_log_has_who_rolled_back_and_who_compared(open_memory):
    memory = open_memory(audit=True)
    page = memory.add("first")
    memory.update(page, "second")
    memory.governance.rollback(page, 1)
    memory.governance.diff(page)
    entries = store_of(memory).audit.list(memory_id=page)
    made = [(one.operation, one.change, one.cubes[0].version) for one in entries if one.change]
    assert ("governance.rollback", "revise", 3) in made
    assert [one.decision for one in entries if one.operation == "governance.diff"] == ["allowed"]


# Privacy and policies


def test_a_policy_of_writes_applies_to_what_is_appended_and_to_what_comes_back(open_memory):
    memory = open_memory()
    page = memory.add(f"Mail {MAIL}.")
    memory.update(page, "Mail nobody.")
    memory.close()
    strict = open_memory(privacy_on_write="refuse")
    with pytest.raises(PrivacyRefused, match=r"version\.turns\[0\]: holds email"):
        strict.governance.rollback(page, 1)
    with pytest.raises(PrivacyRefused, match="text: holds email"):
        strict.update(page, f"Or {MAIL}.", mode="append")
    with pytest.raises(PrivacyRefused, match="reason: holds email"):
        strict.governance.rollback(page, 1, reason=f"{MAIL} said so")
    assert strict.get(page).version.number == 2
    strict.close()
    tagging = open_memory(privacy_on_write="tag")
    assert tagging.governance.rollback(page, 1).tags == ("privacy:email",)
    tagging.close()
    masking = open_memory(privacy_on_write="mask")
    assert said(masking.governance.rollback(page, 1)) == "Mail [email]."
    assert said(masking.update(page, f"Or {MAIL}.", mode="append")) == "Mail [email].\nOr [email]."


def test_what_is_compared_is_shown_as_a_policy_of_reads_allows(open_memory):
    memory = open_memory()
    page = memory.add("Call +49 30 901820 today.")
    memory.update(page, f"Mail {MAIL} today.")
    memory.close()
    (change,) = open_memory(privacy_on_read="mask").governance.diff(page).changes
    assert (change.before, change.after) == ("Call [phone] today.", "Mail [email] today.")
    assert change.unified[1:] == ("-Call", "-[phone]", "+Mail", "+[email]", " today.")


@contextmanager
def governed(vault, clock, folder: Path, policies: str):
    folder.mkdir()
    (folder / "clinic.cedar").write_text(policies)
    gate = PolicyGate(PolicyFiles(folder), clock)
    with closing(MemoryOS(Engine(vault, Hashing(), clock=clock, gate=gate))) as store:
        yield store


CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action == Action::"read", resource) when { resource.sensitivity.isEmpty() };
permit (principal in Role::"doctor", action == Action::"read", resource);
"""


def test_policies_decide_who_compares_and_who_rolls_back(vault, clock, tmp_path):
    with governed(vault, clock, tmp_path / "policies", CLINIC) as store:
        ann = store.of(ANN, Caller("ann"))
        page = ann.add("first", sensitivity=["diagnosis"])
        ann.update(page, "second")
        nurse, doctor = (store.of(ANN, Caller(name, frozenset({name}))) for name in ("nurse", "doctor"))
        with pytest.raises(NotFound):
            nurse.governance.diff(page)
        with pytest.raises(NotFound):
            nurse.governance.rollback(page, 1)
        assert doctor.governance.diff(page).changes[0].before == "first"
        with pytest.raises(PermissionDenied, match="doctor may not write"):
            doctor.governance.rollback(page, 1)
        assert ann.get(page).version.number == 2
        assert said(ann.governance.rollback(page, 1)) == "first"
        assert ann.get(page).governance.sensitivity == ("diagnosis",)


# Any sequence


@pytest.fixture
def shared(open_memory) -> Memory:
    """One store for all examples of a test; each has an owner of its own."""
    return open_memory()


WORDS = st.sampled_from(["tea", "coffee", "I keep bees.", "a longer note of several words"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["overwrite", "append"]), WORDS) | st.tuples(st.just("rollback"), st.integers(0, 20)),
    max_size=8,
)


@settings(
    max_examples=settings.default.max_examples // 3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.sampled_from(["page", "fact", "profile"]), STEPS)
def test_whatever_is_done_history_has_each_version_once_and_the_latest_says_what_was_asked(shared, kind, steps):
    memory = shared.of(Scope(user=f"u{uuid4().hex}"))
    known, texts = MADE[kind](memory), ["first"]
    for number, (how, what) in enumerate(steps, 1):
        if how == "rollback":
            chosen = what % number
            memory.governance.rollback(known, chosen + 1)
            texts.append(texts[chosen])
        else:
            memory.update(known, what, mode=how, expected_version=number)
            texts.append(what if how == "overwrite" else f"{texts[-1]}\n{what}")
    assert versions(memory, known) == list(enumerate(texts, 1))
    assert said(memory.get(known)) == texts[-1]
    if len(texts) > 1:
        found = memory.governance.diff(known)
        assert (found.older, found.newer) == (len(texts) - 1, len(texts))
        assert bool(found.changes) is (texts[-2] != texts[-1])


def test_a_segment_that_nobody_read_has_one_version_and_attachments_come_back_with_their_page(open_memory):
    memory = open_memory()
    picture = Attachment(caption="a red boat", uri="https://example.org/boat.png", media_type="image/png")
    page = memory.add("first", attachments=[picture])
    for text in ("The piano is out of tune.", "The garden gate squeaks.", "The ferry is late.", "The kettle boils."):
        memory.add(text)
    memory.wait()
    segment = memory.segments.list()[0].cube.id
    assert [one.version.number for one in memory.history(segment)] == [1]
    with pytest.raises(NotFound, match="no version before"):
        memory.governance.diff(segment)
    with pytest.raises(InvalidInput, match="follow from what it holds"):
        memory.governance.rollback(segment, 1)
    memory.update(page, "second")
    memory.governance.rollback(page, 1)
    assert [(one.payload.turns[0].attachments) for one in memory.history(page)] == [(picture,)] * 3
