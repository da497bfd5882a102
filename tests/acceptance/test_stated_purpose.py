"""The purpose and the session of a call, by every door: who states what a policy asks for reads, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import same_process
from mcp_session import over_http, over_stdio
from memoryos import MemoryOS, Scope, load_settings
from memoryos.interface.mcp.http_door import PATH, mcp_app
from memoryos.interface.rest.admission import PURPOSE, SESSION
from memoryos.models.hashing import Hashing
from proxy.scripted_upstream import ScriptedUpstream, answer, scripted_upstream
from served import PATIENCE, Served, serving

pytestmark = [pytest.mark.once, pytest.mark.file]

CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal && resource.owner != User::"bob" };
permit (principal in Role::"administrator", action == Action::"administer", resource is Store);
permit (principal, action == Action::"read", resource is Cube)
when { principal in Role::"doctor" || principal == User::"bob" }
when { context has purpose && ["treatment", "治疗"].contains(context.purpose) }
when { context has application && context.application == "ward" };
permit (principal in Role::"guest", action == Action::"read", resource is Cube)
when { context has session && ["visit 7", "探视"].contains(context.session) };
"""
PURPOSES = ["treatment", "治疗", "billing"]
NOT_OF_KEY = "purpose: the key does not have 'research'. State billing, treatment, 治疗, or create a key that has it"
FOUND, DENIED = (200, 1), (403, "lee may not read this memory: no policy permits it")
AWAY = (403, "mia may not read this memory: no policy permits it")
NOT_ITS_OWN = "session: the key does not have 'visit 8'. State visit 7, or create a key that has it"


@dataclass(frozen=True)
class Clinic:
    """A store with policies behind a server of REST, mem0 and the proxy."""

    folder: Path
    served: Served
    upstream: ScriptedUpstream

    def key(self, **more: Any) -> str:
        """A key of the doctor."""
        told = {"roles": ["doctor"], "actions": ["read"], "application": "ward", "purposes": PURPOSES, **more}
        return self.served.store.keys.create("lee", **told).key

    def guest(self, **more: Any) -> str:
        """A key of a guest, who may read during a visit."""
        return self.served.store.keys.create("mia", roles=["guest"], actions=["read"], **more).key

    def post(
        self, path: str, body: Any, key: str, *stated: str | bytes, by: str = PURPOSE, **query: str
    ) -> httpx.Response:
        """Ask an address with what the header `by` states."""
        told = [(by, one if isinstance(one, bytes) else one.encode()) for one in stated]
        headers = [("Authorization", f"Bearer {key}"), *told]
        return self.served.http.post(path, json=body, params=query, headers=headers)

    def search(self, key: str, *stated: str | bytes, by: str = PURPOSE) -> tuple[int, Any]:
        """Search what is stored of Ann: the status, and the number of hits or what is wrong."""
        got = self.post("/v1/search", {"query": "diagnosis"}, key, *stated, by=by, user="ann")
        return got.status_code, len(got.json()["hits"]) if got.is_success else got.json()["detail"]

    def run(self, *arguments: str, **variables: str) -> tuple[int, Any]:
        """Run a command: its exit code, and its document."""
        known = {"DB": "clinic.db", "EMBEDDER": "hashing", "POLICIES": "clinic.cedar", **variables}
        more = {f"MEMORYOS_{name}": value for name, value in known.items()}
        done = same_process.memoryos(*arguments, "--json", cwd=self.folder, **more)
        return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "clinic.cedar").write_text(CLINIC, "utf-8")
    with ExitStack() as stack:
        upstream = stack.enter_context(scripted_upstream())
        settings = load_settings(
            embedder="hashing", upstream=upstream.url, upstream_memory_seconds=PATIENCE, audit=True
        )
        policies = folder / "clinic.cedar"
        store = MemoryOS.open(folder / "clinic.db", settings=settings, embedder=Hashing(), policies=policies)
        stack.enter_context(closing(store))
        store.memory("ann").add("The diagnosis is an allergy.")
        yield Clinic(folder, stack.enter_context(serving(store)), upstream)


def test_the_treating_doctor_reads_over_http_with_a_purpose_of_the_key(clinic):
    store, key = clinic.served.store, clinic.key()
    assert [clinic.search(key, one) for one in ("treatment", "治疗")] == [FOUND] * 2
    assert [clinic.search(key, *some) for some in ((), ("billing",))] == [DENIED] * 2
    assert clinic.search(key, "research") == (403, NOT_OF_KEY)
    noted = clinic.served.store.audit.list(operation="keys.caller", decision="refused", latest=True)[0]
    assert (noted.caller, noted.context["purpose"], noted.reason) == ("lee", "research", "PermissionDenied")
    assert clinic.search(clinic.key(purposes=["treatment"])) == FOUND  # it has no other
    assert clinic.search(clinic.key(purposes=[]), "treatment")[0] == 403
    assert clinic.search(clinic.key(application=None), "treatment") == DENIED
    wrong = ("x" * 257, "", "治疗".encode("gb18030"))
    assert [clinic.search(key, one)[0] for one in wrong] == [422] * len(wrong)
    assert clinic.search(key, "treatment", "treatment") == (422, "X-MemoryOS-Purpose: is stated twice")
    told = [entry.context for entry in store.audit.list(caller="lee", operation="memory.search")]
    assert {"purpose": "治疗", "application": "ward", "network": "127.0.0.1"} in [dict(one) for one in told]
    own = clinic.served("GET", "/keys/own", key=key, user=None)["key"]
    assert (own["purposes"], own["application"]) == (sorted(PURPOSES), "ward")
    store.keys.revoke(own["id"])
    assert [clinic.search(key, *some)[0] for some in ((), ("treatment",), ("research",))] == [401] * 3


