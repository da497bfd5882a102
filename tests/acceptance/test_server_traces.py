"""Traces of `memoryos serve`: spans that reach a receiver over HTTP, without a word of what was asked."""

from __future__ import annotations

import json
import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from threading import Event

import httpx
import pytest

import forked
from memoryos import Memory, MemoryOS, load_settings
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.interface import server_log
from memoryos.interface.rest import configured_traces, recorded_traces
from memoryos.models.hashing import Hashing
from proxy.scripted_upstream import DONE, EVENTS, Said, ScriptedUpstream, answer, event, scripted_upstream, streamed
from served import PATIENCE, Served, serving
from span_receiver import ReceivedSpan, SpanReceiver, span_receiver

pytestmark = pytest.mark.once

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
MARKED = ("zanzibar", "quokka", "安娜", "mem-no-such-id", "tangerine")  # a user, words, a user, an id, a session


@dataclass
class Traced:
    """A server that was asked of everything and then ended, and all that its receiver got."""

    receiver: SpanReceiver
    secrets: list[str] = field(default_factory=lambda: [*MARKED])
    upstream: ScriptedUpstream = field(default_factory=ScriptedUpstream)

    def one(self, name: str, nth: int = 0) -> ReceivedSpan:
        return self.receiver.named(name)[nth]


def endpoint(patch: pytest.MonkeyPatch, url: str) -> None:
    for name in ("OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_SERVICE_NAME"):
        patch.delenv(name, raising=False)
    patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    with ExitStack() as stack:
        made = Traced(stack.enter_context(span_receiver()))
        made.upstream = stack.enter_context(scripted_upstream())
        endpoint(stack.enter_context(pytest.MonkeyPatch.context()), made.receiver.url)
        known = load_settings(
            embedder="hashing", upstream=made.upstream.url, upstream_memory_seconds=PATIENCE, traces=True
        )
        place = tmp_path_factory.mktemp("traced") / "memory.db"
        store = stack.enter_context(closing(MemoryOS.open(place, settings=known, embedder=Hashing())))
        with serving(store) as served:
            _ask_everything(served, made)
        yield made


def _ask_everything(served: Served, made: Traced) -> None:
    key = served.store.keys.create("tangerine key", actions=["read", "write", "delete"])
    made.secrets += [key.key, key.info.id]

    def ask(verb: str, path: str, body: object = None, *, flags: str = "01", **query: str) -> httpx.Response:
        headers = {"traceparent": f"00-{TRACE}-{CALLER}-{flags}", "X-MemoryOS-Caller-Session": "tangerine"}
        return served.ask(verb, path, body, key=key.key, headers=headers, **{"user": "zanzibar", **query})

    added = ask("POST", "/memories", {"query": "My quokka likes 安娜."})
    made.secrets += added.json()["ids"]
    assert b"quokka" in ask("POST", "/search", {"query": "quokka"}).content
    assert ask("GET", "/profile", flags="00").status_code == 200
    assert ask("GET", "/memories/mem-no-such-id").status_code == 404
    assert ask("GET", "/no/such/quokka").status_code == 404
    assert ask("BREW", "/memories").status_code == 405
    assert b"quokka" in ask("GET", "/export").content
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "context", _broken)
        assert ask("POST", "/context", {"query": "quokka"}).status_code == 500
    assert ask("POST", "/forget", {}).status_code == 200
    authorized = {"Authorization": f"Bearer {key.key}"}
    asked = {"query": "quokka", "user_id": "安娜"}
    assert served.http.post("/mem0/search", json=asked, headers=authorized).status_code == 200
    _ask_proxy(served, made, {"X-MemoryOS-User": "安娜".encode(), **authorized})


def _broken(*_: object, **__: object) -> None:
    raise RuntimeError("a quokka of zanzibar")


def _ask_proxy(served: Served, made: Traced, headers: dict[str, str | bytes]) -> None:
    body = {"model": "some-model", "messages": [{"role": "user", "content": "Where is my quokka?"}]}
    traceparent = {"traceparent": f"00-{TRACE}-{CALLER}-01", "tracestate": "vendor=1"}
    made.upstream.will(answer("A quokka is in zanzibar."), streamed("In ", "zanzibar."), Said([b"{}"], 500))
    several = [served.http.post("/v1/chat/completions", json=body, headers={**headers, **traceparent}) for _ in "123"]
    assert [one.status_code for one in several] == [200, 200, 500]
    gone = Event()

    def parts() -> Iterator[bytes]:
        yield event({"content": "quokka"})
        gone.wait(PATIENCE)
        while not made.upstream.left.is_set():
            yield event({"content": "quokka"})
        yield DONE

    made.upstream.will(Said(parts(), kind=EVENTS))
    with served.http.stream("POST", "/v1/chat/completions", json=body | {"stream": True}, headers=headers) as stream:
        next(stream.iter_raw())
    gone.set()
    assert made.upstream.left.wait(PATIENCE)


