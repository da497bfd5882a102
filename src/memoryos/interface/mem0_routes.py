"""mem0's addresses: those of its own server and those that its hosted clients ask, below `/mem0`.

A client gets `http://HOST:PORT/mem0` as its host, and an API key of this server as its key. Each address reads what it
is sent, calls a method of `Mem0Memory` with it, and answers with what that returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from memoryos.errors import InvalidInput, NotFound
from memoryos.frameworks.mem0 import Mem0Memory
from memoryos.frameworks.mem0_neutral import with_meaning
from memoryos.interface.mem0_description import DESCRIBED
from memoryos.interface.rest.admission import MEM0
from memoryos.interface.rest.desk import Desk
from memoryos.interface.rest.json_body import each_once, read_json
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.server_metrics import ServerMetrics
from memoryos.text import shown

_ALL = 2**31 - 1
_PAGE_SIZE = 100
_MOST_AT_ONCE = 1_000  # memories of a batch
_HERE = "memoryos"  # the clients want the names of an organisation and a project; the key alone decides here

Given = dict[str, Any]
Answer = Callable[[Mem0Memory, Given], Any]  #: what an address does with what it is sent


@dataclass(frozen=True, slots=True)
class Mem0Routes:
    """mem0's addresses, beside those of the REST API."""

    @property
    def is_first(self) -> bool:
        """Whether its addresses are looked at before those of the REST API: they are not, because there are many."""
        return False

    @property
    def foreign(self) -> tuple[str, ...]:
        """Its clients always send a key: on a store without keys, it may be any."""
        return (f"{MEM0}/",)

    @property
    def unread(self) -> tuple[str, ...]:
        """None: each body is read."""
        return ()

    @property
    def openai(self) -> tuple[str, ...]:
        """None: errors are told as by the REST API."""
        return ()

    def routes(self, desk: Desk, metrics: ServerMetrics) -> Iterator[BaseRoute]:  # noqa: ARG002 - of the protocol
        """The addresses, each with and without a slash at its end."""
        for verb, path, name in addresses():
            door = Mem0Address(desk, MEM0 + path, name, _ANSWERS[name])
            yield Route(f"{MEM0}{path}/", door, methods=[verb])
            yield Route(MEM0 + path, door, methods=[verb])
        for path, (about, verbs) in _ABSENT.items():
            yield Route(MEM0 + path, Mem0Absent(MEM0 + path, about), methods=verbs)

    def described(self) -> dict[str, dict[str, Any]]:
        """The addresses without a slash at their ends."""
        found: dict[str, dict[str, Any]] = {}
        for verb, path, name in addresses():
            told = MEM0 + path.replace(":path}", "}")
            found.setdefault(told, {})[verb.lower()] = DESCRIBED[name].operation(verb, told)
        return found

    async def close(self, seconds: float) -> None:
        """There is nothing to end."""


