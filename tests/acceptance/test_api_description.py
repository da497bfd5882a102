"""What /openapi.json says of requests is what the server takes: `make fuzz` asks much more of it, with Schemathesis."""

from __future__ import annotations

import json
import re
import sys
from contextlib import ExitStack

import pytest

from memoryos import MemoryOS, load_settings
from memoryos.interface.added_doors import added_doors
from memoryos.interface.rest.body_meanings import BODY_MEANINGS
from memoryos.interface.rest.json_kinds import LIMITS
from memoryos.interface.rest.parameter_descriptions import DESCRIPTIONS
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.rest_app import rest_app
from memoryos.interface.rest.routes import ROUTES
from memoryos.interface.rest.streamed_routes import STREAMED
from memoryos.models.hashing import Hashing
from memoryos.nouns.activations import MOST_BESIDE
from served import serving

pytestmark = pytest.mark.once

BY_NAME = {route.operation: route for route in ROUTES}


@pytest.fixture(scope="module")
def api():
    with ExitStack() as stack:
        settings = load_settings(embedder="hashing")
        store = stack.enter_context(MemoryOS.open(":memory:", settings=settings, embedder=Hashing()))
        yield stack.enter_context(serving(store))


def asked(api, operation, **changed):
    """The answer to the example of an operation with another value."""
    route = BY_NAME[operation]
    values, whose = {**route.example, **changed}, {} if route.is_of_store else {"user": "ann"}
    path = route.path.replace("{memory_id}", "ID").replace("{cube_id}", "ID")
    has_body = Parameters.of(route).body is not None
    query = {"user": None, **whose, **({} if has_body else values)}
    return api.ask(route.verb, path, values if has_body else None, **query)


def test_the_description_is_made_once_and_its_requests_are_counted():
    settings = load_settings(embedder="hashing")
    with MemoryOS.open(":memory:", settings=settings, embedder=Hashing()) as store, serving(store, per_minute=3) as api:
        first = api.http.get("/openapi.json")
        tag = first.headers["etag"]
        same = api.http.get("/openapi.json", headers={"If-None-Match": f'"other", {tag}'})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
        assert api.http.get("/openapi.json").content == first.content
        refused = api.http.get("/openapi.json")
        assert (refused.status_code, refused.json()["title"]) == (429, "TooManyRequests")
        assert api.http.get("/health").status_code == 200


NUMBERS = [
    ("search", "pages"),
    ("search", "facts"),
    ("search", "min_score"),
    ("context", "tokens"),
    ("pages.list", "limit"),
    ("update", "expected_version"),
    ("governance.diff", "newer"),
    ("archiving.add", "unused"),
    ("snapshots.create", "ttl"),
    ("log.events", "after"),
    ("log.events", "limit"),
    ("wait", "timeout"),
    ("add", "ttl"),
]


@pytest.mark.parametrize(("operation", "name"), NUMBERS, ids=lambda one: one)
def test_the_limits_of_a_number_are_those_that_the_description_tells(api, operation, name):
    parameters = Parameters.of(BY_NAME[operation])
    told = (parameters.body or parameters.query).model_json_schema()["properties"][name]
    limits = LIMITS.get(f"{operation}.{name}", LIMITS.get(name))
    assert limits.items() <= told.items()
    low, high = told.get("minimum", told.get("exclusiveMinimum")), told.get("maximum")
    wrong = [low if "exclusiveMinimum" in told else low - 1, *([] if high is None else [high * 2])]
    for value in wrong:
        assert asked(api, operation, **{name: value}).status_code == 422, value
    for value in [1 if name == "min_score" else 2]:
        assert asked(api, operation, **{name: value}).status_code != 422, value


def test_prefixes_beside_another_are_described_as_they_are_checked(api):
    told = Parameters.of(BY_NAME["activations.answer"]).body.model_json_schema()["properties"]["beside"]
    assert (told["maxItems"], told["uniqueItems"]) == (MOST_BESIDE - 1, True)
    names = [f"n{number}" for number in range(MOST_BESIDE)]
    for wrong in (["home", "home"], names):
        refused = asked(api, "activations.answer", beside=wrong)
        assert (refused.status_code, refused.json().get("field")) == (422, "beside")
    assert asked(api, "activations.answer", beside=names[:-1]).status_code in (404, 501)


def test_every_limit_is_one_of_a_parameter():
    known = {name for route in ROUTES for name in Parameters.of(route).known}
    for told in LIMITS:
        operation, _, name = told.rpartition(".")
        assert name in (Parameters.of(BY_NAME[operation]).known if operation else known), told


@pytest.mark.parametrize(
    "wrong", [{"explain": 0}, {"explain": "true"}, {"pages": True}, {"pages": "3"}, {"pages": 2.5}]
)
def test_a_body_takes_no_value_of_another_type(api, wrong):
    refused = asked(api, "search", **wrong)
    assert (refused.status_code, refused.json()["field"]) == (422, next(iter(wrong)))
    assert asked(api, "search", pages=3, explain=True).status_code == 200