def test_a_request_has_a_span_that_goes_on_with_the_trace_of_its_caller(traced):
    span = traced.one("POST /v1/memories")
    assert (span.kind, span.trace, span.parent, span.is_error) == ("SERVER", TRACE, CALLER, False)
    assert span.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/memories",
        "http.response.status_code": 201,
        "url.scheme": "http",
    }
    (step,) = traced.receiver.children(span)
    assert (step.name, step.kind, step.attributes, step.is_error) == ("memory.add", "INTERNAL", {}, False)
    assert 0 < step.seconds <= span.seconds
    assert [one["service.name"] for one in traced.receiver.resources] == ["memoryos"] * len(traced.receiver.resources)
    assert {*traced.receiver.paths} == {"/v1/traces"}


def test_a_caller_who_records_no_trace_is_not_traced(traced):
    assert [span for span in traced.receiver.spans if "profile" in span.name] == []


def test_what_fails_has_the_class_of_its_error(traced):
    span = traced.one("GET /v1/memories/{cube_id}")
    (step,) = traced.receiver.children(span)
    assert (span.attributes["http.response.status_code"], span.is_error) == (404, False)  # a mistake of the caller
    assert (step.name, step.attributes, step.is_error) == ("memory.get", {"error.type": "NotFound"}, True)


def test_a_fault_has_its_class_and_no_message(traced):
    span = traced.one("POST /v1/context")
    (step,) = traced.receiver.children(span)
    assert [(one.is_error, one.attributes["error.type"]) for one in (span, step)] == [(True, "RuntimeError")] * 2


def test_unknown_addresses_and_methods_share_a_name(traced):
    (unknown,) = traced.receiver.named("GET")
    assert ("http.route" in unknown.attributes, unknown.attributes["http.response.status_code"]) == (False, 404)
    (brewed,) = [span for span in traced.receiver.spans if span.name.startswith("HTTP")]
    assert (brewed.attributes["http.request.method"], brewed.attributes["http.response.status_code"]) == ("_OTHER", 405)


@pytest.mark.parametrize(("name", "step"), [("GET /v1/export", "memory.export"), ("POST /mem0/search", "mem0.search")])
def test_other_doors_have_steps_too(traced, name, step):
    span = traced.one(name)
    assert [one.name for one in traced.receiver.children(span)] == [step]
    assert span.attributes["http.response.status_code"] == 200


@pytest.mark.parametrize("nth", [0, 1])
def test_a_proxied_request_tells_the_model_server_its_trace(traced, nth):
    span = traced.one("POST /v1/chat/completions", nth)
    steps = traced.receiver.children(span)
    assert [(one.name, one.kind, one.is_error) for one in steps] == [
        ("POST", "CLIENT", False),
        ("memory.add", "INTERNAL", False),
        ("memory.context", "INTERNAL", False),
    ]
    port = int(traced.upstream.url.rpartition(":")[2].removesuffix("/v1"))
    assert steps[0].attributes == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    told = traced.upstream.got[nth].headers
    assert (told["traceparent"], told["tracestate"]) == (f"00-{TRACE}-{steps[0].id}-01", "vendor=1")


def test_a_model_server_that_fails_is_an_error(traced):
    span = traced.one("POST /v1/chat/completions", 2)
    call, _ = traced.receiver.children(span)
    assert (span.is_error, span.attributes["error.type"]) == (True, "500")
    assert (call.is_error, call.attributes["error.type"]) == (True, "500")


def test_a_stream_whose_client_goes_away_ends_its_span(traced):
    span = traced.one("POST /v1/chat/completions", 3)
    assert (span.attributes["http.response.status_code"], span.attributes["error.type"]) == (200, "ClientGone")
    assert (span.is_error, span.parent, span.trace == TRACE) == (True, "", False)