@dataclass(frozen=True, slots=True)
class Mem0Address:
    """One address, as an ASGI application."""

    desk: Desk
    path: str  #: its address without values, for the log and the counts
    name: str  #: what it does
    do: Answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["route"] = self
        request = Request(scope, receive)
        asking, given = request.state.asking, _given(request, await request.body())
        memory = Mem0Memory(self.desk.store.by(asking.caller), tenant=asking.tenant)
        document = await self.desk.run(lambda: self.do(memory, given), f"mem0.{self.name}")
        await JSONResponse(document)(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Mem0Absent:
    """An address of mem0 that is about what this library does not have, as an ASGI application."""

    path: str
    about: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - of the protocol
        """Refuse a request by the name of what it is about: to 404 a client says that the memory is not there."""
        scope["route"] = self
        fix = "Memories, their history, entities and batches are served"
        raise Refusing(501, "NotServed", f"This server has no {self.about}", fix)


def _given(request: Request, body: bytes) -> Given:
    """What a request says in its address, its query and its body. Raises InvalidInput, and Refusing (400)."""
    try:
        told = read_json(body or b"{}")
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        raise Refusing(400, "Unreadable", "The body is not JSON", "Send a JSON object") from None
    if not isinstance(told, dict):
        raise InvalidInput("body", "is no object", "Send a JSON object")
    given: Given = {}
    for part in (told, each_once(request.query_params.multi_items()), request.path_params):
        if (twice := next((name for name in part if name in given), None)) is not None:
            raise InvalidInput(twice[:64], "is sent twice", "Send it once")
        given |= part
    return given


def _call(name: str) -> Answer:
    """The address of a method, which takes what the method takes."""
    method = getattr(Mem0Memory, name)
    known = {one.name: one for one in inspect.signature(method).parameters.values() if one.name != "self"}
    needed = [name for name, one in known.items() if one.default is inspect.Parameter.empty]

    def answer(memory: Mem0Memory, given: Given) -> Any:
        given = with_meaning(name, given)
        _only(given, [*known])
        if (missing := next((one for one in needed if one not in given), None)) is not None:
            raise InvalidInput(missing, "is missing", "Send it")
        return method(memory, **given)

    return answer


def _only(given: Given, known: Sequence[str]) -> Given:
    if (unknown := next((one for one in given if one not in known), None)) is not None:  # a name may be empty
        fix = f"This address takes: {', '.join(known) or 'nothing'}"
        raise InvalidInput(unknown[:64], "is unknown", fix)
    return given


def _get(memory: Mem0Memory, given: Given) -> Any:
    found = memory.get(**_only(given, ["memory_id"]))
    if found is None:
        raise NotFound(f"there is no memory {shown(given['memory_id'])}")
    return found


def _get_all(memory: Mem0Memory, given: Given) -> Any:
    """The list of mem0's own server, whose query has only texts."""
    shown_too = {"show_expired": False} if given.get("show_expired") == "false" else {}
    given = with_meaning("get_all", given | shown_too)
    known = ["user_id", "agent_id", "run_id", "top_k", "limit"]
    numbers: Given = {name: _number(name, given[name]) for name in ("top_k", "limit") if name in given}
    return memory.get_all(**(_only(given, known) | numbers))


def _pages(memory: Mem0Memory, given: Given) -> Any:
    """The list of the hosted clients, part by part."""
    given = _only(with_meaning("get_all", given), ["filters", "page", "page_size"])
    page, size = _number("page", given.get("page", 1)), _number("page_size", given.get("page_size", _PAGE_SIZE))
    found = memory.get_all(filters=given.get("filters"), top_k=_ALL)["results"]
    end = page * size
    following = f"?page={page + 1}&page_size={size}" if end < len(found) else None
    before = f"?page={page - 1}&page_size={size}" if page > 1 else None
    return {"count": len(found), "next": following, "previous": before, "results": found[end - size : end]}


def _number(name: str, value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _ALL:
        raise InvalidInput(name, "is no number from 1 on", "Send e.g. 20")
    return value


def _ping(_: Mem0Memory, given: Given) -> Any:
    _only(given, [])
    return {"status": "ok", "user_email": None, "org_id": _HERE, "project_id": _HERE}


def _entities(memory: Mem0Memory, given: Given) -> Any:
    found = memory.users(**_only(given, []))
    return {"count": len(found["results"]), "next": None, "previous": None, **found}


def _delete_entity(memory: Mem0Memory, given: Given) -> Any:
    _only(given, ["kind", "name"])
    if given["kind"] not in ("user", "agent", "run"):
        raise InvalidInput("type", f"{shown(given['kind'])} owns no memories", "Use user, agent or run")
    memory.delete_all(**{f"{given['kind']}_id": given["name"]})
    return {"message": "Entity deleted successfully."}


def _batch(verb: str, known: Sequence[str], told: str) -> Answer:
    def answer(memory: Mem0Memory, given: Given) -> Any:
        several = _only(given, ["memories"]).get("memories")
        if not isinstance(several, list) or not 0 < len(several) <= _MOST_AT_ONCE:
            raise InvalidInput("memories", "are no list of memories", f"Send 1 to {_MOST_AT_ONCE:,} of them")
        for one in several:
            if not isinstance(one, Mapping) or "memory_id" not in one:
                raise InvalidInput("memories", "have one without a memory_id", "Send {'memory_id': ...}")
            _only(dict(one), known)
        for one in several:
            getattr(memory, verb)(**one)
        return {"message": f"Successfully {told} {len(several)} memories"}

    return answer


_ANSWERS: Mapping[str, Answer] = {
    **{name: _call(name) for name in ("add", "search", "reset", "update", "delete", "delete_all", "history")},
    "ping": _ping,
    "get_all": _get_all,
    "pages": _pages,
    "get": _get,
    "entities": _entities,
    "delete_entity": _delete_entity,
    "batch_update": _batch("update", ["memory_id", "text", "metadata"], "updated"),
    "batch_delete": _batch("delete", ["memory_id"], "deleted"),
}

#: Addresses of the hosted clients that have no meaning here: what each is about, and its methods (None: all).
_ABSENT: Mapping[str, tuple[str, list[str] | None]] = {
    "/v1/feedback{more:path}": ("feedback", None),
    "/v1/exports{more:path}": ("exports", None),
    "/v1/summary{more:path}": ("summaries", None),
    "/v2/profiles/{more:path}": ("profiles", None),
    "/v2/entities/{kind}/{name}/profile{end:path}": ("profiles", ["GET"]),  # an entity may have this name: DELETE
    "/api/v1/orgs/{more:path}": ("projects", None),
    "/api/v1/webhooks/{more:path}": ("webhooks", None),
}


def addresses() -> Iterator[tuple[str, str, str]]:
    """Verb, path and what is done. Of its own server the paths have no version, of the hosted one several."""
    one = "/memories/{memory_id}"
    yield "GET", "/v1/ping", "ping"
    yield "POST", "/memories", "add"
    yield "GET", "/memories", "get_all"
    yield "POST", "/search", "search"
    yield "POST", "/reset", "reset"
    yield "POST", "/v1/memories", "add"
    yield "POST", "/v3/memories/add", "add"
    for version in ("/v2", "/v3"):
        yield "POST", f"{version}/memories", "pages"
    for version in ("/v1", "/v2", "/v3"):
        yield "POST", f"{version}/memories/search", "search"
    yield "PUT", "/v1/batch", "batch_update"
    yield "DELETE", "/v1/batch", "batch_delete"
    for version in ("", "/v1"):
        yield "DELETE", f"{version}/memories", "delete_all"
        yield "GET", version + one, "get"
        yield "PUT", version + one, "update"
        yield "DELETE", version + one, "delete"
        yield "GET", f"{version}{one}/history", "history"
    for version in ("", "/v1", "/v2"):
        yield "GET", f"{version}/entities", "entities"
        yield "DELETE", f"{version}/entities/{{kind}}/{{name:path}}", "delete_entity"