def test_texts_and_times_are_described_as_they_are_checked(api):
    document = api.http.get("/openapi.json").json()
    body = document["components"]["schemas"]["SearchBody"]["properties"]
    cube = document["components"]["schemas"]["MemCube"]["properties"]
    for told in (cube["access"], cube["sensitivity"]):
        assert told.pop("description")
    assert cube["access"] == {"enum": ["private", "shared", "read_only"]}
    assert cube["sensitivity"] == {"type": "array", "items": {"type": "string"}}
    assert body["query"]["minLength"] == 1
    assert all(f"'format': '{kind}'" in str(body["since"]) for kind in ("date-time", "date"))
    for wrong in ({"query": " "}, {"query": "a\x00b"}, {"since": "soon"}):
        assert asked(api, "search", **wrong).status_code == 422
    for since in ("2026-05-01", "2026-05-01T10:00:00Z"):
        assert asked(api, "search", since=since).status_code == 200
    (user,) = [one for one in document["paths"]["/v1/search"]["post"]["parameters"] if one["name"] == "user"]
    assert (user["schema"]["minLength"], user["schema"]["maxLength"]) == (1, 256)
    assert api.ask("GET", "/stats", user="a" * 257).status_code == 422
    metrics = document["paths"]["/metrics"]["get"]
    assert "text/plain; version=0.0.4; charset=utf-8" in str(metrics["responses"]["200"])
    assert metrics["security"] and "401" in metrics["responses"]
    assert "501" in document["paths"]["/v1/adapter-answers"]["post"]["responses"], "a model is needed"
    add = document["paths"]["/mem0/v1/memories"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {"type": "null"} in add["properties"]["expiration_date"]["anyOf"]
    gone = document["paths"]["/mem0/v1/batch"]["delete"]["requestBody"]["content"]["application/json"]["schema"]
    assert list(gone["properties"]["memories"]["items"]["properties"]) == ["memory_id"]
    wait = document["paths"]["/v1/wait"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "31622400" in json.dumps([wait, document["components"]["schemas"]])


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("PUT", "/snapshots", "GET, POST"),
        ("PUT", "/memories/x", "DELETE, GET, PATCH"),
        ("DELETE", "/users/forget", "POST"),
        ("PUT", "/pages", "GET"),
    ],
)
def test_a_method_that_is_not_there_is_refused_with_those_that_are(api, verb, path, allowed):
    refused = api.ask(verb, path)
    assert (refused.status_code, refused.json()["title"]) == (405, "MethodNotAllowed")
    assert refused.headers["allow"] == allowed


def test_a_branch_whose_name_has_a_slash_is_compared_and_discarded(api):
    api("POST", "/memories", {"query": "I keep bees."})
    assert api.ask("POST", "/branches", {"name": "trial/diff"}).status_code == 201
    assert api.ask("GET", "/branch-diff/trial/diff").status_code == 200
    assert api.ask("DELETE", "/branches/trial/diff").status_code < 300
    assert api.ask("GET", "/branch-diff/trial/diff").status_code == 404


def test_the_example_of_an_answer_has_the_kind_of_memory_that_it_is_about(api):
    told = api.http.get("/openapi.json").json()["paths"]

    def example(verb, path, status="200"):
        return told[f"/v1{path}"][verb]["responses"][status]["content"]["application/json"]["example"]

    def places(memory):
        return memory["kind"], memory["tier"], "turns" in memory

    found = example("post", "/search")
    assert places(found["hits"][0]) == ("page", "stm", True)
    assert places(found["user_facts"][0]) == ("fact", "lpm", False)
    assert places(example("get", "/facts")["items"][0]) == ("fact", "lpm", False)
    assert example("post", "/facts", "201")["id"] == found["hits"][0]["id"]
    assert places(example("get", "/segments")["items"][0]) == ("segment", "mtm", False)
    assert places(example("get", "/pages")["items"][0]) == ("page", "stm", True)
    persona = example("get", "/profile")["user"]
    assert [places(persona[name][0])[0] for name in ("traits", "facts")] == ["trait", "fact"]
    assert persona["profile"] == {"location": "Lisbon"}


def test_what_needs_a_model_says_so(api):
    told = api.http.get("/openapi.json").json()["paths"]
    needing = [route for route in ROUTES if "ModelNotConfigured" in (route.method.__doc__ or "")]
    assert {"forms.transform", "store:admin.verify_words"} <= {route.operation for route in needing}
    for route in needing:
        described = told["/v1" + route.path.replace(":path}", "}")][route.verb.lower()]
        assert "501" in described["responses"], route.operation


def test_words_are_not_verified_without_a_model(api):
    answer = asked(api, "store:admin.verify_words")
    assert (answer.status_code, answer.json()["title"]) == (501, "ModelNotConfigured")


def test_the_name_of_a_branch_is_as_long_as_the_description_tells(api):
    told = api.http.get("/openapi.json").json()["paths"]["/v1/pages"]["get"]["parameters"]
    (branch,) = (one["schema"] for one in told if one["name"] == "branch")
    most = next(one["maxLength"] for one in branch["anyOf"] if "maxLength" in one)
    assert [api.ask("GET", "/pages", branch="b" * chars).status_code for chars in (most, most + 1)] == [404, 422]