def test_no_span_has_a_word_a_name_a_key_or_an_id(traced):
    everything = "\n".join(span.told for span in traced.receiver.spans) + repr(traced.receiver.spans)
    assert len(traced.receiver.spans) > 20
    assert [secret for secret in traced.secrets if secret in everything] == []
    known = {"http.request.method", "http.response.status_code", "http.route", "url.scheme", "error.type"}
    assert {name for span in traced.receiver.spans for name in span.attributes} <= known | {
        "server.address",
        "server.port",
    }
    assert "events {" not in everything


@pytest.mark.parametrize("is_listening", [False, True])
def test_a_receiver_that_does_not_answer_breaks_and_delays_nothing(tmp_path, monkeypatch, caplog, is_listening):
    monkeypatch.setattr(recorded_traces, "_CLOSING_SECONDS", 0.05)
    monkeypatch.setattr(recorded_traces, "_STOPPING_SECONDS", 0.05 if is_listening else PATIENCE)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")  # seconds for which the exporter would try it
    known = load_settings(embedder="hashing", traces=True)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        if not is_listening:
            silent.close()
        with closing(MemoryOS.open(tmp_path / "memory.db", settings=known, embedder=Hashing())) as store:
            with serving(store) as served:
                several = [served.ask("POST", "/memories", {"query": f"I keep {n} bees."}) for n in range(3)]
                ended = time.monotonic()
            assert time.monotonic() - ended < PATIENCE / 2
    assert [one.status_code for one in several] == [201] * 3
    assert is_listening or [one for one in caplog.records if one.name.startswith("opentelemetry.")]


def test_what_opentelemetry_says_is_one_line_of_the_log_without_the_trace_of_an_error(capsys):
    with server_log.logged():
        try:
            _broken()
        except RuntimeError:
            logging.getLogger("opentelemetry.sdk.some").exception("Exception while exporting %s.", "Span")
    told = {"server": "Exception while exporting Span.", "error": "RuntimeError"}
    assert json.loads(capsys.readouterr().err) == told


def served_process(folder, *arguments: str, **variables: str) -> tuple[str, list[dict[str, object]]]:
    """What `memoryos serve` says on standard output, and its log, when it was asked once and then ended."""
    others = {"MEMORYOS_EMBEDDER": "hashing", "MEMORYOS_DB": str(folder / "memory.db"), **variables}
    command = [forked.executable(), "-m", "memoryos", "serve", "--port", "0", "--json", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=forked.settings(**others), cwd=folder, text=True, **pipes) as process:
        url = json.loads(process.stdout.readline())["url"]
        assert httpx.get(f"{url}/v1/search", trust_env=False, timeout=PATIENCE).status_code == 405
        process.send_signal(signal.SIGTERM)
        output, log = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        return output, [json.loads(line) for line in log.splitlines()]


def test_traces_are_off_until_they_are_asked_for(tmp_path):
    with span_receiver() as receiver:
        where = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "FASTAPI_OTEL_AUTO_CONFIGURE": "true"}
        off = served_process(tmp_path, **where)
        assert (off[0], len(off[1]), receiver.paths) == ("", 1, [])
        on = served_process(tmp_path, "--traces", OTEL_SERVICE_NAME="notes", **where)
        assert (on[0], len(on[1])) == ("", 1)
    assert [one["service.name"] for one in receiver.resources] == ["notes"]
    assert [(span.name, span.attributes["http.response.status_code"]) for span in receiver.spans] == [
        ("GET /v1/search", 405)
    ]


def test_a_server_without_traces_imports_nothing_of_them(tmp_path):
    code = (
        "import sys, memoryos; from memoryos.interface.rest.rest_app import rest_app\n"
        "rest_app(memoryos.MemoryOS.open('memory.db'))\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    run = forked.python("-c", code, cwd=tmp_path, env=forked.settings(MEMORYOS_EMBEDDER="hashing"))
    assert (run.stdout, run.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name, value", [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")])
def test_opentelemetry_can_be_switched_off(monkeypatch, name, value):
    endpoint(monkeypatch, "http://127.0.0.1:4318")
    monkeypatch.setenv(name, value)
    assert not isinstance(configured_traces.traces_of(load_settings(traces=True)), recorded_traces.RecordedTraces)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_TRACES_EXPORTER", "console"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"),
    ],
)
def test_a_variable_that_would_be_ignored_is_refused(monkeypatch, name, value):
    endpoint(monkeypatch, "http://127.0.0.1:4318")
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=name):
        configured_traces.traces_of(load_settings(traces=True))


def test_a_missing_extra_names_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "memoryos.interface.rest.recorded_traces", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoryos-engine\[telemetry\]'"):
        configured_traces.traces_of(load_settings(traces=True))
