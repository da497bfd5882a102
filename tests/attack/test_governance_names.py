"""Names as weapons: through every id, with look-alikes, and by command; what is not said exactly opens nothing."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

import forked
import same_process
from acceptance.test_keyed_commands import COMMANDS as EVERY_COMMAND
from acceptance.test_keyed_commands import NO_USER
from contract import server
from memoryos import Action, Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.errors import InvalidInput, MemoryOSError, PermissionDenied
from memoryos.models.hashing import Hashing

from . import governed
from .governed import METHODS, World, leaked, told

SECRET = "The zorbitis is quixotic."
SETTINGS = load_settings(embedder="hashing", jobs="worker")

INJECTIONS = [
    "'; DROP TABLE cubes; --",
    '" OR ""="',
    "ann' OR '1'='1",
    "ann%",
    "_nn",
    "*",
    "a[n]n",
    "../../etc/passwd",
    "..\\..\\ann",
    "/etc/passwd",
    "file:///etc/passwd",
    "ann\x1fsensitivity:none",
    "ann\n",
    "ann/private",
    "ann%2Fprivate",
    "$(touch pwned)",
    "`touch pwned`",
    "%(user_id)s",
    ":user_id",
    "{user_id}",
    "\\x27 OR 1=1",
    "${jndi:x}",
]
LOOK_ALIKES = {
    "José": [
        "Jose",
        "Jose\u0301",
        "josé",
        "JOSÉ",
        "José ",
        " José",
        "José\u200b",
        "\u200eJosé",
        "Josе\u0301",
        "José\u00ad",
    ],
    "ann": ["Ann", "ANN", "аnn", "ａｎｎ", "ann\u200d", "ann\ufeff", "a\u200cnn", "ann\u3000", "ⓐⓝⓝ", "𝐚𝐧𝐧"],
    "Straße": ["Strasse", "STRASSE", "straße", "Straẞe"],
    "ﬁsh": ["fish", "FISH"],
}

Open = Callable[..., MemoryOS]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryOS]:
    with MemoryOS.open(tmp_path / "memory.db", settings=SETTINGS, embedder=Hashing()) as store:
        yield store


def everything(memory: Memory) -> str:
    found = memory.search("zorbitis", pages=9)
    return told([memory.pages.list(), *found.hits, *found.user_facts, memory.stats(), memory.log.events()])


FIELDS = ["user", "tenant", "agent", "namespace", "session"]


@pytest.mark.parametrize("field", FIELDS)
def test_no_part_of_a_scope_reaches_beyond_itself(store, tmp_path, field, long):
    """Each hostile name is the name of a memory of its own, or it is refused; each is tried in a field, or in all."""
    victim = store.memory("ann")
    page = victim.add(SECRET)
    before = sorted(path.name for path in tmp_path.iterdir())
    for name in INJECTIONS if long else INJECTIONS[FIELDS.index(field) :: len(FIELDS)]:
        try:
            scope = replace(Scope(user="ann"), **{field: ("private", name) if field == "namespace" else name})
        except InvalidInput:
            continue
        memory = store.of(scope)
        if field != "session":  # a session narrows nothing: it labels what is written
            assert not leaked(everything(memory)), name
        own = memory.add("Mine.")
        assert own in {one.id for one in memory.pages.list()}
        memory.forget()
        assert [one.id for one in victim.pages.list()] == [page], name
        assert store.admin.users() == ["ann"], name
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("real", LOOK_ALIKES)
def test_a_name_that_looks_alike_is_another_name(store, real):
    store.memory(real).add(SECRET)
    key = store.keys.create("bot", users=[real], actions=list(Action))
    caller = store.keys.caller(key.key)
    for false in LOOK_ALIKES[real]:
        assert false != real
        assert not leaked(everything(store.memory(false))), false
        assert not leaked(everything(store.memory(real, tenant=false))), false
        with pytest.raises(PermissionDenied):
            store.memory(false, caller=caller).search("zorbitis")
    assert leaked(everything(store.memory(real, caller=caller)))
    assert {unicodedata.normalize("NFKC", one) for one in store.admin.users()} == {unicodedata.normalize("NFKC", real)}


@pytest.mark.once
@pytest.mark.parametrize("real", LOOK_ALIKES)
def test_a_policy_names_exactly_one_caller(tmp_path, real):
    folder = tmp_path / "policies"
    folder.mkdir()
    owned = "permit (principal, action, resource is Cube) when { resource.owner == principal };"
    staff = f'permit (principal in Role::"{real}", action, resource is Cube);'
    (folder / "all.cedar").write_text(f"{owned}\n{staff}")
    settings = SETTINGS.model_copy(update={"policies": str(folder)})
    with MemoryOS.open(tmp_path / "memory.db", settings=settings, embedder=Hashing()) as store:
        scope = Scope(user=real)
        store.of(scope, Caller(real)).add(SECRET)
        assert leaked(everything(store.of(scope, Caller("eve", frozenset({real})))))
        for false in LOOK_ALIKES[real]:
            for caller in (Caller(false), Caller("eve", frozenset({false}))):
                try:
                    said = everything(store.of(scope, caller))
                except PermissionDenied:
                    continue
                assert not leaked(said), (caller, said)  # of an id that is not printable, each memory is asked about


NAMING = [one for one in METHODS if governed.takes_names(one) and one not in ("of", "forget")]
SHARES = 9  # of the methods, each of which has a store of its own


@pytest.mark.parametrize("share", range(SHARES))
def test_no_id_is_a_part_of_a_statement_or_of_a_path(store, tmp_path, share):
    """Refused, or an id that nothing has, or a text like any other; the victim's rows stay as they are."""
    victim = store.memory("ann")
    page = victim.add(SECRET)
    attacker = store.memory("mallory")
    attacker.add("Hello.")
    (tmp_path / "elsewhere").mkdir()
    before = {path for path in tmp_path.rglob("*") if "memory.db" not in path.name}
    for name in NAMING[share::SHARES]:
        for word in [*INJECTIONS[:8:2], f"{page}' --", f"../{page}", page.upper(), f"{page}\u200b"]:
            try:
                said = told(governed.call(attacker, name, word))
            except MemoryOSError as error:
                said = str(error)
            assert not leaked(said), (name, word)
            assert "syntax error" not in said.lower(), (name, word)
        assert [one.id for one in victim.pages.list()] == [page], name
        assert {path for path in tmp_path.rglob("*") if "memory.db" not in path.name} == before, name


