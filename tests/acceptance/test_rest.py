"""The memory over HTTP: what each address does, through a real socket, on both stores."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from threading import Event

import jsonschema
import pytest

from generation.scripted_model import Reply, says, scripted_model
from logged_forms import GROUNDS, log_forms
from memoryos import MemoryOS, errors, load_settings
from memoryos.interface.added_doors import added_doors
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.problems import STATUSES, document_of, status_of
from memoryos.interface.rest.rest_app import rest_app
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.rest_server import RestServer
from memoryos.interface.rest.routes import ROUTES
from memoryos.interface.rest.streamed_routes import STREAMED
from memoryos.models.hashing import Hashing
from served import PATIENCE, SETTINGS, opened, serving


@pytest.fixture
def api(place):
    with opened(place) as store, serving(store) as served:
        yield served


@pytest.fixture
def page(api):
    """The id of a page of Ann's."""
    (made,) = api("POST", "/memories", {"query": "I keep bees.", "response": "How many hives?"})["ids"]
    return made


def test_what_is_added_is_found_corrected_and_deleted(api, page):
    memory = api.store.memory("ann")
    assert api("GET", f"/memories/{page}") == memory.get(page).to_dict()
    assert api("POST", "/search", {"query": "bees"})["hits"][0]["id"] == page
    assert "I keep bees." in api("POST", "/context", {"query": "bees", "tokens": 200})["text"]
    changed = api("PATCH", f"/memories/{page}", {"text": "I keep wasps.", "expected_version": 1})
    assert changed["version"] == 2
    stale = api.ask("PATCH", f"/memories/{page}", {"text": "I keep ants.", "expected_version": 1})
    assert (stale.status_code, stale.json()["expected"], stale.json()["stored"]) == (412, 1, 2)
    assert api("PATCH", f"/memories/{page}", {"tags": ["wasps"]})["tags"] == ["wasps"]
    labels = {"sensitivity": ["home"], "access": "shared", "ttl": 3600, "reason": "moved in"}
    told = api("PATCH", f"/memories/{page}/labels", labels)
    assert (told["access"], told["sensitivity"], told["expires_at"] is None) == ("shared", ["home"], False)
    (known,) = api("GET", f"/memories/{page}/provenance")["labels"][-1:]
    assert set(known["added"]) == {"sensitivity:home", "access:shared"}
    assert api("PATCH", f"/memories/{page}/labels", {"access": "private", "endless": True})["expires_at"] is None
    assert api.ask("PATCH", f"/memories/{page}/labels", {"access": "public"}).status_code == 422
    assert api.ask("PATCH", f"/memories/{page}/labels", {"access": "shared", "expected_version": 1}).status_code == 412
    versions = api("GET", f"/memories/{page}/history")["items"][:2]
    assert [("bees" in one["text"], "wasps" in one["text"]) for one in versions] == [(True, False), (False, True)]
    gone = api.ask("DELETE", f"/memories/{page}")
    assert (gone.status_code, gone.content) == (204, b"")
    assert api.ask("GET", f"/memories/{page}").status_code == 404


def test_what_the_scheduler_decided_is_told_with_its_reason_and_numbers(api, page):
    memory = api.store.memory("ann")
    api("POST", "/schedule/decide", {"query": "bees"})
    log_forms(memory, [page], 1)
    (entry,) = api("GET", "/schedule/log")["items"]
    assert entry == memory.schedule.log()[0].to_dict()
    (built,) = entry["forms"]
    assert (built["before"], built["after"], built["reason"], built["sources"]) == ("text", "kv", "paid", [page])
    assert (built["grounds"], entry["mode"]) == (GROUNDS.to_dict(), {"mode": "exact", "reason": "one_state"})
    assert api("POST", "/schedule/explain", {"query": "bees"})["forms"] == [built]
    assert api("GET", "/schedule/log", user="ben")["items"] == []


