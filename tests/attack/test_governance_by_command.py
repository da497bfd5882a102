"""By command, on both stores: mounts, ids as weapons, forged keys, rights that were taken back, a restored backup.

What commands say of another person's memory is in `test_governance_names`, and what hidden memories change of what they
say in `test_governance_commands`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import same_process
from contract import server
from frozen_clock import FrozenClock
from memoryos import Action, Caller, MemoryOS, Scope, load_settings
from memoryos.models.hashing import Hashing

from .arguments import NOW
from .governed import POLICIES, World, leaked
from .test_governance_names import INJECTIONS

pytestmark = pytest.mark.each  # it is the store that is attacked

ANN, OWNER = Scope(user="ann"), Caller("ann")
OF_AN_ID = ["get", "history", "governance provenance", "governance freeze", "jobs retry", "delete --yes"]
OF_A_SCOPE = ["--user", "--tenant", "--agent", "--session"]
DENIED, NOT_FOUND = 5, 3


@dataclass(frozen=True)
class Desk:
    """Where commands are typed: the place of the store, the victim's page in it, and keys by whose they are."""

    folder: Path
    place: str
    world: World
    page: str
    keys: dict[str, str]

    def ask(self, *arguments: str, key: str = "", **variables: str) -> tuple[int, str]:
        """The exit code of a command, and all that it says."""
        known = {"EMBEDDER": "hashing", "POLICIES": str(self.folder / "all.cedar"), "JOBS": "worker", **variables}
        known |= {"KEY": self.keys.get(key, key)} if key else {}
        told = {f"MEMORYOS_{name}": value for name, value in known.items()}
        done = same_process.memoryos(*arguments, "--db", self.place, "--json", cwd=self.folder, **told)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr


def place_in(folder: Path, back_end: str) -> str:
    folder.mkdir(exist_ok=True)
    if back_end == "sqlite":
        return str(folder / "memory.db")
    return server.store_of(folder).render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def desk(back_end: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    (folder / "all.cedar").write_text(POLICIES)
    settings = load_settings(policies=folder / "all.cedar", jobs="worker")
    place = place_in(folder, back_end)
    with MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=FrozenClock(NOW)) as store:
        page = store.of(ANN, OWNER).add("Zyloprim is for my zorbitis.", tags=["zorbtag"], sensitivity=["diagnosis"])
        store.of(ANN, OWNER).facts.add("takes Zyloprim", sensitivity=["diagnosis"])
        store.memory("mallory").add("Hello.")
        made = {
            "mallory": store.keys.create("mallory", users=["mallory"], actions=list(Action)),
            "friend": store.keys.create("friend", users=["ann"]),
            "stranger": store.keys.create("stranger", actions=list(Action)),
        }
        ann = store.keys.create("ann", users=["ann"])
        keys = {name: one.key for name, one in {**made, "ann": ann}.items()}
        yield Desk(folder, place, World(store, {}, {}), page, keys)
    if back_end == "postgres":
        server.give_back(folder)


def test_a_mount_of_anothers_memory_shows_nothing_by_command(desk: Desk) -> None:
    mounts = json.dumps([{"name": "ward", "scope": {"user": "ann", "namespace": ["expert"]}}])
    ward = desk.world.store.of(Scope(user="ann", namespace=("expert",)), OWNER)
    ward.add("Quixotine is for my zorbitis.", tags=["zorbtag"], sensitivity=["diagnosis"])
    for command in ("search zyloprim", "context zyloprim", "tagged zorbtag", "digest"):
        code, said = desk.ask(*command.split(), "--user", "mallory", key="mallory", MOUNTS=mounts)
        assert code == 0, said
        assert not leaked(said.replace("zyloprim", "").replace("zorbtag", "")), said
    assert "Quixotine" in desk.ask("search", "zorbitis", "--user", "ann", key="ann", MOUNTS=mounts)[1]