# By command, on both stores

COMMANDS = {
    "search": "zorbitis",
    "tagged": "zorbtag",
    "context": "zorbitis",
    "digest": "",
    "show": "",
    "stats": "",
    "pages list": "",
    "pages count": "",
    "get": "PAGE",
    "history": "PAGE",
    "update": "PAGE new",
    "delete": "PAGE",
    "log usage": "",
    "profile get": "",
    "jobs list": "",
    "proposals list": "",
    "governance transitions": "PAGE",
    "governance provenance": "PAGE",
    "governance holds": "",
    "snapshots list": "",
    "branches list": "",
    "duplicates list": "",
    "export": "-",
}


@pytest.fixture(scope="module")
def commanded(back_end: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str], World]]:
    """A store that commands can open, on each back end, with keys of others than the victim."""
    folder = tmp_path_factory.mktemp("commanded")
    place = str(folder / "memory.db")
    if back_end == "postgres":
        place = server.store_of(folder).render_as_string(hide_password=False)
    with ExitStack() as stack:
        store = stack.enter_context(MemoryOS.open(place, settings=SETTINGS, embedder=Hashing()))
        ann = store.memory("ann")
        page = ann.add(SECRET, tags=["zorbtag"])
        ann.facts.add("takes Zyloprim")
        store.memory("mallory").add("Hello.")
        ann.stats()  # no page waits to be moved, which would change its row
        store.wait()
        other = store.keys.create("ann", users=["mallory"], actions=list(Action)).key
        revoked = store.keys.create("ann", actions=list(Action))
        store.keys.revoke(revoked.info.id)
        own = store.keys.create("ann", users=["ann"]).key
        known = {"place": place, "PAGE": page, "other": other, "revoked": revoked.key, "own": own}
        yield folder, known, World(store, {}, {})
    if back_end == "postgres":
        server.give_back(folder)