@pytest.mark.once
def test_if_match_names_the_version_that_is_changed(api, page):
    def ask(told, verb="PATCH", **more):
        body = {"text": "I keep wasps.", **more} if verb == "PATCH" else None
        answer = api.ask(verb, f"/memories/{page}", body, headers=[("If-Match", one) for one in told])
        return answer.status_code

    assert ask(['"2"']) == 412
    wrong = (["1"], ["*"], ['W/"1"'], ['"1", "2"'], ['"1"', '"2"'], ['"x"'], [""], ['"' + "1" * 99 + '"'])
    assert [ask(told) for told in wrong] == [400] * len(wrong)
    assert [ask(['"1"'], expected_version=2), ask(['"1"'], "DELETE")] == [400, 400]
    assert api("GET", f"/memories/{page}")["version"] == 1
    assert [ask(['"1"']), ask(['"2"'], expected_version=2), ask(['"1"'])] == [200, 200, 412]


def test_messages_are_added_as_a_chat_has_them(api):
    chat = [{"role": "user", "content": "My name is Ann."}, {"role": "assistant", "content": "Hello Ann!"}]
    made = api.ask("POST", "/memories", {"query": chat, "tags": ["hello"]}, session="s1")
    assert made.status_code == 201
    (one,) = api("GET", "/pages", session="s1")["items"]
    assert ([one["id"]], one["tags"]) == (made.json()["ids"], ["hello"])
    assert api("GET", "/pages/count", session="s2") == {"count": 0}


def test_a_list_goes_on_at_its_cursor(api):
    for number in range(3):
        api("POST", "/memories", {"query": f"Note {number}"})
    first = api("GET", "/pages", limit=2)
    rest = api("GET", "/pages", limit=2, cursor=first["cursor"])
    assert [len(first["items"]), len(rest["items"]), rest["cursor"]] == [2, 1, None]
    refused = api.ask("GET", "/pages", cursor="nonsense")
    assert (refused.status_code, refused.json()["field"]) == (422, "cursor")


def test_filters_of_a_list_are_json_in_the_query(api):
    api("POST", "/memories", {"query": "A house.", "metadata": {"project": "apollo"}})
    api("POST", "/memories", {"query": "A boat."})
    wanted = json.dumps({"metadata": {"project": "apollo"}})
    assert api("GET", "/pages/count", filters=wanted) == {"count": 1}
    assert api.ask("GET", "/pages", filters="{").json()["field"] == "filters"


def test_facts_and_the_profile(api):
    made = api("POST", "/facts", {"text": "The user keeps bees."})
    assert [one["id"] for one in api("GET", "/facts")["items"]] == [made["id"]]
    assert "id" in api("PUT", "/profile/name", {"value": "Ann"})
    assert api("GET", "/profile")["user"]["profile"]["name"] == "Ann"


def test_a_frozen_memory_is_not_changed_until_it_is_thawed(api, page):
    assert api("POST", f"/memories/{page}/freeze")["state"] == "frozen"  # without a body
    refused = api.ask("PATCH", f"/memories/{page}", {"text": "I keep ants."})
    assert (refused.status_code, refused.json()["title"]) == (409, "CubeProtected")
    api("POST", f"/memories/{page}/thaw", {"reason": "reviewed"})
    assert api("PATCH", f"/memories/{page}", {"text": "I keep ants."})["version"] == 2
    assert api("GET", f"/memories/{page}/transitions")["items"][-1]["cause"] == "reviewed"


def test_rules_that_archive(api):
    rule = {"name": "a/b", "unused": 3600}
    made = api.ask("POST", "/archiving", rule)
    assert (made.status_code, made.json()["name"]) == (201, "a/b")
    assert [one["name"] for one in api("GET", "/archiving")["items"]] == ["a/b"]
    assert api.ask("DELETE", "/archiving/a/b").status_code == 204
    assert api("GET", "/archiving")["items"] == []


