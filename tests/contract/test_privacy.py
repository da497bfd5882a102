"""Privacy on write: what a caller passes reaches no file, no embedder and no model, through whichever door it comes.

Each text parameter of each public method is a door with an entry in DOORS, or is named in KEPT with the reason. A new
parameter that takes text is in neither, and the first test says so.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any, get_args, get_type_hints
from uuid import uuid4

import psycopg
import pytest

import memoryos
from attack.arguments import NAMES
from contract import server
from memoryos import Action, AddStep, Attachment, Caller, Memory, MemoryOS, Pipeline, Scope, Turn
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, KeyReused, PermissionDenied, PrivacyRefused
from memoryos.kinds import Role
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from public import function_of, methods_of, store_of

KEY = "a key of thirty-two characters or more"
TAKES_TEXT = ("str", "Mapping", "Turn", "Any", "Attachment", "Mount")


def twice(memory: Memory) -> list[str]:
    """The ids of two pages that say the same."""
    return [memory.add("Bees like lavender."), memory.add("Bees like lavender.")]


def text_parameters() -> set[tuple[str, str]]:
    """Every parameter of a public method that can hold text, by reflection."""
    found = set()
    for kind in (Memory, MemoryOS):
        for name in methods_of(kind):
            function = function_of(kind, name)
            hints = get_type_hints(function, localns=NAMES)
            named = {
                one.name: hints[one.name]
                for one in inspect.signature(function).parameters.values()
                if one.name != "self"
            }
            for one in inspect.signature(function).parameters.values():
                if one.kind is one.VAR_KEYWORD:
                    named |= get_type_hints(get_args(named.pop(one.name))[0])
            found |= {(name, one) for one, hint in named.items() if any(part in str(hint) for part in TAKES_TEXT)}
    return found


def about(name: str, call: Callable[..., Any]) -> dict[tuple[str, str], Callable[[Memory, str], Any]]:
    """The doors of `AboutArguments`."""
    return {
        (name, "tags"): lambda memory, word: call(memory, tags=[f"of {word}"]),
        (name, "metadata"): lambda memory, word: call(memory, metadata={"who": [{word: f"by {word}"}]}),
        (name, "title"): lambda memory, word: call(memory, title=f"Letter to {word}"),
        (name, "source"): lambda memory, word: call(memory, source=f"mailto:{word}"),
    }


def with_page(memory: Memory) -> str:
    return memory.add(f"Nothing personal {uuid4()}.")


def frozen(memory: Memory) -> str:
    page = with_page(memory)
    memory.governance.freeze(page)
    return page


def add_job(memory: Memory, word: str) -> None:
    store_of(memory).admin.register_job(f"kind{uuid4().hex[:8]}", lambda *_: None, check=lambda _: None)
    kind = next(iter(reversed(memory._engine.job_types.handlers)))
    memory.jobs.add(kind, {"to": word, "number": [word]})


def load(memory: Memory, word: str) -> None:
    """Load what a store without a policy exported: a page, a fact, a field, and what was derived and revised."""
    folder = Path(memory._tmp) / uuid4().hex
    folder.mkdir()
    knobs = memoryos.load_settings(embedder="hashing", short_term_capacity=1)
    with memoryos.open(":memory:", user=memory.scope.user, settings=knobs, embedder=Hashing()) as other:
        page = other.add(f"My mail is {word}.", f"I noted {word}.", tags=[word], metadata={word: word}, title=word)
        other.update(page, f"My new mail is {word}.")
        other.add(f"I live in Oslo, and write to {word} every day.", "Ok.")
        other.add("I like tea.", "Ok.")
        other.facts.add(f"Ann writes to {word}")
        other.profile.set("email", word)
        other.wait()
        other.export(folder / "ann.jsonl")
    assert word in (folder / "ann.jsonl").read_text("utf-8")
    store_of(memory).admin.load(folder / "ann.jsonl")


def respond(memory: Memory, word: str, **role: str) -> None:
    memory.respond(f"Who is {word}?", **role)
    memory.wait()


def stream(memory: Memory, word: str, **role: str) -> None:
    list(memory.respond_stream(f"Who is {word}?", **role))
    memory.wait()


def noting(query: str) -> Pipeline:
    """A pipeline that stores a text, or the value of the parameter that stands there."""
    names = [query.strip("{}")] if query.startswith("{") else []
    parameters = dict.fromkeys(names, "text")
    return Pipeline("note", [AddStep(query=query)], parameters=parameters)


DOORS: dict[tuple[str, str], Callable[[Memory, str], Any]] = {
    ("add", "query"): lambda memory, word: memory.add(f"Write to {word} today."),
    ("add", "query of messages"): lambda memory, word: memory.add(
        [
            {"role": "user", "content": [{"type": "text", "text": word}], "name": word, "source_id": word},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": word}}}]},
            {"role": "tool", "content": f"found {word}"},
            {"role": "assistant", "content": f"It is {word}."},
        ]
    ),
    ("add", "response"): lambda memory, word: memory.add("Who?", f"It is {word}."),
    ("add", "attachments"): lambda memory, word: memory.add(
        "See this.",
        attachments=[
            Attachment(
                caption=f"photo of {word}", uri=f"https://example.org/{word}", media_type=f"image/png; of={word}"
            )
        ],
    ),
    ("add_many", "turns"): lambda memory, word: memory.add_many(
        [Turn(role=Role.USER, text=word, speaker=word, source_id=word)]
    ),
    **about("add", lambda memory, **told: memory.add("A letter.", **told)),
    **about("add_many", lambda memory, **told: memory.add_many([Turn(role=Role.USER, text="A letter.")], **told)),
    **about("facts.add", lambda memory, **told: memory.facts.add(f"likes {uuid4()}", **told)),
    ("facts.add", "text"): lambda memory, word: memory.facts.add(f"writes to {word}"),
    **about("documents.add", lambda memory, **told: memory.documents.add("A letter.", **{"title": "Letters", **told})),
    ("documents.add", "text"): lambda memory, word: memory.documents.add(
        [f"Write to {word}", " today."], title="Letters"
    ),
    ("update", "text"): lambda memory, word: memory.update(with_page(memory), f"Rather {word}."),
    ("update", "tags"): lambda memory, word: memory.update(with_page(memory), "Rather not.", tags=[word]),
    ("update", "metadata"): lambda memory, word: memory.update(with_page(memory), "No.", metadata={word: word}),
    ("profile.set", "field"): lambda memory, word: memory.profile.set(f"mail of {word}", "unknown"),
    ("profile.set", "value"): lambda memory, word: memory.profile.set("email", word),
    ("proposals.publish", "facts"): lambda memory, word: memory.proposals.publish([f"uses {word}"], source="hr"),
    ("proposals.publish", "source"): lambda memory, word: memory.proposals.publish([f"has {uuid4()}"], source=word),
    ("update", "reason"): lambda memory, word: memory.update(with_page(memory), "Else.", reason=word),
    ("governance.freeze", "reason"): lambda memory, word: memory.governance.freeze(with_page(memory), reason=word),
    ("governance.thaw", "reason"): lambda memory, word: memory.governance.thaw(frozen(memory), reason=word),
    ("governance.expire", "reason"): lambda memory, word: memory.governance.expire(with_page(memory), reason=word),
    ("governance.relabel", "reason"): lambda memory, word: memory.governance.relabel(
        with_page(memory), sensitivity=["diagnosis"], reason=word
    ),
    ("governance.relabel", "sensitivity"): lambda memory, word: memory.governance.relabel(
        with_page(memory), sensitivity=[f"of {word}"]
    ),
    ("governance.rollback", "reason"): lambda memory, word: memory.governance.rollback(
        with_page(memory), 1, reason=f"as {word} says"
    ),
    ("duplicates.merge", "reason"): lambda memory, word: memory.duplicates.merge(twice(memory), reason=word),
    ("archiving.add", "tags"): lambda memory, word: memory.archiving.add("rule", unused=10**8, tags=[word]),
    ("governance.hold", "reason"): lambda memory, word: memory.governance.hold(reason=word, memory=with_page(memory)),
    ("governance.retain", "tags"): lambda memory, word: memory.governance.retain(
        f"rule {uuid4()}", ttl=10**8, tags=[f"of {word}"]
    ),
    ("snapshots.create", "name"): lambda memory, word: memory.snapshots.create(f"{uuid4()} for {word}"),
    ("branches.create", "name"): lambda memory, word: memory.branches.create(f"{uuid4()} for {word}"),
    ("jobs.add", "payload"): add_job,
    ("admin.load", "path"): load,
    ("pipelines.run", "pipeline"): lambda memory, word: memory.pipelines.run(noting(f"Write to {word}.")),
    ("pipelines.run", "parameters"): lambda memory, word: memory.pipelines.run(noting("{what}"), {"what": word}),
    ("pipelines.run", "query"): lambda memory, word: memory.pipelines.run(noting("{query}"), query=f"Is it {word}?"),
    ("requests.do", "text"): lambda memory, word: memory.requests.do(f"Remember that I write to {word}."),
    ("respond", "query"): respond,
    ("respond_stream", "query"): stream,
}


def behind_a_prefix(memory: Memory, word: str) -> Any:
    memory.activations.build("me")
    return memory.activations.answer("me", f"Who is {word}?")


# What is asked is not stored, but it reaches the embedder, and the chat model.
QUESTIONS: dict[tuple[str, str], Callable[[Memory, str], Any]] = {
    ("search", "query"): lambda memory, word: memory.search(f"Who is {word}?"),
    ("context", "query"): lambda memory, word: memory.context(f"Who is {word}?"),
    ("context", "dialogue"): lambda memory, word: memory.context(
        "Who is Tom?", dialogue=[{"role": "user", "content": f"Write to {word}."}]
    ),
    ("requests.read", "text"): lambda memory, word: memory.requests.read(f"What do you know about {word}?"),
    ("requests.preview", "text"): lambda memory, word: memory.requests.preview(f"What do you know about {word}?"),
    ("schedule.explain", "query"): lambda memory, word: memory.schedule.explain(f"Who is {word}?"),
    ("schedule.decide", "query"): lambda memory, word: memory.schedule.decide(f"Who is {word}?"),
    ("digest", "query"): lambda memory, word: memory.digest(query=f"Who is {word}?"),
    ("activations.answer", "query"): behind_a_prefix,
    ("respond", "role"): lambda memory, word: respond(memory, "Tom", role=f"the assistant of {word}"),
    ("respond_stream", "role"): lambda memory, word: stream(memory, "Tom", role=f"the assistant of {word}"),
}

_IDS = "an id, or a name that somebody chose for a key"
_CHOICE = "a time, a number or one of a few words"
_COMPARED = "it is compared with what is stored, and not stored"
_PLACE = "the place of a file"
KEPT: dict[str, str] = {
    **dict.fromkeys(("cube_id", "memory_id", "page_id", "id", "proposal_id", "job_ids", "about", "exclude"), _IDS),
    **dict.fromkeys(("hold_id", "memory", "delegation_id", "key_id", "grant_id", "identity", "to", "users"), _IDS),
    **dict.fromkeys(("purpose", "purposes", "application", "network"), "policies and the log name the call by it"),
    **dict.fromkeys(("actions", "roles", "access"), _CHOICE),
    "sensitivity": "a class that policies name",
    "key": "a hash of it is stored",
    "policies": _PLACE,
    **dict.fromkeys(("user", "agent", "session", "tenant", "namespace", "name", "mount", "mounts"), _IDS),
    "idempotency_key": "its hash is stored",
    **dict.fromkeys(("at", "since", "until", "as_of", "expires_at", "not_before"), _CHOICE),
    **dict.fromkeys(("strategy", "tiers", "kinds", "role", "cursor", "do", "check", "min_trust"), _CHOICE),
    **dict.fromkeys(("filters", "speaker", "tags of a filter", "caller", "operation"), _COMPARED),
    **dict.fromkeys(("action", "decision", "format", "mode", "questions"), _CHOICE),
    "confirm": "the token of a preview",
    "priorities": _COMPARED,
    "known": "numbers and hashes of the audit log",
    "source_ids": _COMPARED,
    "receipt": "its signature is checked",
    "path": _PLACE,
    **dict.fromkeys(("ids", "names", "beside", "segment"), _IDS),
    "folder": _PLACE,
    "new_key": "a key that nothing stores",
    "target": _PLACE,
    "kind": "the name of a function of the program",
}
_FILTERING = ("search", "context", "tagged", "pages.list", "pages.count", "facts.list", "facts.count", "segments.list")


def is_kept(method: str, parameter: str) -> bool:
    if parameter == "tags":
        # A rule of a tenant: refused. An adapter needs a model: tests/local has it.
        return method in (*_FILTERING, "segments.count", "retention.add", "adapters.train")
    return parameter in KEPT or (method, parameter) in (
        ("governance.reveal", "text"),
        ("admin.verify_words", "text"),  # nothing keeps it: its tokens are counted
        ("pipelines.check", "pipeline"),
        ("forms.transform", "source"),  # the name of a form
        ("forms.outcome", "source"),
        ("adapters.ask", "question"),  # it needs a model: tests/local has it
    )


class Listening:
    """A chat model and an embedder that keep what they were told."""

    name, dim = Hashing.name, Hashing().dim

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.says = "Noted."

    def embed(self, texts: Any) -> Any:
        self.heard += texts
        return Hashing().embed(texts)

    def answer(self, messages: Any) -> Answer:
        self.heard += [message["content"] for message in messages]
        return Answer(self.says, Usage(1, 1), "listening")

    def stream(self, messages: Any) -> Iterator[str]:
        yield self.answer(messages).text


def stored(place: str) -> bytes:
    """All bytes of a store: the files of SQLite, the files and the rows of a database on PostgreSQL."""
    if not place.startswith("postgresql"):
        return b"".join(file.read_bytes() for file in Path(place).parent.rglob("memory.db*") if file.is_file())
    with server.administrator(place.rpartition("/")[2].partition("?")[0]) as administrator:
        administrator.execute("CHECKPOINT")
        (folder, number) = administrator.execute(
            "SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()"
        ).fetchone()
        files = b"".join(file.read_bytes() for file in Path(folder, "base", str(number)).iterdir())
        return files + b"".join(rows(administrator))


def rows(administrator: psycopg.Connection) -> list[bytes]:
    """The rows of each table, decompressed, as text."""
    tables = administrator.execute(
        "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    )
    return [
        row.encode()
        for (table,) in tables.fetchall()
        for (row,) in administrator.execute(f"SELECT t::text FROM {table} t")
    ]


@pytest.fixture
def opened(place, tmp_path, clock):
    """opened(action, ...): a memory with that policy, and what its models are told."""
    memories = []

    def call(action: str, *, user: str = "tom", **settings: Any) -> tuple[Memory, Listening]:
        listening = Listening()
        knobs = memoryos.load_settings(
            privacy_on_write=action,
            audit=True,
            privacy_key=KEY,
            short_term_capacity=2,
            object_store=(tmp_path / "objects").as_uri(),
            **settings,
        )
        (tmp_path / "objects").mkdir(exist_ok=True)
        memory = memoryos.open(place, user=user, settings=knobs, embedder=listening, chat=listening, clock=clock)
        memory._tmp = tmp_path
        memories.append(memory)
        return memory, listening

    yield call
    for memory in memories:
        memory.close()


def audited(memory: Memory) -> str:
    """All of the audit log, in both forms."""
    log = store_of(memory).audit
    texts = StringIO(), StringIO()
    assert log.export(texts[0]) == log.export(texts[1], format="csv") - 1 > 0  # the first export is in the log
    return "".join(text.getvalue() for text in texts)


def words_for(doors: Any) -> dict[tuple[str, str], str]:
    return {door: f"person{number}.x{uuid4().hex[:10]}@mailbox.org" for number, door in enumerate(doors)}


def test_every_parameter_that_takes_text_is_a_door_or_is_kept_for_a_reason():
    known = {*DOORS, *QUESTIONS}
    unknown = {door for door in text_parameters() - known if not is_kept(*door)}
    assert unknown == set(), "add these to DOORS or QUESTIONS, or say in KEPT why they stay as they are"
    gone = {door for door in known - text_parameters() if " of messages" not in door[1]}
    assert gone == set()


@pytest.mark.parametrize("action", ["mask", pytest.param("pseudonym", marks=pytest.mark.long)])
def test_nothing_reaches_the_store_the_embedder_or_the_model(opened, place, action, caplog):
    caplog.set_level(logging.DEBUG)
    memory, listening = opened(action)
    words = words_for([*DOORS, *QUESTIONS])
    for door, come_in in {**DOORS, **QUESTIONS}.items():
        come_in(memory, words[door])
    memory.wait()
    memory.close()
    raw, heard = stored(place), "\n".join([*listening.heard, caplog.text])
    assert [door for door, word in words.items() if word.encode() in raw] == []
    assert [door for door, word in words.items() if word in heard] == []


@pytest.mark.parametrize("action", [pytest.param("off", marks=pytest.mark.long), "tag"])
def test_without_a_mask_all_of_it_is_there_and_none_of_it_in_the_audit_log(opened, place, action):
    memory, listening = opened(action)
    words = words_for([*DOORS, *QUESTIONS])
    for door, come_in in {**DOORS, **QUESTIONS}.items():
        come_in(memory, words[door])
    memory.wait()
    log = audited(memory)
    named = [("branches.create", "name")]  # the namespace of a branch has its name
    assert [door for door, word in words.items() if word in log] == named
    memory.close()
    raw = stored(place)
    swept = ("governance.expire", "reason")  # it goes with the memory; a server keeps dead rows until it vacuums
    missing = [door for door in DOORS if words[door].encode() not in raw]
    assert missing == [swept] or (place.startswith("postgresql") and missing == [])
    assert any(words["add", "query"] in text for text in listening.heard)


def test_a_refusal_names_the_field_and_stores_nothing(opened, place):
    memory, _ = opened("refuse")
    words = words_for(DOORS)
    admitted = []
    for door, come_in in DOORS.items():
        try:
            come_in(memory, words[door])
            admitted.append(door)
        except PrivacyRefused as error:
            assert error.kinds == ("email",)
            assert words[door] not in str(error)
    assert admitted == []
    memory.close()
    raw = stored(place)
    assert [door for door, word in words.items() if word.encode() in raw] == []


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("query", lambda memory: memory.add("a.b@mailbox.org")),
        ("response", lambda memory: memory.add("Who?", "a.b@mailbox.org")),
        ("title", lambda memory: memory.add("Who?", title="a.b@mailbox.org")),
        ("metadata.who", lambda memory: memory.add("Who?", metadata={"who": "a.b@mailbox.org"})),
        (
            "turns[1].speaker",
            lambda memory: memory.add_many(
                [Turn(role="user", text="a"), Turn(role="assistant", text="b", speaker="a.b@mailbox.org")]
            ),
        ),
        ("value", lambda memory: memory.profile.set("email", "a.b@mailbox.org")),
        ("text", lambda memory: memory.facts.add("a.b@mailbox.org")),
    ],
)
def test_the_error_names_the_argument(opened, field, call):
    memory, _ = opened("refuse")
    with pytest.raises(PrivacyRefused) as refused:
        call(memory)
    assert refused.value.field == field
    assert memory.pages.count() == 0


def test_what_the_model_writes_is_masked_when_it_may_not_be_refused(opened, place):
    memory, listening = opened("refuse")
    listening.says = "It is model.answer@mailbox.org."
    assert memory.respond("Who?").text == "It is model.answer@mailbox.org."
    memory.wait()
    assert memory.pages.list()[0].payload.turns[1].text == "It is [email]."


def test_tags_name_what_each_page_holds(opened):
    memory, _ = opened("tag")
    first, second = memory.add_many(
        [Turn(role="user", text="Mail a.b@mailbox.org from 10.0.3.7."), Turn(role="user", text="Nothing here.")]
    )
    assert memory.get(first).tags == ("privacy:email", "privacy:ip")
    assert memory.get(second).tags == ()
    assert memory.get(first).text == "user: Mail a.b@mailbox.org from 10.0.3.7."
    assert [page.id for page in memory.pages.list(filters={"no_tags": ["privacy:email"]})] == [second]
    memory.update(second, "Now c.d@mailbox.org.")
    assert memory.get(second).tags == ("privacy:email",)


def test_only_the_kinds_that_are_named_are_masked(opened):
    memory, _ = opened("mask", privacy_kinds=("card",))
    page = memory.add("Mail a.b@mailbox.org about 4111 1111 1111 1111.")
    assert memory.get(page).text == "user: Mail a.b@mailbox.org about [card]."


def test_a_pseudonym_is_revealed_to_its_user_and_to_nobody_else(opened):
    memory, _ = opened("pseudonym")
    page = memory.add("Mail a.b@mailbox.org, I mean a.b@mailbox.org or c.d@mailbox.org.")
    text = memory.get(page).text
    assert "mailbox" not in text and len(set(text.split("⟨")[1:])) == 3
    assert memory.governance.reveal(text) == "user: Mail a.b@mailbox.org, I mean a.b@mailbox.org or c.d@mailbox.org."
    bob = memory.of(Scope(user="bob"))
    with pytest.raises(InvalidInput, match="privacy_key"):
        bob.governance.reveal(text)
    page_of_bob = bob.add("Mail a.b@mailbox.org.")
    assert bob.get(page_of_bob).text.split("⟨")[1].split("⟩")[0] not in text


def test_who_revealed_is_in_the_audit_log_and_what_is_not(opened):
    memory, _ = opened("pseudonym")
    text = memory.get(memory.add("Mail a.b@mailbox.org.")).text
    store = store_of(memory)
    store.of(memory.scope, Caller("dr-lee")).governance.reveal(text)
    entries = store.audit.list(operation="governance.reveal")
    assert [(entry.action, entry.decision, entry.caller, entry.scope) for entry in entries] == [
        ("administer", "allowed", "dr-lee", memory.scope),
        ("read", "allowed", "dr-lee", memory.scope),
    ]
    assert "mailbox" not in audited(memory)
    assert store.audit.verify().is_sound


@pytest.mark.parametrize("refused", [Action.READ, Action.ADMINISTER])
def test_who_may_not_read_or_administer_reveals_nothing_and_is_in_the_audit_log(vault, clock, refused):
    class Rules:
        def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
            if (caller.identity, action) == ("eve", refused):
                raise PermissionDenied(f"eve may not {action}")

    knobs = memoryos.load_settings(privacy_on_write="pseudonym", privacy_key=KEY, audit=True)
    with closing(MemoryOS(Engine(vault, Hashing(), settings=knobs, clock=clock, gate=Rules()))) as store:
        tom = store.of(Scope(user="tom"))
        text = tom.get(tom.add("Mail a.b@mailbox.org.")).text
        with pytest.raises(PermissionDenied):
            store.of(Scope(user="tom"), Caller("eve")).governance.reveal(text)
        last = store.audit.list(caller="eve", latest=True)[0]
    assert (last.action, last.operation, last.decision, last.reason) == (
        refused,
        "governance.reveal",
        "refused",
        "PermissionDenied",
    )


def test_another_key_reveals_nothing(opened, place, clock):
    memory, _ = opened("pseudonym")
    text = memory.get(memory.add("Mail a.b@mailbox.org.")).text
    knobs = memoryos.load_settings(privacy_key="another key of thirty-two characters")
    with memoryos.open(place, user="tom", settings=knobs, embedder=Hashing(), clock=clock) as other:
        assert other.get(memory.pages.list()[0].id).text == text
        with pytest.raises(InvalidInput, match="privacy_key: does not open"):
            other.governance.reveal(text)
    keyless = memoryos.open(place, user="tom", embedder=Hashing(), clock=clock)
    with keyless, pytest.raises(InvalidInput, match="privacy_key: is not set"):
        keyless.governance.reveal(text)


def test_a_retention_rule_for_a_tag_that_is_masked_finds_its_memories(opened):
    memory, _ = opened("mask")
    memory.governance.retain("mail", ttl=60, tags=["of a.b@mailbox.org"])
    page = memory.add("Hello.", tags=["of a.b@mailbox.org"])
    assert memory.get(page).governance.lifespan.expires_at is not None


def test_a_search_for_what_was_replaced_finds_it(opened):
    memory, _ = opened("pseudonym")
    for number in range(5):
        memory.add(f"Colleague {number} has the address colleague{number}@mailbox.org.")
    hit = memory.search("Whose address is colleague3@mailbox.org?").hits[0]
    assert "Colleague 3" in hit.text


def test_a_history_that_is_passed_again_adds_only_what_is_new(opened):
    memory, _ = opened("mask")
    history = [{"role": "user", "content": "I am a.b@mailbox.org."}, {"role": "assistant", "content": "Hello."}]
    memory.add(history)
    history += [{"role": "user", "content": "And c.d@mailbox.org."}, {"role": "assistant", "content": "Yes."}]
    memory.add(history)
    assert [page.text for page in memory.pages.list()] == [
        "user: I am [email].\nassistant: Hello.",
        "user: And [email].\nassistant: Yes.",
    ]


def test_the_same_call_with_a_key_adds_nothing_twice(opened):
    memory, _ = opened("pseudonym")
    first = memory.add("I am a.b@mailbox.org.", title="a.b@mailbox.org", idempotency_key="one")
    assert memory.add("I am a.b@mailbox.org.", title="a.b@mailbox.org", idempotency_key="one") == first
    with pytest.raises(KeyReused, match="belongs to another call"):
        memory.add("I am c.d@mailbox.org.", title="a.b@mailbox.org", idempotency_key="one")


def test_bytes_that_are_attached_stay_as_they_are(opened):
    memory, _ = opened("mask")
    data = b"mail a.b@mailbox.org"
    message = {"role": "user", "content": [{"type": "file", "file": {"data": data, "filename": "a.b@mailbox.org"}}]}
    (page,) = memory.add([message])
    (file,) = memory.pages.attachments(page)
    assert file.caption == "[email]"
    assert memory.pages.attachment(page, file.id).data == data


def test_a_writable_mount_gets_what_may_be_stored(opened, place):
    memory, _ = opened("mask")
    memory.mounts.add(memoryos.Mount("team", None, Scope(user="tom", agent="team"), writable=True))
    page = memory.add("Mail a.b@mailbox.org.", mount="team")
    assert memory.of(Scope(user="tom", agent="team")).get(page).text == "user: Mail [email]."


def test_a_refused_line_of_an_export_is_named_and_nothing_is_loaded(opened, tmp_path):
    file = tmp_path / "tom.jsonl"
    with memoryos.open(":memory:", user="tom", embedder=Hashing()) as other:
        other.add("Nothing here.")
        other.add("Mail a.b@mailbox.org.")
        other.export(file)
    memory, _ = opened("refuse")
    with pytest.raises(PrivacyRefused, match=r"file, line 3, .*holds email"):
        store_of(memory).admin.load(file)
    assert memory.pages.count() == 0


def test_an_export_of_masked_memories_is_loaded_as_it_is(opened, tmp_path):
    memory, _ = opened("pseudonym")
    memory.add("Mail a.b@mailbox.org.")
    memory.export(tmp_path / "tom.jsonl")
    text = (tmp_path / "tom.jsonl").read_text("utf-8")
    assert KEY not in text and "mailbox" not in text
    records = [json.loads(line) for line in text.splitlines()]
    assert records[1]["memory"]["payload"]["turns"][0]["text"].startswith("Mail ⟨email:")


@pytest.mark.parametrize("action", ["off", "mask", "pseudonym"])
def test_an_export_is_written_under_a_policy_of_its_own(opened, tmp_path, action):
    memory, _ = opened("off", privacy_on_export=action)
    word = f"of.x{uuid4().hex[:10]}@mailbox.org"
    page = memory.add(f"Mail {word}.", title=word, metadata={"who": word})
    memory.update(page, f"Rather mail {word} and c.d@mailbox.org.")
    memory.facts.add(f"writes to {word}")
    memory.wait()
    memory.export(tmp_path / "one.jsonl")
    store_of(memory).admin.export(tmp_path / "all.jsonl", user="tom")
    for name in ("one.jsonl", "all.jsonl"):
        assert (word in (tmp_path / name).read_text("utf-8")) is (action == "off")
    assert memory.get(page).title == word, "the store keeps what it has"
    with memoryos.open(":memory:", user="tom", settings=memory.settings, embedder=Hashing()) as other:
        assert store_of(other).admin.load(tmp_path / "one.jsonl").memories["page"] == 1
        text = other.get(page).text
        assert text == memory.get(page).text if action == "off" else word not in text
        if action == "pseudonym":
            assert other.governance.reveal(text) == memory.get(page).text


def test_what_is_learned_of_a_page_is_tagged_as_the_page(opened):
    memory, _ = opened("tag")
    memory.add("My name is Bob. My email is bob@mailbox.org. I have a dog.")
    memory.consolidate()
    memory.wait()
    personas = memory.profile.get()
    learned = [*personas.user.facts, *personas.user.profile]
    tagged = {one.text: one.descriptive.tags for one in learned}
    assert any("bob@mailbox.org" in text for text in tagged), tagged
    for text, tags in tagged.items():
        assert tags == (("privacy:email",) if "bob@mailbox.org" in text else ()), text
    memory.upkeep.rebuild()
    again = [*memory.profile.get().user.facts, *memory.profile.get().user.profile]
    assert {one.text: one.descriptive.tags for one in again} == tagged


def test_a_stated_field_is_tagged_by_each_value(opened):
    memory, _ = opened("tag")
    field = memory.profile.set("contact", "the front door")
    assert memory.get(field).descriptive.tags == ()
    assert memory.profile.set("contact", "bob@mailbox.org") == field
    assert memory.get(field).descriptive.tags == ("privacy:email",)


@pytest.mark.parametrize("action", ["tag", "refuse"])
def test_an_export_is_masked_or_not_and_nothing_else(action):
    with pytest.raises(InvalidInput, match=r"privacy_on_export: .*use off, mask or pseudonym"):
        memoryos.load_settings(privacy_on_export=action)


@pytest.mark.once
def test_a_rule_of_a_whole_tenant_has_no_tag_with_personal_data(opened):
    memory, _ = opened("mask")
    with pytest.raises(InvalidInput, match="tags: has personal data"):
        store_of(memory).retention.add("rule", ttl=60, tags=["a.b@mailbox.org"])
    assert not list(store_of(memory).retention.list())


# Names

NAMED: dict[str, Callable[[Memory, str], Any]] = {
    "governance.retain": lambda memory, word: memory.governance.retain(word, ttl=60),
    "archiving.add": lambda memory, word: memory.archiving.add(word, unused=60),
    "retention.add": lambda memory, word: store_of(memory).retention.add(word, ttl=60),
    "roles.grant": lambda memory, word: store_of(memory).roles.grant("kim", ["nurse"], name=word),
    "keys.create": lambda memory, word: store_of(memory).keys.create("kim", purposes=["care", word]),
}


@pytest.mark.parametrize("action", ["refuse", "mask", "pseudonym"])
@pytest.mark.parametrize("name", NAMED)
def test_no_rule_role_or_purpose_is_named_with_personal_data(opened, place, name, action):
    memory, _ = opened(action)
    with pytest.raises(InvalidInput, match=r"(name|purposes): has personal data, which this store does not keep"):
        NAMED[name](memory, "for ann@example.org")
    NAMED[name](memory, "for Ann")
    memory.close()
    assert b"ann@example.org" not in stored(place)


@pytest.mark.parametrize("action", ["mask", "pseudonym"])
def test_a_snapshot_and_a_branch_are_found_by_the_name_that_was_typed(opened, clock, action):
    memory, _ = opened(action)
    page = memory.add("Bees like lavender.")
    name = "before I wrote to ann@example.org"
    assert "ann@example.org" not in memory.snapshots.create(name).name
    assert "ann@example.org" not in memory.branches.create(name).name
    clock.advance(minutes=1)
    memory.update(page, "Bees like heather.")
    assert "lavender" in memory.get(page, as_of=name).text
    assert "lavender" in memory.branch(name).pages.list()[0].text
    for taken in (memory.snapshots.create, memory.branches.create):
        with pytest.raises(InvalidInput, match="is taken"):
            taken(name)
    memory.snapshots.remove(name)
    memory.branches.discard(name)
    assert (memory.snapshots.list(), memory.branches.list()) == ([], [])


def test_what_was_named_before_the_policy_comes_before_what_is_masked_alike(opened):
    memory, _ = opened("off")
    memory.snapshots.create("for ann@example.org")
    memory.branches.create("for ann@example.org")
    memory.close()
    memory, _ = opened("mask")
    masked = memory.snapshots.create("for bob@example.org").name
    memory.branches.create("for bob@example.org")
    assert memory.branches.named("for ann@example.org").name == "for ann@example.org"
    memory.snapshots.remove("for ann@example.org")
    memory.branches.discard("for ann@example.org")
    assert [one.name for one in (*memory.snapshots.list(), *memory.branches.list())] == [masked, masked]


def test_what_was_named_before_the_policy_is_found_and_removed(opened):
    memory, _ = opened("off")
    memory.snapshots.create("for ann@example.org")
    memory.branches.create("for ann@example.org")
    memory.close()
    memory, _ = opened("refuse")
    memory.snapshots.remove("for ann@example.org")
    memory.branches.discard("for ann@example.org")
    assert (memory.snapshots.list(), memory.branches.list()) == ([], [])