def test_the_other_addresses_take_the_same_header(clinic):
    key, chat = clinic.key(), {"model": "m", "messages": [{"role": "user", "content": "What is the diagnosis?"}]}
    clinic.upstream.will(answer("An allergy."))
    for purpose, is_found in (("treatment", True), ("billing", False)):
        got = clinic.post("/mem0/search", {"query": "diagnosis", "filters": {"user_id": "ann"}}, key, purpose)
        assert got.is_success is is_found
        got = clinic.post("/v1/chat/completions", chat, key, purpose, user="ann")
        assert (got.headers.get("x-memoryos-status") == "used") is is_found
    assert "allergy" in json.dumps(clinic.upstream.last.json)
    assert "x-memoryos-purpose" not in {name.lower() for name in clinic.upstream.last.headers}
    for path in ("/mem0/search", "/v1/chat/completions"):
        assert clinic.post(path, chat, key, "research").json()["detail"] == NOT_OF_KEY
    described = clinic.served.http.get("/openapi.json").json()
    for header in (PURPOSE, SESSION):
        without = {path for path, some in described["paths"].items() if header not in json.dumps(some)}
        assert without == {"/health", "/ready"}
    with serving(clinic.served.store, partial(mcp_app, default=Scope("ann"))) as mcp:
        address = f"{mcp.url}{PATH}?user=ann"
        with over_http(address, key, X_MemoryOS_Purpose="treatment") as client:
            assert "allergy" in client.text("search", query="diagnosis")
        with over_http(address, key) as client:
            assert "no policy permits it" in client.refused("search", query="diagnosis")
        refused = mcp.http.post(PATH, headers={"Authorization": f"Bearer {key}", "X-MemoryOS-Purpose": "research"})
        assert (refused.status_code, refused.json()["detail"]) == (403, NOT_OF_KEY)


def test_a_guest_reads_over_http_in_the_session_of_a_visit(clinic):
    store, free, bound = clinic.served.store, clinic.guest(), clinic.guest(session="visit 7")
    search = partial(clinic.search, by=SESSION)
    assert [search(free, one) for one in ("visit 7", "探视")] == [FOUND] * 2  # its own statement
    assert [search(free, *some) for some in ((), ("visit 8",))] == [AWAY] * 2
    assert [search(bound), search(bound, "visit 7"), search(bound, "visit 8")] == [FOUND, FOUND, (403, NOT_ITS_OWN)]
    wrong = ("x" * 257, "", "探视".encode("gb18030"))
    assert [search(free, one)[0] for one in wrong] == [422] * len(wrong)
    assert search(free, "visit 7", "visit 7") == (422, f"{SESSION}: is stated twice")
    of_memory = clinic.post("/v1/search", {"query": "diagnosis", "session": "visit 7"}, free, user="ann")
    assert (of_memory.status_code, of_memory.json()["detail"]) == AWAY  # says nothing about the caller
    told = [dict(entry.context) for entry in store.audit.list(caller="mia", operation="memory.search")]
    assert {"session": "探视", "network": "127.0.0.1"} in told
    assert clinic.served("GET", "/keys/own", key=bound, user=None)["key"]["session"] == "visit 7"


def test_the_other_addresses_take_the_session_of_the_caller(clinic):
    free, bound = clinic.guest(), clinic.guest(session="visit 7")
    chat = {"model": "m", "messages": [{"role": "user", "content": "What is the diagnosis?"}]}
    clinic.upstream.will(answer("An allergy."))
    for session, is_found in (("visit 7", True), ("visit 8", False)):
        got = clinic.post("/mem0/search", {"query": "x", "filters": {"user_id": "ann"}}, free, session, by=SESSION)
        assert got.is_success is is_found
        got = clinic.post("/v1/chat/completions", chat, free, session, by=SESSION, user="ann")
        assert (got.headers.get("x-memoryos-status") == "used") is is_found
    assert SESSION.lower() not in {name.lower() for name in clinic.upstream.last.headers}
    for path in ("/mem0/search", "/v1/chat/completions"):
        assert clinic.post(path, chat, bound, "visit 8", by=SESSION).json()["detail"] == NOT_ITS_OWN
    with serving(clinic.served.store, partial(mcp_app, default=Scope("ann"))) as mcp:
        address = f"{mcp.url}{PATH}?user=ann"
        with over_http(address, free, X_MemoryOS_Caller_Session="visit 7") as client:
            assert "allergy" in client.text("search", query="diagnosis")
        with over_http(address, free, X_MemoryOS_Session="visit 7") as client:  # that of the memory
            assert "no policy permits it" in client.refused("search", query="diagnosis")


