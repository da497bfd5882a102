"""Wrong arguments that once raised errors of Python or of a library: each is refused by its name."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import repeat
from threading import Event

import numpy as np
import pytest

import memoryos
from memoryos import (
    AsyncMemory,
    Attachment,
    Caller,
    Kind,
    Listing,
    MemCube,
    Memory,
    MemoryOS,
    Mount,
    Namespace,
    Role,
    Scope,
    SensitiveKind,
    Settings,
    Turn,
    detect,
    load_settings,
)
from memoryos.arguments import store_place
from memoryos.clock import system_clock
from memoryos.errors import InvalidInput, StorageError
from memoryos.filter import MOST_LABELS
from memoryos.infrastructure.vault.place import open_vault
from memoryos.models.hashing import Hashing
from memoryos.operation.recall.fusion import Weights
from public import method_of, methods_of, store_of

from .arguments import NESTED

MESSAGE = {"role": "user", "content": "x"}
HUGE = 10**5000  # Python refuses to write it out


@pytest.fixture
def memory(tmp_path):
    with memoryos.open(tmp_path / "memory.db", user="ann", embedder=Hashing()) as memory:
        memory.add("I live in Paris.")
        yield memory


@pytest.mark.once
@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("states", lambda memory: memory.jobs.list("deadly")),
        ("origin", lambda memory: memory.facts.add("I have a cat.", origin="hearsay")),
        ("origin", lambda memory: memory.profile.set("name", "Ann", origin=5)),
        ("origin", lambda memory: memory.add_many([], origin="hearsay")),
        ("after", lambda memory: memory.log.events(after=2**64)),
        ("mode", lambda memory: memory.update("x", "y", mode=HUGE)),
        ("expected_version", lambda memory: memory.update("x", "y", expected_version=HUGE)),
        ("version", lambda memory: memory.governance.rollback(memory.pages.list()[0].id, HUGE)),
        ("older", lambda memory: memory.governance.diff("x", HUGE)),
        ("limit", lambda memory: memory.log.events(limit=HUGE)),
        ("sequences", lambda memory: memory.upkeep.undo(HUGE)),
        ("weights", lambda memory: memory.search("Paris", weights=[])),
        ("weights.words", lambda _: Weights(words=float("nan"))),
        ("pages", lambda memory: memory.search("Paris", pages=HUGE)),
        ("tier", lambda memory: memory.pages.list(tier="")),
        ("kinds", lambda memory: memory.search("Paris", kinds=[HUGE])),
        ("scope", lambda memory: memory.of([]).search("Paris")),
        ("mount", lambda memory: memory.mounts.add(5)),
        ("mount.place", lambda _: Mount("notes", 5, Scope(user="ann"))),
        ("mount.scope", lambda _: Mount("notes", "notes.db", "ann")),
        ("name", lambda memory: memory.mounts.remove([])),
        ("mount", lambda memory: memory.add("hello", mount=[])),
        ("progress", lambda memory: memory.upkeep.rebuild(progress=5)),
        ("since", lambda memory: memory.log.usage(since=datetime(2026, 1, 1, tzinfo=UTC))),
        ("stop", lambda memory: store_of(memory).admin.work(None)),
        ("threads", lambda memory: store_of(memory).admin.work(Event(), threads=0)),
        ("poll_seconds", lambda memory: store_of(memory).admin.work(Event(), poll_seconds=float("nan"))),
        ("turn.role", lambda _: Turn(role="narrator", text="hello")),
        ("attachment.caption", lambda _: Attachment(caption=5)),
        ("memcube", lambda _: MemCube(5)),
        ("memcube.id", lambda _: MemCube(id=5)),
        ("namespace", lambda _: Namespace(5)),
        ("text", lambda _: detect(5)),
        ("names", lambda _: detect("I am Bob.", 5)),
        ("sensitivekind", lambda _: SensitiveKind("zz")),
        ("kind", lambda _: Kind(NESTED)),
        ("turn.role", lambda _: Turn(role=NESTED, text="hello")),
        ("privacy_on_write", lambda _: load_settings(privacy_on_write=NESTED)),
        ("items", lambda _: Listing(items=5)),
        ("actions", lambda memory: memory.governance.delegate("bob", actions=5, ttl=60)),
        ("actions", lambda memory: memory.governance.delegate("bob", actions=[], ttl=60)),
        ("name", lambda memory: memory.forms.transform([])),
        ("name", lambda memory: memory.adapters.ask("Where?", names=[{}])),
        ("messages[0].role", lambda memory: memory.add([{"role": NESTED, "content": "hello"}])),
        ("kind", lambda _: Kind("pages")),
        ("caller.roles", lambda _: Caller("ann", roles=5)),
        ("caller.at", lambda _: Caller("ann", at="yesterday")),
        ("short_term_capacity", lambda _: Settings(short_term_capacity=0)),
        ("engine", lambda _: MemoryOS(5)),
        ("sync", lambda _: AsyncMemory(5)),
        ("tier", lambda memory: memory.facts.list(tier="stm")),
        ("tier", lambda memory: memory.facts.count(tier="mtm")),
        ("tier", lambda memory: memory.pages.list(tier="lpm")),
        ("archive", lambda memory: memory.search("Paris", archive="yes")),
        ("archive", lambda memory: memory.context("Paris", archive="yes")),
        ("archive", lambda memory: memory.segments.list(archive="no")),
        ("explain", lambda memory: memory.search("Paris", explain="yes")),
        ("cold", lambda memory: memory.search("Paris", cold=1)),
        ("read_only", lambda _: memoryos.open(":memory:", user="ann", read_only="no")),
    ],
)
def test_a_wrong_argument_is_named(memory, field, call):
    with pytest.raises(InvalidInput) as refused:
        call(memory)
    assert refused.value.field == field


@pytest.mark.once
@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("turn.txt: is unknown. Did you mean text?", lambda: Turn(role="user", txt="hello")),
        ("turn.role: is missing. Its fields: role, text, ", lambda: Turn(text="hello")),
        ("turn.text: expected text, got int. Its fields: role, text, ", lambda: Turn(role="user", text=5)),
        ("turn.at: has no time zone. Pass e.g. datetime(", lambda: Turn(role="user", text="hi", at="2024-01-01")),
        ("turn: takes no arguments without a name. Name them: role, text, ", lambda: Turn("user", "hello")),
        ("attachment.captoin: is unknown. Did you mean caption?", lambda: Attachment(captoin="a map")),
        ("embeder: is unknown. Did you mean embedder or embedder_dim?", lambda: Settings(embeder="static")),
        (
            "short_term_capacity: expected a whole number, got other text. It is: pages in STM",
            lambda: Settings(short_term_capacity="many"),
        ),
        (
            "short_term_capacity: should be greater than or equal to 1. It is: pages in STM",
            lambda: Settings(short_term_capacity=0),
        ),
        ("self_tuning: expected True or False, got list. It is: tune ", lambda: Settings(self_tuning=[])),
        ("time_zone: 'Mars' is not a time zone", lambda: Settings(time_zone="Mars")),
        ("settings: is a dict. Pass settings=load_settings(", lambda: MemoryOS.open(":memory:", settings={})),
        ("embedder: is a str. Pass its name as settings=", lambda: MemoryOS.open(":memory:", embedder="minilm")),
        ("chat: is a str. Pass its name as settings=", lambda: MemoryOS.open(":memory:", chat="gpt")),
    ],
)
def test_what_is_wrong_is_said_in_our_words_with_the_fix(said, call):
    with pytest.raises(InvalidInput) as refused:
        call()
    assert str(refused.value).startswith(said)


@pytest.mark.once
def test_a_wrong_setting_is_not_quoted():
    with pytest.raises(InvalidInput) as refused:
        Settings(llm_api_key={"key": "sk-secret"}, llm_timeout_seconds="sk-secret")
    assert "sk-secret" not in str(refused.value)


@pytest.mark.once
def test_a_tier_without_facts_is_told_from_those_that_have_some(memory):
    with pytest.raises(InvalidInput, match=r"tier: stm holds no facts\. Use one of: lpm, archive"):
        memory.facts.list(tier="stm")


KEYWORDS = {
    "search": ("tag", "Memory.search() has no parameter 'tag'. Did you mean tags? Its parameters: query, strategy, "),
    "context": ("max_tokens", "Memory.context() has no parameter 'max_tokens'. Did you mean tokens? "),
    "add": ("messages", "Memory.add() has no parameter 'messages'. Did you mean query? "),
    "add_many": ("metdata", "Memory.add_many() has no parameter 'metdata'. Did you mean metadata? "),
    "facts.add": ("tag", "Facts.add() has no parameter 'tag'. Did you mean tags? "),
    "facts.list": ("tag", "Facts.list() has no parameter 'tag'. Did you mean tags? "),
    "pages.list": ("page", "Pages.list() has no parameter 'page'."),
    "forget": ("page", "Memory.forget() has no parameter 'page'. It has no parameters"),
}


@pytest.mark.once
@pytest.mark.parametrize("name", ["search", "context", "pages.list"])
def test_a_filter_in_the_place_of_a_parameter_is_told_where_it_belongs(memory, name):
    with pytest.raises(TypeError, match=r"has no parameter 'metadata'\. Pass filters=\{'metadata': \.\.\.\}\. "):
        method_of(memory, name)(metadata={"place": "yard"})


@pytest.mark.once
@pytest.mark.parametrize("name", KEYWORDS)
def test_an_unknown_keyword_is_told_with_the_nearest_of_the_public_method(memory, name):
    keyword, said = KEYWORDS[name]
    with pytest.raises(TypeError) as refused:
        method_of(memory, name)(**{keyword: 1})
    assert str(refused.value).startswith(said)


@pytest.mark.once
@pytest.mark.parametrize("kind", [Memory, MemoryOS])
def test_every_public_method_refuses_an_unknown_keyword_by_its_name(memory, kind):
    for name in methods_of(kind):
        method = method_of(memory if kind is Memory else store_of(memory), name)
        with pytest.raises(TypeError, match=rf"{method.__name__}\(\) has no parameter 'no_such'\. "):
            method(no_such=1)


WITHOUT_NAMES = {
    "search": "Memory.search() takes 1 argument without a name (query), but got 4. Pass the others by name: strategy, ",
    "update": "Memory.update() takes 2 arguments without a name (cube_id, text), but got 4. Pass the others by name: ",
    "facts.add": "Facts.add() takes 1 argument without a name (text), but got 4. Pass the others by name: ",
    "pages.count": "Pages.count() takes no argument without a name, but got 4. Pass the others by name: ",
    "forget": "Memory.forget() takes no argument without a name, but got 4.",
}


@pytest.mark.once
@pytest.mark.parametrize("name", WITHOUT_NAMES)
def test_too_many_arguments_without_a_name_are_told_with_those_that_need_one(memory, name):
    with pytest.raises(TypeError) as refused:
        method_of(memory, name)("a", "b", "c", "d")
    assert str(refused.value).startswith(WITHOUT_NAMES[name])


MISSING = {
    "search": ((), "Memory.search() needs query"),
    "governance.rollback": ((), "MemGovernance.rollback() needs memory_id and version"),
    "proposals.publish": ((["Rule 1"],), "Proposals.publish() needs source"),
}


@pytest.mark.once
@pytest.mark.parametrize("name", MISSING)
def test_a_missing_argument_is_named(memory, name):
    given, said = MISSING[name]
    with pytest.raises(TypeError) as refused:
        method_of(memory, name)(*given)
    assert str(refused.value) == said


def test_who_opens_a_memory_without_its_user_is_told():
    with pytest.raises(TypeError, match=r"^open\(\) needs user$"):
        memoryos.open(":memory:")


@pytest.mark.once
@pytest.mark.parametrize("function", [memoryos.open, MemoryOS.open])
def test_who_opens_a_store_is_told_of_too_many(function):
    with pytest.raises(TypeError, match=r"open\(\) takes 1 argument without a name \(path\), but got 3\. .*settings"):
        function(":memory:", "ann", "coder")


@pytest.mark.once
@pytest.mark.parametrize("function", [memoryos.open, MemoryOS.open])
def test_who_opens_a_store_is_told_the_same(function):
    with pytest.raises(TypeError, match=r"open\(\) has no parameter 'setings'. Did you mean settings\?"):
        function(":memory:", setings=None)


def unending(item: object) -> Iterator[object]:
    """So many of one item that a list of them is out of the question."""
    yield from repeat(item, 1_000_002)
    raise AssertionError("it was read to its end")


@pytest.mark.once
@pytest.mark.parametrize(
    ("field", "call"),
    [
        (r"attachments\[0\]", lambda memory: memory.add("x", attachments=unending(1))),
        (r"turns\[0\]", lambda memory: memory.add_many(unending(1))),
        ("kinds", lambda memory: memory.search("x", kinds=unending(1))),
        ("kinds", lambda memory: memory.search("x", kinds=unending("fact"))),
        ("tags", lambda memory: memory.add("x", tags=unending("a"))),
        ("exclude", lambda memory: memory.context("x", exclude=unending("a"))),
        (r"roles\[0\]", lambda memory: store_of(memory).roles.grant("x", unending(1))),
        ("roles", lambda memory: store_of(memory).roles.grant("x", unending("reader"))),
        ("caller.roles", lambda _: Caller("x", unending("reader"))),
        ("dialogue", lambda memory: memory.context("x", dialogue=unending(MESSAGE))),
        ("messages", lambda memory: memory.add(unending(MESSAGE))),
        ("tags", lambda memory: memory.adapters.train("x", tags=unending("a"))),
        ("names", lambda memory: memory.adapters.ask("x", names=unending("a"))),
    ],
)
def test_a_list_without_an_end_is_not_read_to_its_end(memory, field, call):
    with pytest.raises(InvalidInput, match=field):
        call(memory)


@pytest.mark.once
@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("tags", lambda memory: memory.add("x", tags=np.array("a"))),
        ("tiers", lambda memory: memory.search("x", tiers=np.array("a"))),
        ("exclude", lambda memory: memory.context("x", exclude=np.array("a"))),
        ("dialogue", lambda memory: memory.context("x", dialogue=np.array("a"))),
        ("facts", lambda memory: memory.proposals.publish(np.array("a"), source="x")),
        ("tags", lambda memory: memory.adapters.train("x", tags=np.array("a"))),
        ("caller.roles", lambda _: Caller("x", np.array("a"))),
        ("name", lambda memory: store_of(memory).roles.grant("x", "reader", name=np.array([1, 2]))),
        ("reason", lambda memory: memory.governance.relabel("x", sensitivity=["a"], reason=np.array([1, 2]))),
    ],
)
def test_an_array_in_the_place_of_a_list_or_a_text_is_told(memory, field, call):
    with pytest.raises(InvalidInput, match=field):
        call(memory)


def test_right_arguments_of_the_same_kinds_still_work(memory):
    assert memory.jobs.list("dead") == []
    assert memory.log.usage(since=date(2026, 1, 1)) == []
    assert memory.search("Paris", weights=Weights(words=2), kinds=[Kind.PAGE]).hits
    assert Turn(role="user", text="hello") == Turn(role=Role.USER, text="hello")


@pytest.mark.file
@pytest.mark.parametrize(
    "place",
    [".", "/", "x" * 300, "a/" + "y" * 300 + "/memory.db", "~nosuchuser/x", chr(0xD800) + ".db", "x/" * 3000 + "a"],
)
def test_a_place_that_can_be_no_file_is_refused(place):
    with pytest.raises(InvalidInput) as refused:
        memoryos.open(place, user="ann")
    assert refused.value.field == "path"


@pytest.mark.file
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/proc/x", "no file can be created in /proc"),
        ("/dev/null", "is a device"),
        ("here.txt/memory.db", "here.txt is not a folder"),
        ("nowhere/memory.db", "the folder nowhere does not exist. Create it first"),
        ("x" * 5000, "Pass a shorter one"),
    ],
)
def test_what_is_said_of_a_place_is_so(tmp_path, place, said):
    (tmp_path / "here.txt").touch()
    with pytest.raises(InvalidInput, match=said):
        open_vault(store_place(place), embedder=Hashing.name, clock=system_clock, busy_timeout_seconds=1)


@pytest.mark.parametrize("year", [1, 1899, 9000, 9999])
def test_a_clock_at_an_end_of_the_calendar_is_named(tmp_path, year):
    far = memoryos.open(tmp_path / "far.db", user="ann", clock=lambda: datetime(year, 6, 1, tzinfo=UTC))
    with far, pytest.raises(InvalidInput, match="clock"):
        far.add("hello")


@pytest.mark.parametrize("operation", ["wait", "jobs.run", "upkeep.index"])
def test_work_on_a_closed_memory_is_refused(memory, operation):
    memory.close()
    with pytest.raises(StorageError, match="closed"):
        method_of(memory, operation)()


@pytest.mark.once
def test_a_value_nested_too_deeply_to_be_shown_is_refused_like_any_other(memory):
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    for ask in (
        lambda: memory.pages.list(tier=deep),
        lambda: memory.facts.list(subject=deep),
        lambda: memory.profile.set("location", "Oslo", origin=deep),
    ):
        with pytest.raises(InvalidInput, match="list is unknown"):
            ask()


@pytest.mark.once
def test_a_memory_is_not_pickled(memory):
    for value in (memory, memory.facts, store_of(memory)):
        with pytest.raises(TypeError, match="open the store in the other process"):
            pickle.dumps(value)


@pytest.mark.once
def test_a_closed_memory_is_not_entered(tmp_path):
    store = MemoryOS.open(tmp_path / "a.db")
    memory = store.memory("ann")
    store.close()
    for enter in (store.__enter__, memory.__enter__, store.mounts.list):
        with pytest.raises(StorageError, match="closed"):
            enter()


@pytest.mark.once
@pytest.mark.parametrize("field", ["tags", "sensitivity"])
def test_labels_have_so_many_characters(tmp_path, field):
    """20,000 tags of 66 pages, in one call of 200 kB, held the write lock for 0.8 s when the pages moved."""
    many = {field: [f"label{number:020}" for number in range(MOST_LABELS)]}
    with memoryos.open("a.db", user="ann", settings=Settings(embedder="hashing")) as memory:
        with pytest.raises(InvalidInput, match=f"{field}: has 25,"):
            memory.add("I like tea.", **many)
        with pytest.raises(InvalidInput, match=f"{field}: has more than 1,000 labels"):
            memory.add("I like tea.", **{field: ["tea"] * (MOST_LABELS + 1)})
        assert memory.add("I like tea.", **{field: many[field][:600]})
