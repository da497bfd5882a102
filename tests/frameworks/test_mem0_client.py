"""mem0's own clients, `MemoryClient` and `AsyncMemoryClient`, on `memoryos serve`: every method that they have.

`make install` installs mem0ai without what it needs (3 MB in the place of 225). The clients need httpx and requests,
which are there; of the vector database and the telemetry of mem0's library only the names must be importable.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import warnings
from importlib.util import find_spec
from types import ModuleType

import httpx
import pytest

from memoryos import MemoryOS
from served import serving

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning:mem0")]

KEY = "m0-anything"
TALK = [{"role": "user", "content": "我搬到里斯本了。"}, {"role": "assistant", "content": "How lovely!"}]
ANN = {"user_id": "ann/ä"}
BEYOND = {
    "qdrant_client": "QdrantClient",
    "posthog": "Posthog",
}  #: what mem0's library imports, and its clients never use
STYLES = ["MemoryClient", "AsyncMemoryClient"]


class Unwanted:
    """What no client may make: a vector database of its own, or a sender of telemetry."""

    def __init__(self, *given, **named):
        raise AssertionError(f"a client of mem0 made {type(self).__name__}({given}, {named})")


@pytest.fixture(scope="module")
def mem0(tmp_path_factory):
    """The package, with telemetry off; nothing of it stays loaded."""
    if find_spec("mem0") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("There is no mem0ai: run `make install`")
    before = {*sys.modules}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("MEM0_TELEMETRY", "False")
        patch.setenv("MEM0_DIR", str(tmp_path_factory.mktemp("mem0")))
        patch.setenv("NO_PROXY", "127.0.0.1")
        for name, kind in BEYOND.items():
            module = ModuleType(name)
            setattr(module, kind, type(kind, (Unwanted,), {}))
            patch.setitem(sys.modules, name, module)
        import mem0

        yield mem0
    for name in {*sys.modules} - before:
        if name.split(".")[0] == "mem0":
            del sys.modules[name]


@pytest.fixture
def served(tmp_path):
    with MemoryOS.open(tmp_path / "a.db") as store, serving(store) as running:
        yield running


class Asked:
    """A client whose methods are called alike, whether they are coroutines or not."""

    def __init__(self, made, served, key=KEY):
        self.runner = asyncio.Runner()
        self.client = made(api_key=key, host=f"{served.url}/mem0")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        inner = getattr(self.client, "async_client", None)
        if inner is None:
            self.client.client.close()
        else:
            self.runner.run(inner.aclose())
        self.runner.close()

    def __call__(self, name, *given, **named):
        owner, _, method = name.rpartition(".")
        result = getattr(getattr(self.client, owner) if owner else self.client, method)(*given, **named)
        return self.runner.run(result) if inspect.iscoroutine(result) else result

    def texts(self, name, *given, **named):
        return [one["memory"] for one in self(name, *given, **named)["results"]]


@pytest.fixture(params=STYLES)
def ask(request, mem0, served):
    with Asked(getattr(mem0, request.param), served) as asked:
        yield asked


def test_what_is_added_is_listed_searched_and_read(ask):
    said = ask("add", TALK, **ANN, metadata={"topic": "home"}, timestamp=1_780_000_000, infer=False)["results"]
    assert [(one["event"], one["memory"]) for one in said] == [("ADD", one["content"]) for one in TALK]
    ask("add", "I keep bees.", filters=ANN, infer=False, expiration_date="2999-12-31")
    ask("add", "I keep notes.", agent_id="coder", infer=False)
    assert ask.texts("get_all", filters=ANN) == ["I keep bees.", "How lovely!", "我搬到里斯本了。"]
    page = ask("get_all", filters=ANN, page=2, page_size=2)
    assert (page["count"], page["next"], page["previous"]) == (3, None, "?page=1&page_size=2")
    assert [one["memory"] for one in page["results"]] == ["我搬到里斯本了。"]
    at_home = {"AND": [ANN, {"topic": "home"}]}
    (found,) = ask("search", "里斯本", filters=at_home, top_k=1, threshold=0.1)["results"]
    assert (found["id"], found["metadata"], found["user_id"]) == (said[0]["id"], {"topic": "home"}, ANN["user_id"])
    assert 0.1 <= found["score"] <= 1
    assert ask("get", found["id"])["memory"] == "我搬到里斯本了。"
    assert {(one["type"], one["name"]) for one in ask("users")["results"]} == {("user", "ann/ä"), ("agent", "coder")}


def test_an_exchange_is_read_for_facts(ask, served):
    ask("add", [{"role": "user", "content": "I moved to Lisbon in May."}], user_id="ann")
    served.store.wait()
    assert "User moved to Lisbon in May." in ask.texts("search", "Where does Ann live?", filters={"user_id": "ann"})


def test_what_is_changed_has_a_history(ask):
    first, second = ask("add", TALK, **ANN, infer=False)["results"]
    ask("update", first["id"], text="I keep wasps.", metadata={"topic": "garden"})
    ask("batch_update", [{"memory_id": second["id"], "text": "How nice!"}])
    assert ask("get", first["id"])["metadata"] == {"topic": "garden"}
    assert ask("get", second["id"])["memory"] == "How nice!"
    changes = [(one["event"], one["old_memory"], one["new_memory"]) for one in ask("history", first["id"])]
    assert changes == [("ADD", None, "我搬到里斯本了。"), ("UPDATE", "我搬到里斯本了。", "I keep wasps.")]


def test_what_is_deleted_is_not_found(ask, mem0):
    first, second, third = (
        ask("add", text, **ANN, infer=False)["results"][0] for text in ("I row.", "I sail.", "I ski.")
    )
    ask("delete", first["id"])
    ask("batch_delete", [{"memory_id": second["id"]}])
    with pytest.raises(sys.modules["mem0.exceptions"].MemoryNotFoundError, match="there is no memory"):
        ask("get", first["id"])
    assert ask.texts("get_all", filters=ANN) == ["I ski."]
    ask("delete_all", **ANN)
    assert ask.texts("get_all", filters=ANN) == []
    with pytest.raises(sys.modules["mem0.exceptions"].MemoryNotFoundError):
        ask("history", third["id"])
    for owner in ({"user_id": "bob"}, {"agent_id": "a/b"}, {"run_id": "r1"}):
        ask("add", "I ride.", **owner, infer=False)
    ask("delete_users", agent_id="a/b")
    assert {one["type"] for one in ask("users")["results"]} == {"user", "run"}
    assert ask("reset")["message"].startswith("Client reset successful")
    assert ask("users")["results"] == []


#: The methods that the tests above call.
SERVED = {
    *("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "users", "delete_users"),
    *("batch_update", "batch_delete", "reset"),
}
#: The methods for what this library does not have, with what each is about.
ABSENT = {
    "feedback": ("feedback", ["an-id", "POSITIVE"]),
    "create_memory_export": ("exports", ["{}"]),
    "get_memory_export": ("exports", []),
    "get_summary": ("summaries", []),
    "get_profile": ("profiles", ["ann"]),
    "generate_profile": ("profiles", ["ann"]),
    "get_profile_settings": ("profiles", []),
    "update_profile_settings": ("profiles", [True]),
    "sample_profiles": ("profiles", []),
    "get_profile_job": ("profiles", ["a-job"]),
    "get_project": ("projects", []),
    "update_project": ("projects", [None, "be kind"]),
    "project.get": ("projects", []),
    "project.create": ("projects", ["a-name"]),
    "project.delete": ("projects", []),
    "project.get_members": ("projects", []),
    "get_webhooks": ("webhooks", ["a-project"]),
    "create_webhook": ("webhooks", ["https://example.org", "a-name", "a-project", ["memory_add"]]),
    "update_webhook": ("webhooks", [1, "a-name"]),
    "delete_webhook": ("webhooks", [1]),
}


@pytest.fixture(scope="module", params=STYLES)
def refusing(request, mem0, tmp_path_factory):
    """A client on a server that no test changes."""
    place = tmp_path_factory.mktemp("refusing") / "a.db"
    with (
        MemoryOS.open(place) as store,
        serving(store) as running,
        Asked(getattr(mem0, request.param), running) as asked,
    ):
        yield asked


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_not_served_is_refused_by_its_name(refusing, name):
    about, given = ABSENT[name]
    with pytest.raises(sys.modules["mem0.exceptions"].MemoryError, match=f"has no {about}") as refused:
        refusing(name, *given)
    assert refused.value.error_code == "HTTP_501"


def test_there_is_no_other_method(refusing):
    methods = {name for name, _ in inspect.getmembers(refusing.client, callable) if not name.startswith("_")}
    assert methods == SERVED | {name for name in ABSENT if "." not in name} | {
        "chat"
    }  # the client refuses `chat` itself


@pytest.mark.parametrize(
    ("method", "given", "named", "field"),
    [
        ("search", ["x"], {"filters": ANN, "latest_only": True}, "latest_only"),
        ("search", ["x"], {}, "filters"),
        ("add", ["x"], {"user_id": "ann", "custom_categories": [{}]}, "custom_categories"),
        ("get_all", [], {"filters": {"user_id": "ann", "topic": {"gt": 3}}}, "filters.topic"),
        ("delete", ["x"], {"delete_linked": True}, "delete_linked"),
        ("update", ["x"], {"expiration_date": "2999-12-31"}, "expiration_date"),
        ("delete_users", [], {"app_id": "an-app"}, "type"),
    ],
)
def test_what_has_no_meaning_here_is_refused_by_its_name(refusing, method, given, named, field):
    with pytest.raises(sys.modules["mem0.exceptions"].ValidationError, match=f"{field}: "):
        refusing(method, *given, **named)


@pytest.mark.parametrize("style", STYLES)
def test_a_client_is_admitted_by_its_key(mem0, served, style):
    store, made = served.store, getattr(mem0, style)
    acme = store.keys.create("web", tenant="acme").key
    other = store.keys.create("web", tenant="other").key
    with httpx.Client() as http, pytest.raises(ValueError, match="key"):  # the client would leave its own one open
        made(api_key="m0-unknown", host=f"{served.url}/mem0", client=http if style == "MemoryClient" else None)
    with Asked(made, served, acme) as ours, Asked(made, served, other) as theirs:
        ours("add", "I row.", user_id="ann", infer=False)
        assert ours.texts("get_all", filters={"user_id": "ann"}) == ["I row."]
        assert theirs.texts("get_all", filters={"user_id": "ann"}) == []