# In one process, one command after the other: to start one takes longer than to run it.
RUN_ALL = """
import contextlib, io, json, os, sys
from memoryos.interface.cli.app import main
told = []
for key, arguments in json.loads(sys.argv[-1]):
    os.environ.pop("MEMORYOS_KEY", None)
    os.environ.update({"MEMORYOS_KEY": key} if key else {})
    sys.argv = ["memoryos", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    told.append([code, out.getvalue()])
print(json.dumps(told))
"""
OF_FILES = {"FILE", "BACKUP", "DB", "LOCOMO", "GVD", "FOLDER", "NEW_KEY", "POLICIES", "RECEIPT", "EXPORT"}
OF_STORE = {"agents", "keys", "users", "tenants", "roles", "retention", "audit"}
OTHERS = {
    name: words
    for name, words in EVERY_COMMAND.items()
    if name not in COMMANDS and not OF_FILES & set(words.split()) and name.split()[0] not in {*NO_USER, "encryption"}
}


def test_no_command_gives_another_persons_memory_away_or_changes_it(commanded, back_end, long):
    """Each command on a file by one attacker, and those that read on a server; in a long attack each by all of them."""
    folder, known, world = commanded
    before = world.fingerprint()
    asked = [*_asked(known, long)]
    assert len(asked) > 100
    asked = asked if long or back_end == "sqlite" else _of_each_way(asked)
    sent = json.dumps(asked)
    model = {"MEMORYOS_LLM_MODEL": "none", "MEMORYOS_LLM_BASE_URL": "http://127.0.0.1:9", "MEMORYOS_LLM_RETRIES": "0"}
    settings = forked.settings(MEMORYOS_EMBEDDER="hashing", **model)
    done = forked.python("-c", RUN_ALL, sent, cwd=folder, env=settings)
    assert done.returncode == 0, done.stderr
    for (key, command), (code, said) in zip(asked, json.loads(done.stdout), strict=True):
        assert not key or code == 5, (command, code, said)
        assert not leaked(said.lower().replace("zorbtag", "").replace("zorbitis", "")), (command, said)
        assert "Traceback" not in said
    assert world.changed(before) == {}


def _of_each_way(asked: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Each command that reads what a person has once, and of all the others, and of names that look alike, some."""
    first = {name: next(one for one in asked if one[1][: len(name.split())] == name.split()) for name in COMMANDS}
    return [*first.values(), *(one for one in asked[::SHARES] if one not in first.values())]


def _asked(known: dict[str, str], long: bool) -> Iterator[tuple[str, list[str]]]:
    """What is asked, and with which key."""
    by = [(known["revoked"], "ann", "default"), ("", "ann", "evil"), ("", "ann%", "default")]
    others = [(known["other"], "ann", "default"), ("", "mallory", "default")]
    for number, (name, words) in enumerate([*COMMANDS.items(), *OTHERS.items()]):
        of_store = name.split()[0] in OF_STORE  # which is asked with a key alone
        two = others if long else others[:1] if of_store else others[number % 2 :][:1]
        three = [] if name in OTHERS else by if long else by[number % 3 :][:1]
        yield from _attacks(known, {name: words}, [*two, *three])
    for number, false in enumerate(LOOK_ALIKES["ann"]):
        alike = [(key, false, "default") for key in ("", known["own"])]
        yield from _attacks(known, {"search": "zorbitis"}, alike if long else alike[number % 2 :][:1])


def _attacks(
    known: dict[str, str], commands: dict[str, str], by: list[tuple[str, str, str]]
) -> Iterator[tuple[str, list[str]]]:
    """Each command with each key, as each user of a tenant; without a key, who has the file administers the store."""
    for name, words in commands.items():
        command = [*name.split(), *(known["PAGE"] if word.isupper() else word for word in words.split())]
        command += ["--db", known["place"], *([] if name in ("respond", "export") else ["--json"])]
        for key, user, tenant in by:
            if name.split()[0] not in OF_STORE:
                yield key, [*command, "--user", user, "--tenant", tenant]
            elif key:
                yield key, command


def test_the_victims_memory_is_as_it_was(commanded):
    _, known, _ = commanded
    told_now = same_process.memoryos(
        "get",
        known["PAGE"],
        "--user",
        "ann",
        "--db",
        known["place"],
        "--json",
        cwd=commanded[0],
        MEMORYOS_EMBEDDER="hashing",
    )
    assert SECRET in json.dumps(json.loads(told_now.stdout), ensure_ascii=False)