def test_rules_for_a_whole_tenant(api, page):
    rule = {"name": "a/b", "ttl": 3600, "namespace": ["private"]}
    made = api.ask("POST", "/tenant-retention", rule, user=None)
    assert (made.status_code, made.json()["namespace"]) == (201, ["private"])
    assert [one["name"] for one in api("GET", "/tenant-retention", user=None)["items"]] == ["a/b"]
    assert [one["tenant"] for one in api("GET", "/retention")["items"]] == ["default"]
    api.ask("POST", "/wait", {})
    assert api("GET", f"/memories/{page}")["expires_at"] is not None
    assert api.ask("DELETE", "/tenant-retention/a/b", user=None).status_code == 204
    assert api("GET", "/tenant-retention", user=None)["items"] == []


def test_an_export_is_loaded_by_another_store(api, page, tmp_path):
    with api.http.stream("GET", "/v1/export", params={"user": "ann"}) as answer:
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        lines = list(answer.iter_lines())
    (tmp_path / "ann.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    with MemoryOS.open(tmp_path / "other.db", settings=SETTINGS, embedder=Hashing()) as other:
        other.admin.load(tmp_path / "ann.jsonl")
        assert other.memory("ann").get(page).text == api.store.memory("ann").get(page).text


def test_a_document_is_stored_in_parts(api):
    body = {"text": "蜜蜂是昆虫。\n\n" * 20_000, "title": "Bees", "tags": ["book"]}
    header = {"Idempotency-Key": "book-1"}
    first, second = (api.ask("POST", "/documents", body, headers=header).json()["ids"] for _ in range(2))
    assert first == second
    assert len(first) == 2
    assert api("GET", f"/memories/{first[0]}")["title"] == "Bees"
    wrong = api.ask("POST", "/documents", {"text": "Bees."})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "title")
    assert api.ask("POST", "/documents", {"text": ["a", "b"], "title": "Bees"}).status_code == 422


def test_a_pipeline_is_run_by_its_name(api, page):
    assert "tidy-old" in [one["name"] for one in api("GET", "/pipelines")["items"]]
    assert api("GET", "/pipelines/tidy-old")["steps"][0] == {"list": {"most": "{most}", "until": "{until}"}}
    body = {"parameters": {"until": "2999-01-01"}}
    dry = api("POST", "/pipelines/tidy-old/run", {**body, "dry_run": True})
    assert (dry["outcome"], [one["memory_id"] for one in dry["steps"][1]["changes"]]) == ("rehearsed", [page])
    assert api("GET", f"/memories/{page}")["state"] == "generated"
    once = {"Idempotency-Key": "tidy-1"}
    first, second = (api.ask("POST", "/pipelines/tidy-old/run", body, headers=once).json() for _ in range(2))
    assert first["id"] == second["id"]
    assert first["outcome"] == "committed"
    assert api("GET", f"/memories/{page}")["state"] == "archived"


@pytest.mark.once
def test_a_pipeline_over_http_is_a_name_and_no_file(api, tmp_path):
    (tmp_path / "own.json").write_text('{"name": "own", "steps": [{"list": {}}]}')
    for name in ("own", f"{tmp_path}/own.json", "..%2Fown", "own.json"):
        assert api.ask("POST", f"/pipelines/{name}/run", {}).status_code == 404
    told = api.ask("POST", "/pipelines/tidy-old/run", {"pipeline": {"name": "own"}})
    assert told.status_code == 422
    told = api.ask("POST", "/pipelines/tidy-old/run", {}).json()
    assert (told["status"], told["field"]) == (422, "parameters.until")
    told = api.ask("POST", "/pipelines/respond/run", {"query": "What do I keep?"}).json()
    assert told["step"] == "step 3 (generate)"


def test_an_owner_is_forgotten(api, page):
    done = api("POST", "/forget")
    assert (done["memories"]["page"], done["left"]) == (1, {})
    assert api("GET", "/users", user=None)["items"] == []