def test_a_guest_reads_by_command_in_the_session_of_a_visit(clinic):
    chief = clinic.served.store.keys.create("chief", roles=["administrator"], actions=["administer"]).key
    guest = ("keys", "create", "mia", "--role", "guest", "--action", "read")
    _, free = clinic.run(*guest, KEY=chief)
    code, bound = clinic.run(*guest, "--session", "visit 7", KEY=chief)
    assert (code, free["session"], bound["session"]) == (0, None, "visit 7")
    _, new = clinic.run("keys", "rotate", bound["id"], KEY=chief)
    _, listed = clinic.run("keys", "list", KEY=chief)
    assert [one["session"] for one in listed["keys"] if one["id"] == new["id"]] == ["visit 7"]
    ask = partial(clinic.run, KEY=free["key"])
    search = ("search", "diagnosis", "--user", "ann")
    assert ask(*search, CALLER_SESSION="探视")[0] == 0
    assert ask("--caller-session", "visit 7", *search, CALLER_SESSION="visit 8")[0] == 0
    for told in ((), ("--caller-session", "visit 8")):
        code, found = ask(*told, *search)
        assert (code, found["error"]["message"]) == (5, AWAY[1])
    assert ask(*search, "--session", "visit 7")[0] == 5  # the session of the memory
    assert clinic.run(*search, KEY=new["key"])[0] == 0
    for command in (search, ("verify",)):
        code, found = clinic.run("--caller-session", "visit 8", *command, KEY=new["key"])
        assert (code, found["error"]["message"]) == (5, NOT_ITS_OWN)


def test_the_treating_doctor_reads_by_command_with_a_purpose_of_the_key(clinic):
    chief = clinic.served.store.keys.create("chief", roles=["administrator"], actions=["administer"]).key
    doctor = ("keys", "create", "lee", "--role", "doctor", "--action", "read", "--application", "ward")
    code, made = clinic.run(*doctor, "--purpose", "treatment", "--purpose", "治疗", KEY=chief)
    assert (code, made["purposes"], made["application"]) == (0, ["treatment", "治疗"], "ward")
    _, made = clinic.run("keys", "rotate", made["id"], KEY=chief)
    _, listed = clinic.run("keys", "list", KEY=chief)
    assert [one["purposes"] for one in listed["keys"] if one["id"] == made["id"]] == [["treatment", "治疗"]]
    ask = partial(clinic.run, KEY=made["key"])
    search = ("search", "diagnosis", "--user", "ann")
    assert [ask(*search, PURPOSE="治疗")[0], ask("--purpose", "treatment", *search, PURPOSE="research")[0]] == [0, 0]
    code, told = ask(*search)
    assert (code, told["error"]["message"]) == (5, DENIED[1])
    told = "the key does not have 'research'. State treatment, 治疗, or create a key that has it"
    for command in (search, ("keys", "list"), ("verify",), ("governance", "explain", "X", "--caller", "lee")):
        code, found = ask("--purpose", "research", *command)
        assert (code, found["error"]["message"]) == (5, f"purpose: {told}")
    code, found = ask("--application", "lab", *search)
    assert (code, found["error"]["message"].partition(" ")[0]) == (5, "application:")
    clinic.run("keys", "revoke", made["id"], KEY=chief)
    assert ask("--purpose", "treatment", *search)[1]["error"]["message"] == "the key is not valid"


@pytest.mark.long
def test_an_mcp_client_reads_with_the_purpose_of_the_option(clinic):
    known = {"DB": "clinic.db", "EMBEDDER": "hashing", "POLICIES": "clinic.cedar", "KEY": clinic.key(), "USER": "ann"}
    more = {f"MEMORYOS_{name}": value for name, value in {**known, "PURPOSE": "billing"}.items()}
    with over_stdio(clinic.folder, before=("--purpose", "treatment"), **more) as client:
        assert "allergy" in client.text("search", query="diagnosis")


def test_who_has_no_key_states_what_it_likes(clinic, tmp_path):
    search = ("search", "diagnosis", "--user", "bob")
    assert clinic.run(*search)[0] == 5
    assert clinic.run("--purpose", "治疗", *search)[0] == 5
    assert clinic.run("--purpose", "治疗", *search, APPLICATION="ward")[0] == 0
    own = load_settings(embedder="hashing", policies=clinic.folder / "clinic.cedar")
    with (
        MemoryOS.open(tmp_path / "own.db", settings=own, embedder=Hashing(), application="ward") as store,
        serving(store) as served,
    ):
        told = [[("X-MemoryOS-Purpose", one.encode())] for one in ("治疗", "billing")]
        asked = [served.ask("POST", "/search", {"query": "x"}, user="bob", headers=one) for one in (*told, [])]
        assert [one.status_code for one in asked] == [200, 403, 403]
