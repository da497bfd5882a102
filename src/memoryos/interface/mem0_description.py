"""Mem0 description: what /openapi.json tells of mem0's addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoryos.interface.rest.json_kinds import VISIBLE
from memoryos.interface.rest.parameter_descriptions import DESCRIPTIONS

_PROBLEMS = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503, 504)
_ID = {"type": "string", "maxLength": 256, **VISIBLE}
_COUNT = {"type": "integer", "minimum": 1, "maximum": 2**31 - 2}
_FLAG = {"type": "boolean"}
_OBJECT = {"type": "object", "additionalProperties": True}
_MOMENT = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]}
_MESSAGE = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {
        "role": {"enum": ["user", "assistant"], "description": "Who speaks."},
        "content": {"type": "string", "minLength": 1, "description": "What was said."},
    },
}
_IDS = ("user_id", "agent_id", "run_id")
_OMISSIBLE = {*_IDS, "app_id", "filters", "metadata", "timestamp", "expiration_date", "top_k", "limit", "text", "data"}
_RECORD = {"id": "ID", "memory": "The user keeps bees.", "user_id": "ann", "metadata": {}}
_BY_ANN = {"user_id": "ann"}

#: The JSON of what the addresses take, by its name.
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("user_id", "agent_id", "run_id", "app_id", "name", "query", "text", "data"), _ID),
    **dict.fromkeys(("top_k", "limit", "page", "page_size"), _COUNT),
    "messages": {"anyOf": [_ID, {"type": "array", "items": _MESSAGE}]},
    "memory_id": {"type": "string"},
    "kind": {"enum": ["user", "agent", "run"]},
    "filters": _OBJECT,
    "metadata": _OBJECT,
    "timestamp": {"anyOf": [{"type": "number", "minimum": 0}, *_MOMENT["anyOf"]]},
    "expiration_date": {"type": "string", "format": "date"},
    "threshold": {"type": "number", "minimum": 0, "maximum": 1},
    **dict.fromkeys(("infer", "rerank", "explain"), _FLAG),
}

#: What the members of bodies mean, by their names; `_STORED` has those of what is stored.
_MEANINGS: Mapping[str, str] = {
    "query": "The question.",
    "filters": "Ids and metadata that memories must have: equal values, lists of alternatives, or `AND` of several.",
    "top_k": "Most memories to return; default: 20.",
    "limit": "Another name of `top_k`.",
    "threshold": "Memories with a lower relevance (0 to 1) are left out; default: 0.1.",
    "rerank": "Whether the reranker of the store orders the memories; without one, it is refused.",
    "explain": "Whether memories tell the parts of their scores.",
    "page": "The number of the part, from 1.",
    "page_size": "Most memories in a part.",
    "memories": "The memories, which are changed or deleted one after the other.",
    "memory_id": "The id of the memory.",
    "text": "The new text.",
    "data": "Another name of `text`.",
    "metadata": "Further details, as JSON, which join those of the memory.",
    **{name: DESCRIPTIONS[name] for name in (*_IDS, "app_id")},
}
_STORED: Mapping[str, str] = {
    "messages": "The messages, or what the user said.",
    "user_id": "The user whose memory it is.",
    "agent_id": "The agent for which it is stored; without a user, the owner.",
    "run_id": "The run in which it is stored; without a user and an agent, the owner.",
    "app_id": "The application for which it is stored.",
    "filters": "The same ids, in the place of `user_id` and the others.",
    "metadata": "Further details, as JSON; searches can filter by them.",
    "timestamp": "When it was said: a time, or seconds since 1970; default: now.",
    "expiration_date": "The last day on which it is found.",
    "infer": "Whether the messages are read for facts; otherwise each is stored as it is. Default: true.",
}


@dataclass(frozen=True, slots=True)
class Mem0Described:
    """What is told of one kind of address."""

    summary: str
    takes: Sequence[str] = ()
    needs: Sequence[str] = ()
    example: Mapping[str, Any] = field(default_factory=dict)  #: of a body
    answer: Any = None  #: an example
    each: Sequence[str] = ()  #: what each of the `memories` has

    def operation(self, verb: str, path: str) -> dict[str, Any]:
        """It as an operation of OpenAPI."""
        in_path = re.findall(r"{(\w+)}", path)
        others = [name for name in self.takes if name not in in_path]
        has_body = verb in ("POST", "PUT") or "memories" in others
        told: dict[str, Any] = {
            "operationId": re.sub(r"\W+", "_", f"{verb.lower()}{path}"),
            "summary": self.summary,
            "tags": ["mem0"],
            "security": [{"HTTPBearer": []}],
            "parameters": [*_parameters("path", in_path), *(() if has_body else _parameters("query", others))],
            "responses": {
                "200": {"description": "As mem0 answers.", "content": {"application/json": {"example": self.answer}}},
                **{str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in _PROBLEMS},
            },
        }
        return told | ({"requestBody": self._body(others)} if has_body and others else {})

    def _body(self, names: Iterable[str]) -> dict[str, Any]:
        schema = {"type": "object", "additionalProperties": False, "required": list(self.needs)}
        known = _STORED if "messages" in self.takes else _MEANINGS
        schema["properties"] = {name: {**self._kind(name), "description": known[name]} for name in names}
        content = {"schema": schema, "example": dict(self.example)}
        return {"required": bool(self.needs), "content": {"application/json": content}}

    def _kind(self, name: str) -> Mapping[str, Any]:
        if name == "memories":
            return {"type": "array", "minItems": 1, "maxItems": 1_000, "items": _memory_of(self.each)}
        is_omissible = name in _OMISSIBLE and name not in self.needs
        return {"anyOf": [_KINDS[name], {"type": "null"}]} if is_omissible else _KINDS[name]


def _memory_of(names: Iterable[str]) -> Mapping[str, Any]:
    """One of several memories."""
    kinds = {name: {**_KINDS[name], "description": _MEANINGS[name]} for name in names}
    return {"type": "object", "additionalProperties": False, "required": ["memory_id"], "properties": kinds}


def _parameters(place: str, names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "in": place, "required": place == "path", "schema": _KINDS[name]} for name in names]


_SAID = [{"role": "user", "content": "I keep bees."}]

DESCRIBED: Mapping[str, Mem0Described] = {
    "ping": Mem0Described("Whether the key is good.", answer={"status": "ok"}),
    "add": Mem0Described(
        "Store messages.",
        ("messages", *_IDS, "app_id", "filters", "metadata", "timestamp", "expiration_date", "infer"),
        ("messages",),
        {"messages": _SAID, **_BY_ANN},
        {"results": [{**_RECORD, "event": "ADD"}]},
    ),
    "search": Mem0Described(
        "Find the memories that bear on a question, best first.",
        ("query", "filters", "top_k", "threshold", "rerank", "explain", *_IDS, "limit"),
        ("query",),
        {"query": "What does Ann keep?", **_BY_ANN},
        {"results": [{**_RECORD, "score": 0.9}]},
    ),
    "get_all": Mem0Described(
        "List memories, the latest first.", (*_IDS, "top_k", "limit"), answer={"results": [_RECORD]}
    ),
    "pages": Mem0Described(
        "List memories, part by part.",
        ("filters", "page", "page_size"),
        example={"filters": _BY_ANN, "page": 1, "page_size": 50},
        answer={"count": 1, "next": None, "previous": None, "results": [_RECORD]},
    ),
    "get": Mem0Described("Return a memory.", ("memory_id",), answer=_RECORD),
    "update": Mem0Described(
        "Correct a memory.",
        ("memory_id", "text", "metadata", "data"),
        example={"text": "I keep wasps."},
        answer={"message": "Memory updated successfully!"},
    ),
    "delete": Mem0Described("Delete a memory.", ("memory_id",), answer={"message": "Memory deleted successfully!"}),
    "delete_all": Mem0Described(
        "Remove everything that the ids name.",
        (*_IDS, "app_id"),
        answer={"message": "Memories deleted successfully!"},
    ),
    "history": Mem0Described("List the changes of a memory.", ("memory_id",), answer=[{"memory_id": "ID"}]),
    "reset": Mem0Described("Remove the memories of all.", answer={"message": "Memories deleted successfully!"}),
    "entities": Mem0Described("List users, agents and runs.", answer={"count": 1, "results": [{"type": "user"}]}),
    "delete_entity": Mem0Described(
        "Remove a user, an agent or a run.",
        ("kind", "name"),
        answer={"message": "Entity deleted successfully."},
    ),
    "batch_update": Mem0Described(
        "Correct memories.",
        ("memories",),
        ("memories",),
        {"memories": [{"memory_id": "ID", "text": "I keep wasps."}]},
        {"message": "Successfully updated 1 memories"},
        ("memory_id", "text", "metadata"),
    ),
    "batch_delete": Mem0Described(
        "Delete memories.",
        ("memories",),
        ("memories",),
        {"memories": [{"memory_id": "ID"}]},
        {"message": "Successfully deleted 1 memories"},
        ("memory_id",),
    ),
}