def test_nobody_is_forgotten_twice_or_unknown(api, page):
    unknown = [api.ask("POST", "/forget", **whose) for whose in ({"user": "bob"}, {"session": "s9"}, {"agent": "x"})]
    assert [(one.status_code, one.json()["title"]) for one in unknown] == [(404, "NotFound")] * 3
    assert [api.ask("POST", "/forget").status_code for _ in range(2)] == [200, 404]


def test_jobs_usage_events_and_users(api, page):
    assert api.ask("POST", "/jobs/run", {"timeout": 60}).status_code == 204
    assert {one["state"] for one in api("GET", "/jobs", states=["done", "queued"])["items"]} <= {"done", "queued"}
    assert api("GET", "/usage")["items"] == []
    assert page in {one["cube_id"] for one in api("GET", "/events", limit=10)["items"]}
    assert api("GET", "/users/ann", user=None)["memories"]["page"] == 1
    assert api.ask("GET", "/users/bob", user=None).status_code == 404


@pytest.mark.once
def test_an_attachment_is_downloaded_and_not_shown(api):
    url = "data:image/png;base64,iVBORw0KGgo="
    content = [{"type": "text", "text": "Look!"}, {"type": "image_url", "image_url": {"url": url}}]
    (made,) = api("POST", "/memories", {"query": [{"role": "user", "content": content}]})["ids"]
    (file,) = api("GET", f"/pages/{made}/attachments")["items"]
    answer = api.ask("GET", f"/pages/{made}/attachments/{file['id']}")
    assert (answer.content, answer.headers["content-type"]) == (b"\x89PNG\r\n\x1a\n", "image/png")
    assert answer.headers["content-disposition"] == "attachment"


def test_a_repeated_add_stores_once(api):
    said, header = {"query": "Once."}, {"Idempotency-Key": "call-1"}
    first, second = (api.ask("POST", "/memories", said, headers=header).json() for _ in range(2))
    assert first == second
    assert api("GET", "/pages/count") == {"count": 1}
    other = api.ask("POST", "/memories", {"query": "Another."}, headers=header)
    assert (other.status_code, other.json()["title"]) == (422, "KeyReused")


@pytest.mark.once
def test_a_repeated_change_is_made_once(api, page):
    change, header = {"text": "And ants.", "mode": "append"}, {"Idempotency-Key": "call-2"}
    answers = [api.ask("PATCH", f"/memories/{page}", change, headers=header).json() for _ in range(2)]
    assert [one["version"] for one in answers] == [2, 2]
    assert api("GET", f"/memories/{page}")["version"] == 2
    other = api.ask("PATCH", f"/memories/{page}", {"text": "Else."}, headers=header)
    assert (other.status_code, other.json()["title"]) == (422, "KeyReused")
    assert api("PATCH", f"/memories/{page}", {"text": "Else."})["version"] == 3


@pytest.mark.once
def test_a_change_that_failed_is_tried_again_with_its_key(api, page):
    header = {"Idempotency-Key": "call-3"}
    api("POST", f"/memories/{page}/freeze")
    change = {"text": "I keep ants."}
    assert api.ask("PATCH", f"/memories/{page}", change, headers=header).status_code == 409
    api("POST", f"/memories/{page}/thaw")
    assert api.ask("PATCH", f"/memories/{page}", change, headers=header).status_code == 200


WRONG = [
    ("POST", "/search", {"query": ""}, 422, "query"),
    ("POST", "/search", {}, 422, "query"),
    ("POST", "/search", {"query": "x", "limit": 3}, 422, "limit"),
    ("POST", "/search", {"query": "x", "pages": "many"}, 422, "pages"),
    ("POST", "/search", {"query": "x", "tiers": ["attic"]}, 422, "tiers.0"),
    ("POST", "/search", None, 422, "body"),
    ("GET", "/pages?users=bob", None, 422, "users"),
    ("GET", "/memories/nowhere", None, 404, None),
    ("GET", "/nowhere", None, 404, None),
    ("PUT", "/search", {}, 405, None),
]