# What ECMA-262, in whose regular expressions patterns of JSON Schema are, takes for white space: less than Python does.
ECMA_SPACE = r"\t-\r \xa0\ufeff\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def test_a_name_of_white_space_alone_fits_no_pattern(api):
    document = api.http.get("/openapi.json").json()
    told = {one for one in re.findall(r'"pattern": ("[^"]+")', json.dumps(document)) if "x00" in one}
    patterns = [json.loads(one).replace(r"\s", ECMA_SPACE) for one in told]
    assert patterns
    spaces = [char for char in map(chr, range(sys.maxunicode + 1)) if char.isspace()]
    assert [(char, one) for char in spaces for one in patterns if re.search(one, char)] == []
    assert all(re.search(one, " bees") for one in patterns)


@pytest.fixture(scope="module")
def described():
    """What a server tells that is a proxy, too."""
    settings = load_settings(embedder="hashing", upstream="http://127.0.0.1:9/v1")
    with MemoryOS.open(":memory:", settings=settings, embedder=Hashing()) as store:
        return rest_app(store, added=added_doors(settings)).openapi()


@pytest.fixture
def paths(described):
    """Its addresses."""
    return described["paths"]


def test_each_parameter_says_what_it_means_and_no_meaning_is_of_one_that_is_gone(paths):
    operations = [operation for path in paths.values() for operation in path.values()]
    told = [(one["operationId"], part) for one in operations for part in one.get("parameters", ())]
    assert len(told) > 1_000
    assert [(name, part["name"]) for name, part in told if not part.get("description")] == []
    known = {part["name"] for _, part in told} | {f"{name}.{part['name']}" for name, part in told}
    assert {*DESCRIPTIONS} - known == set()


@pytest.mark.parametrize(
    ("operation", "name", "meaning"),
    [
        ("forget", "session", "Forget what was said in this session alone."),
        ("forms_list", "memory_id", "Only what was made of this memory, or told it."),
        ("store_audit_list", "kind", "Only calls that name a memory of this kind."),
        ("store_audit_permissions", "kind", "Only calls that name a memory of this kind."),
        ("log_usage", "since", "Only from this day on, in UTC."),
        ("delete_mem0_memories", "agent_id", "Only what was stored for this agent; without a user, the owner."),
        ("delete_mem0_memories", "run_id", "Only what was stored in this run; without a user and an agent, the owner."),
        ("delete_mem0_entities_kind_name_", "kind", "What it is: user, agent or run."),
        ("delete_mem0_entities_kind_name_", "name", "Its id."),
    ],
)
def test_a_name_that_means_something_else_is_described_where_it_does(paths, operation, name, meaning):
    found = [one for path in paths.values() for one in path.values() if one["operationId"] == operation]
    assert [part["description"] for part in found[0]["parameters"] if part["name"] == name] == [meaning]


def members(told, place=""):
    """Each member of each schema in a part of the description, with its place."""
    if isinstance(told, list):
        for index, one in enumerate(told):
            yield from members(one, f"{place}/{index}")
    elif isinstance(told, dict):
        if told.get("type") == "object":
            yield from ((f"{place}/{name}", one) for name, one in told.get("properties", {}).items())
        for name, one in told.items():
            if name not in ("example", "examples", "default"):
                yield from members(one, f"{place}/{name}")


def test_each_member_of_a_request_and_an_answer_says_what_it_means(described):
    found = dict(members(described))
    assert len(found) > 1_000
    assert [place for place, one in found.items() if not one.get("description")] == []
    unlike = [one["description"] for one in found.values() if not one["description"].endswith(".")]
    assert unlike == []
    assert [
        one["description"] for one in found.values() if re.search(r"\b(None|True|False)\b", one["description"])
    ] == []


def test_no_meaning_is_of_a_member_that_is_gone():
    taken = {(route.operation, name) for route in (*ROUTES, *STREAMED) for name in _body(route)}
    assert {*BODY_MEANINGS} - {name for _, name in taken} - {
        f"{operation}.{name}" for operation, name in taken
    } == set()


def _body(route):
    body = Parameters.of(route).body
    return body.model_fields if body else ()


@pytest.mark.parametrize(
    ("schema", "name", "meaning"),
    [
        ("MemCube", "version", "How often it was written: 1 for a memory that was never corrected."),
        ("Proposal", "source", "The source of the proposal: a trusted source, or the extractor that read its pages."),
        ("SegmentView", "pages", "Number of pages."),
        ("TurnHit", "turn", "Index of the turn in the page."),
        ("Provenance", "created_by", "Identity of the caller"),
        ("Forgotten", "left", "Rows found afterwards, by table, and packs that may still come."),
        ("AddBody", "tags", "Labels for filters"),
        ("SearchBody", "tags", "Only what has all of these tags."),
        ("UpdateBody", "tags", "Tags, which join those of the memory."),
        ("AdaptersTrainBody", "tags", "Only memories with one of these tags."),
    ],
)
def test_a_member_means_what_the_code_says_of_it(described, schema, name, meaning):
    assert described["components"]["schemas"][schema]["properties"][name]["description"].startswith(meaning)