def test_no_id_of_a_command_is_a_part_of_a_statement_or_of_a_path(desk: Desk) -> None:
    """As the id and as each part of a scope, in turn."""
    before, files = desk.world.fingerprint(), {path.name for path in desk.folder.iterdir()}
    page = desk.page
    for number, word in enumerate([*INJECTIONS[::2], f"{page}' --", f"../{page}", page.upper(), f"{page}\u200b"]):
        name, *flags = OF_AN_ID[number % len(OF_AN_ID)].rsplit(" --", 1)
        flags = [f"--{one}" for one in flags]
        code, said = desk.ask(*name.split(), *flags, "--user", "mallory", "--", word, key="mallory")
        assert (code in (NOT_FOUND, DENIED, 2), leaked(said)) == (True, []), (name, word, code, said)
        assert "syntax error" not in said.lower()
    for number, word in enumerate(INJECTIONS[1::2]):  # without a key, so each is the owner of what it names
        told = {"--user": "mallory", OF_A_SCOPE[number % len(OF_A_SCOPE)]: word}
        code, said = desk.ask("search", "illness", *(f"{name}={one}" for name, one in told.items()))
        assert (code in (0, 2, NOT_FOUND), leaked(said)) == (True, []), (told, code, said)
        assert "syntax error" not in said.lower()
    assert desk.world.changed(before) == {}
    assert {path.name for path in desk.folder.iterdir()} == files


def test_no_key_is_forged_and_none_reaches_beyond_its_scope(desk: Desk) -> None:
    key, other = desk.keys["ann"], desk.keys["mallory"]
    mixed = "_".join([*key.split("_", 2)[:2], other.split("_", 2)[2]])  # the id of one with the secret of another
    for forged in (mixed, key[:-1] + ("a" if key[-1] != "a" else "b"), key.upper(), "mos_", "operator"):
        code, said = desk.ask("get", desk.page, "--user", "ann", key=forged)
        assert (code, "the key is not valid" in said) == (DENIED, True), (forged, said)
    for stated in (("--user", "ann"), ("--user", "ann", "--tenant", "evil"), ("--user", "аnn")):
        for command in (("get", desk.page), ("search", "illness"), ("export", "out.jsonl")):
            code, said = desk.ask(*command, *stated, key="mallory")
            assert (code, leaked(said)) == (DENIED, []), (command, stated, said)
    assert not (desk.folder / "out.jsonl").exists()
    for stated in ("--purpose=treatment", "--application=ward"):  # which its key does not have
        assert desk.ask(stated, "get", desk.page, "--user", "ann", key="ann")[0] == DENIED
    assert leaked(desk.ask("get", desk.page, "--user", "ann", key="ann")[1])


def test_a_right_that_is_taken_back_counts_for_the_next_command(desk: Desk) -> None:
    """A delegation, a policy and a key; the index of the memory is in use here, and saved for other processes."""

    def friend(key: str = "friend") -> tuple[int, bool]:
        said = [desk.ask(*command, "--user", "ann", key=key) for command in (("search", "illness"), ("get", desk.page))]
        codes = {code for code, _ in said}
        return max(codes), any(leaked(one) for _, one in said)

    shut = (DENIED, False)
    assert friend() == shut
    code, said = desk.ask("governance", "delegate", "friend", "--ttl", "1h", "--user", "ann")
    assert code == 0, said
    assert friend() == (0, True)
    assert desk.ask("governance", "revoke", json.loads(said)["id"], "--user", "ann")[0] == 0
    assert friend() == shut
    rules = desk.folder / "all.cedar"
    rules.write_text(POLICIES + 'permit (principal == User::"friend", action == Action::"read", resource is Cube);')
    assert friend() == (0, True)
    rules.write_text(POLICIES)
    assert friend() == shut
    key = desk.world.store.keys.create("ann", users=["ann"])
    assert friend(key.key) == (0, True)
    assert desk.ask("keys", "revoke", key.info.id)[0] == 0
    assert friend(key.key) == shut


def test_a_backup_that_is_restored_by_command_has_nothing_of_who_was_forgotten(
    desk: Desk, back_end: str, tmp_path: Path
) -> None:
    gone, new = desk.world.store.memory("gone"), place_in(tmp_path / "new", back_end)
    gone.add("Zyloprim is for my zorbitis.")

    def run(*arguments: str) -> Any:
        done = same_process.memoryos(*arguments, "--json", cwd=tmp_path, MEMORYOS_EMBEDDER="hashing")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    run("backup", "one.backup", "--db", desk.place)
    receipt = run("forget", "--yes", "--user", "gone", "--db", desk.place)
    assert "one.backup" in json.dumps(receipt)
    assert run("restore", "one.backup", new)["forgotten_again"] == 1
    found = {user: run("search", "zyloprim", "--user", user, "--db", new)["hits"] for user in ("gone", "ann")}
    assert (bool(found["gone"]), bool(found["ann"])) == (False, True)
    if back_end == "postgres":
        server.give_back(tmp_path / "new")