@pytest.mark.once
def test_a_wrong_request_is_a_problem_that_names_the_field(api):
    for verb, path, body, status, field in WRONG:
        answer = api.http.request(verb, f"/v1{path}", params={"user": "ann"} if "?" not in path else None, json=body)
        told = answer.json()
        shown = answer.status_code, told["status"], told.get("field")
        assert shown == (status, status, field), (verb, path, body)
        assert answer.headers["content-type"] == "application/problem+json"
        assert told["type"] == f"urn:memoryos:problem:{told['title']}"


MISPLACED = [
    ("POST", "/forget", {"session": "s1"}, "session", "Put session into the address"),
    ("POST", "/forget", {"why": 1, "session": "s1"}, "session", "Put session into the address"),
    ("POST", "/forget", {"why": 1}, "why", "Send no body"),
    ("POST", "/forget", {"\ud800": 1}, "?", "Send no body"),
    ("POST", "/forget", ["s1"], "body", "Send no body"),
    ("DELETE", "/memories/{page}", {"expected_version": 7}, "expected_version", "Send no body"),
    ("GET", "/export", {"agent": "x"}, "agent", "Put agent into the address"),
    ("POST", "/memories", {"query": "x", "session": "s1"}, "session", "Put session into the address"),
    ("POST", "/search?session=s1", {"query": "bees"}, "session", "Put session into the body"),
    ("POST", "/search", {"query": "x", "metadata": {"a": 1}}, "metadata", 'Pass it in filters: {"metadata": ...}'),
    ("GET", "/pages?metadata=a", None, "metadata", 'Pass it in filters: {"metadata": ...}'),
    ("POST", "/forget?session=s1&session=s2", None, "session", "Pass it once"),
    ("GET", "/pages?limit=1&limit=2", None, "limit", "Pass it once"),
]


@pytest.mark.once
def test_what_is_in_the_wrong_place_is_refused(api, page):
    for verb, path, body, field, fix in MISPLACED:
        where = f"/v1{path.format(page=page)}{'&' if '?' in path else '?'}user=ann"
        content = None if body is None else json.dumps(body)
        answer = api.http.request(verb, where, content=content, headers={"Content-Type": "application/json"})
        told = answer.status_code, answer.json().get("field"), answer.json().get("fix")
        assert told == (422, field, fix), (verb, path, body)
        assert api("GET", "/pages/count") == {"count": 1}


@pytest.mark.once
def test_an_empty_body_is_as_good_as_none_and_a_list_may_have_several(api, page):
    assert api.ask("GET", "/jobs", states=["done", "queued"]).status_code == 200
    assert api.ask("POST", "/forget", {}).status_code == 200
    refused = api.http.post("/v1/forget?user=ann", content=b"{", headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["title"]) == (400, "Unreadable")


@pytest.mark.once
def test_a_missing_user_is_told(api):
    assert api.ask("GET", "/pages", user=None).json()["field"] == "user"


@pytest.mark.parametrize("kind", [one for one in vars(errors).values() if isinstance(one, type)], ids=str)
def test_every_error_has_a_status(kind):
    if issubclass(kind, errors.MemoryOSError):
        nearest = next(listed for listed, _ in STATUSES if issubclass(kind, listed))
        assert not any(issubclass(other, nearest) and other is not nearest and issubclass(kind, other)
                       for other, _ in STATUSES)  # fmt: skip
        assert 400 <= next(status for listed, status in STATUSES if issubclass(kind, listed)) <= 599


def test_the_failure_of_a_store_does_not_tell_its_place():
    error = errors.StoreUnreachable("postgresql://ann:secret@db/memory does not answer")
    assert status_of(error) == 503
    assert "secret" not in json.dumps(document_of(error))


@pytest.mark.once
def test_the_server_tells_how_it_is(api, page):
    assert api.http.get("/health").json() == api.http.get("/ready").json() == {"status": "ok"}
    told = api.http.get("/metrics").text
    assert 'memoryos_requests_total{method="POST",route="/v1/memories",status="201"} 1.0' in told
    assert page not in told


