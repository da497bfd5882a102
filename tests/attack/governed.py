"""A store with policies and keys, a person with a secret of every kind in it, and those who are after it."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import select

from contract.back_ends import files_on
from frozen_clock import FrozenClock
from memoryos import Action, Caller, Memory, MemoryOS, Mount, Scope, load_settings
from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault import tables
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from public import function_of, method_of, methods_of

from .arguments import plain

ANN = Scope(user="ann", session="zorbsession")
OWNER = Caller("ann")
MARKS = ("zylo", "zorb", "quix")
POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action, resource is Cube) when { resource.sensitivity.isEmpty() };
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""
NURSE = Caller("nurse-kim", frozenset({"nurse"}))
UNKNOWN = "0198c0de-0000-7000-8000-000000000000"  # an id that nothing has
NAMES = {
    **dict.fromkeys(["branch", "branches.diff", "branches.discard", "branches.named"], "zorbbranch"),
    "snapshots.remove": "zorbsnap",
    "governance.unretain": "zorbrule",
    "tagged": "zorbtag",
    "search": "zyloprim",
    "context": "zyloprim",
    **dict.fromkeys(  # they store what they are told
        "respond respond_stream facts.add profile.set proposals.publish branches.create snapshots.create "
        "governance.retain archiving.add governance.delegate".split(),
        UNKNOWN,
    ),
}
GIVEN: Mapping[str, Mapping[str, Any]] = {"governance.relabel": {"access": "private"}}  # it changes nothing without
METHODS = [name for name in methods_of(Memory) if name != "close"]


class Echo:
    """A model that answers with the whole prompt."""

    def answer(self, messages: Any) -> Answer:
        return Answer(json.dumps(list(messages)), Usage(3, 4), "echo")

    def stream(self, messages: Any) -> Iterator[str]:
        yield json.dumps(list(messages))


@dataclass(frozen=True)
class World:
    """The store, and the ids of what the victim has in it, by kind."""

    store: MemoryOS
    ids: dict[str, str]
    attackers: dict[str, Memory]

    def words(self, method: str) -> list[str]:
        """By what a caller could name a thing of the victim in this method: ids; a name, where it stores none."""
        return [NAMES[method]] if method in NAMES else [*self.ids.values(), UNKNOWN]

    def changed(self, before: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """The rows that are not as they were, by table."""
        now = self.fingerprint()
        found = {name: [*set(now[name]) ^ set(rows)] for name, rows in before.items()}
        return {name: rows for name, rows in found.items() if rows}

    def fingerprint(self) -> dict[str, list[Any]]:
        """All rows about the victim; an attack changes none."""
        with self.store._engine.vault.snapshot() as connection:
            return {one.name: _rows(connection, one) for one in tables.metadata.sorted_tables if _is_owned(one)}


def _is_owned(table: Any) -> bool:
    return not table.name.startswith("audit") and {"tenant", "user_id", "agent_id"} <= {
        column.name for column in table.columns
    }


def _rows(connection: Any, table: Any) -> list[Any]:
    """Those of the victim: an attacker has its own rows under the same user, of another agent or namespace."""
    mine = select(table).where(table.c.tenant == ANN.tenant, table.c.user_id == ANN.user)
    mine = mine.where(table.c.agent_id == ANN.agent, table.c.namespace.not_like("private/spy%"))
    return sorted(map(repr, connection.execute(mine).all()))


@contextmanager
def world(folder: Path, back_end: str) -> Iterator[World]:
    """Open a store on that back end, with the victim and the attackers."""
    clock = FrozenClock(arguments_now())
    (folder / "objects").mkdir()
    (folder / "policies.cedar").write_text(POLICIES)
    settings = load_settings(
        short_term_capacity=3,
        heat_threshold=0,
        jobs="worker",
        policies=str(folder),
        object_store=(folder / "objects").as_uri(),
    )
    with files_on(back_end, folder):
        place = folder / "memory.db"
        with MemoryOS.open(place, settings=settings, embedder=Hashing(), chat=Echo(), clock=clock) as store:
            store.admin.register_job("tidy", lambda scope, job: None)
            ids = _victim(store, clock)
            yield World(store, ids, _attackers(store))


def arguments_now() -> Any:
    from .arguments import NOW

    return NOW


def _victim(store: MemoryOS, clock: FrozenClock) -> dict[str, str]:
    ann = store.of(ANN, OWNER)
    secret: dict[str, Any] = {"sensitivity": ["diagnosis"], "tags": ["zorbtag"], "metadata": {"zorbkey": "zorbvalue"}}
    for number in range(4):
        clock.advance(minutes=40)
        page = ann.add(f"Zyloprim {number} is for my zorbitis.", f"Take Zyloprim {number}.", title="Zorb", **secret)
        ann.add(f"I planted tulips in bed {number}.", "Water them.")
    picture = {"type": "image", "source": {"media_type": "image/png", "data": b"zorbpicture"}, "caption": "My zorb"}
    ann.add([{"role": "user", "content": ["Look.", picture]}], sensitivity=["diagnosis"])
    named = ann.add("My name is Quixana and I live in Zorbville.", "Hello Quixana.", sensitivity=["diagnosis"])
    fact = ann.facts.add("takes Zyloprim", sensitivity=["diagnosis"])
    ann.consolidate()
    ann.update(named, "My name is Quixana.")
    ann.facts.add("grows tulips")
    ann.proposals.publish(["Adults with zorbitis take 400 mg a day"], source="zorbclinic 2025")
    clock.advance(days=300)
    (proposal,) = ann.proposals.publish(["Adults with zorbitis take 200 mg a day"], source="zorbclinic 2026")
    job = ann.jobs.add("tidy", about=page)
    ann.snapshots.create("zorbsnap")
    ann.branches.create("zorbbranch")
    ann.governance.retain("zorbrule", ttl=10**9, tags=["zorbtag"])
    hold = ann.governance.hold(reason="zorbcase", memory=page)
    given = ann.governance.delegate("friend", ttl=10**6)
    ann.respond("What is Zyloprim for?")
    ann.wait()
    store._engine.housekeeping.unvisited(ANN)  # what the owner visited would be written amid the attacks
    segments = [view.cube for view in ann.segments.list() if "zylo" in view.cube.text.lower()]
    topic = {"segment": segments[0].id} if segments else {}
    known = {"page": page, "fact": fact, "proposal": proposal.id, "job": job, "hold": hold.id, "delegation": given.id}
    return {**known, **topic}


def _attackers(store: MemoryOS) -> dict[str, Memory]:
    """Who is after the secret, by how; each has a memory of its own, or none."""
    mallory = Caller("mallory")
    operator = MemoryOS(store._engine, Caller("operator"))
    forged = operator.keys.create("ann", users=["mallory"], actions=list(Action))  # named as the victim
    other = operator.keys.create("ann", tenant="evil", actions=list(Action))
    plain_scope = replace(ANN, session=None)
    found = {
        "another user": store.of(Scope(user="mallory"), mallory),
        "another tenant": store.of(replace(plain_scope, tenant="evil"), OWNER),
        "another agent": store.of(replace(plain_scope, agent="spy"), OWNER),
        "another namespace": store.of(replace(plain_scope, namespace=("private", "spy")), OWNER),
        "a caller without a right": store.of(plain_scope, mallory),
        "the key of another user": store.of(plain_scope, operator.keys.caller(forged.key)),
        "the key of another tenant": store.of(plain_scope, operator.keys.caller(other.key)),
        "a forged caller of the program": store.of(plain_scope, Caller("memoryos")),
        "a forged administrator": store.of(plain_scope, Caller("mallory", frozenset({"administrator", "Admin"}))),
    }
    for memory in list(found.values())[:4]:
        memory.add("Hello.", "Hi.")
        memory.facts.add("has a cat")
    return found


def takes_names(name: str) -> bool:
    """Whether a method takes a text, by which something of the victim could be named."""
    return any("str" in str(one.annotation) for one in inspect.signature(function_of(Memory, name)).parameters.values())


def call(memory: Memory, name: str, word: str) -> Any:
    """Call a method with this word wherever it takes a text, and with right arguments otherwise."""
    positional, named = plain(function_of(Memory, name))
    positional = [_with(one, word) for one in positional]
    named = {key: _with(one, word) for key, one in named.items()} | GIVEN.get(name, {})
    if name == "export":
        memory.export(stream := StringIO())
        return stream.getvalue()
    if name == "add":
        positional = ["hello"]
    if name in ("tagged", "jobs.retry"):
        positional = [word]
    if name == "jobs.add":
        positional, named = ["tidy"], {"about": word}
    if name == "governance.hold":
        named["memory"] = word
    if name in ("duplicates.merge", "context"):
        positional = [[word, UNKNOWN[::-1]]] if name == "duplicates.merge" else [word]
    if name == "branch":  # a branch of the own memory that is not there
        return memory.branch(word).search("zyloprim")
    result = method_of(memory, name)(*positional, **named)
    if name in ("activations.build", "forms.transform"):  # or the attacker has one of that name from now on
        for made in {one.name for one in memory.activations.list()} & {word}:
            memory.activations.delete(made)
    return list(result) if isinstance(result, Iterator) else result


def _with(value: Any, word: str) -> Any:
    if value == "x":
        return word
    if isinstance(value, Mount):
        return Mount("spy", None, replace(ANN, session=None))
    return value


def outcome(memory: Memory, name: str, word: str) -> tuple[str, str]:
    """The class of the error, or "", and all that is said, in lower case and without the word that was passed."""
    try:
        kind, said = "", told(call(memory, name, word))
    except MemoryOSError as error:
        kind, said = type(error).__name__, str(error)
    said = said.lower()
    for one in {word, json.dumps(word)[1:-1], repr(word)[1:-1], word[:40]} - {""}:
        said = said.replace(one.lower(), "?")
    return kind, said


def told(result: Any) -> str:
    """Everything that a result says."""
    if isinstance(result, list | tuple):
        return " ".join(map(told, result))
    made = result.to_dict() if hasattr(result, "to_dict") else result
    return f"{json.dumps(made, default=str, ensure_ascii=False)} {result!r}"


def leaked(said: str) -> list[str]:
    """The secrets in a text."""
    return [mark for mark in MARKS if mark in said.lower()]


def statements_in(work: Callable[[], object]) -> int:
    """How many statements the work sends to the database, in a thread of its own, by whatever way."""
    count = 0

    def look(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event == "c_call" and argument.__name__ in ("execute", "executemany"):
            count += type(argument.__self__).__module__ == "sqlite3"
        elif event == "call" and frame.f_code.co_name in ("execute", "executemany"):
            count += frame.f_code.co_filename.endswith("psycopg/cursor.py")

    def counted() -> None:
        sys.setprofile(look)
        try:
            work()
        finally:
            sys.setprofile(None)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(copy_context().run, counted).result()
    return count