@pytest.mark.once
def test_the_numbers_are_refused_as_described(api, document):
    answer = api.http.get("/metrics", headers={"X-MemoryOS-Caller-Session": "s" * 257})
    assert answer.status_code == 422
    assert {"401", "403", "422", "429"} <= document["paths"]["/metrics"]["get"]["responses"].keys()


# The description


@pytest.fixture(scope="module")
def document():
    with MemoryOS.open(":memory:", settings=SETTINGS, embedder=Hashing()) as store:
        return rest_app(store).openapi()


def test_the_description_has_every_route_with_its_problems(document):
    operations = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    for route in (*ROUTES, *STREAMED):
        told = operations[route.operation.replace(".", "_").replace(":", "_")]
        assert told["summary"], route.operation
        assert told["security"] == [{"HTTPBearer": []}]
        assert {"401", "403", "404", "422", "429"} <= told["responses"].keys()
    for status, answer in document["components"]["responses"].items():
        (kind,) = answer["content"].items()
        assert (kind[0], f"Problem{kind[1]['example']['status']}") == ("application/problem+json", status)


def answers_of(document):
    """Each answer of success that has a body."""
    for address, path in document["paths"].items():
        for verb, operation in path.items():
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    yield f"{verb} {address}", answer.get("content", {})


def test_each_answer_has_an_example_of_its_schema():
    settings = SETTINGS.model_copy(update={"upstream": "http://127.0.0.1:9/v1"})
    with MemoryOS.open(":memory:", settings=settings, embedder=Hashing()) as store:
        document = rest_app(store, added=added_doors(settings)).openapi()
    shown = [(name, kind, told) for name, content in answers_of(document) for kind, told in content.items()]
    assert [(name, kind) for name, kind, told in shown if "example" not in told] == []
    assert len(shown) > 150
    for _, _, told in shown:
        jsonschema.validate(told["example"], {**told.get("schema", {}), "components": document["components"]})
    assert {"/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/models"} <= document["paths"].keys()


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        *(
            ("get", one)
            for one in ("/stats", "/pages", "/profile", "/facts/count", "/memories/{cube_id}", "/pipelines")
        ),
        *(("post", one) for one in ("/search", "/context", "/digest", "/memories")),
    ],
)
def test_an_answer_has_the_names_of_its_example(api, page, document, verb, path):
    [example] = [
        content["application/json"]["example"] for name, content in answers_of(document) if name == f"{verb} /v1{path}"
    ]
    body = {"/search": {"query": "bees"}, "/context": {"query": "bees"}, "/memories": {"query": "I keep hens."}}
    real = api(verb.upper(), path.replace("{cube_id}", page), body.get(path, {}) if verb == "post" else None)
    assert set(real) <= set(example)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_the_example_of_a_route_is_one_that_it_takes(route):
    parameters = Parameters.of(route)
    needs = parameters.body and any(one.is_required() for one in parameters.body.model_fields.values())
    assert bool(route.example) or not needs, "a body needs an example"
    if route.example:
        model = parameters.body or parameters.query
        whose = {} if parameters.body or route.is_of_store else {"user": "ann"}
        model.model_validate({**whose, **route.example})


# Answers of a model


@pytest.fixture
def talking(tmp_path):
    with scripted_model() as model:
        settings = load_settings(embedder="hashing", llm_model="some-model", llm_api_key="k", llm_base_url=model.url)
        store = MemoryOS.open(tmp_path / "memory.db", settings=settings, embedder=Hashing())
        with closing(store), serving(store, recheck_seconds=0.0) as served:
            yield served, model


def events(answer):
    """The events of an answer: name and data."""
    blocks = "".join(answer.iter_text()).strip().split("\n\n")
    parts = [block.split("\n") for block in blocks]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


def streamed(api, key=None):
    headers = {"Accept": "text/event-stream"} | ({"Authorization": f"Bearer {key}"} if key else {})
    return api.http.stream("POST", "/v1/respond", params={"user": "ann"}, json={"query": "Hi!"}, headers=headers)


@pytest.mark.once
def test_an_answer_is_one_document_or_events(talking):
    api, model = talking
    model.will(says("Hello Ann."), says("Hello ", "again."))
    assert api("POST", "/respond", {"query": "Hi!"})["text"] == "Hello Ann."
    with streamed(api) as answer:
        told = events(answer)
    assert "".join(data["text"] for name, data in told if name == "piece") == "Hello again."
    name, whole = told[-1]
    assert (name, whole["text"], whole["mark"]["by"]) == ("end", "Hello again.", "ann")
    api.store.wait()
    assert api("GET", "/pages/count") == {"count": 2}


@pytest.mark.once
def test_a_model_that_fails_is_a_problem_before_the_stream_and_an_event_within(talking):
    api, model = talking
    model.will(Reply(status=400, body="no"))
    with streamed(api) as answer:
        assert answer.status_code == 502
    model.will(Reply(("Hello ", "An"), resets_after=1))
    with streamed(api) as answer:
        told = events(answer)
    assert (told[0][0], told[-1][0]) == ("piece", "error")
    assert told[-1][1]["title"] == "ModelUnavailable"
    assert api("GET", "/pages/count") == {"count": 0}


@pytest.mark.once
def test_a_key_that_is_revoked_in_mid_stream_ends_the_answer(talking):
    api, model = talking
    made = api.store.keys.create("web")
    goes_on = Event()

    def pieces():
        yield "Hello "
        assert goes_on.wait(PATIENCE)
        yield "Ann."

    model.will(Reply(pieces()))
    with streamed(api, made.key) as answer:
        assert answer.status_code == 200
        api.store.keys.revoke(made.info.id)
        goes_on.set()
        told = events(answer)
    assert [name for name, _ in told] == ["piece", "error"]
    assert told[-1][1]["title"] == "PermissionDenied"
    api.store.wait()
    assert api.store.memory("ann").pages.count() == 0


@pytest.mark.once
def test_without_a_model_an_answer_is_refused(api):
    refused = api.ask("POST", "/respond", {"query": "Hi!"})
    assert (refused.status_code, refused.json()["title"]) == (501, "ModelNotConfigured")


@pytest.mark.once
def test_no_part_of_an_answer_is_held_back(api):
    """asyncio turns Nagle's algorithm off for sockets that name their protocol: else each answer waits 40 ms."""
    bound = RestServer.bound(api.store, "127.0.0.1", 0, RestLimits())
    with bound.socket:
        assert bound.socket.proto == socket.IPPROTO_TCP


@pytest.mark.once
@pytest.mark.parametrize("path", ["/v1/pages?user=J%FCrgen", "/v1/users/J%FCrgen", "/v1/pages?user=ann&tag=%ff"])
def test_a_name_that_is_not_utf_8_is_refused(api, path):
    """Read as best it can be, each of them would be the name of one and the same user."""
    got = api.http.get(path)
    assert (got.status_code, got.json()["title"]) == (422, "InvalidInput")
    assert api.http.get("/v1/pages?user=ann", headers={"X-MemoryOS-User": "ann"}).status_code == 200
    assert api.http.get("/v1/pages?user=ann", headers=[(b"X-MemoryOS-User", b"J\xfcrgen")]).status_code == 422


@pytest.mark.once
def test_a_wait_that_ends_too_early_says_so(tmp_path):
    settings, may_end = load_settings(embedder="hashing"), Event()

    def hold(scope: object, job: object) -> None:
        may_end.wait(60)

    with closing(MemoryOS.open(tmp_path / "memory.db", settings=settings)) as store, serving(store) as api:
        store.admin.register_job("hold", hold)
        store.memory("ann").jobs.add("hold")
        told = api.ask("POST", "/wait", {"timeout": 0.01})
        may_end.set()
        assert (told.status_code, told.json()["title"]) == (504, "StillRunning")
        assert told.json()["detail"] == errors.StillRunning.__doc__
