"""Proxy description: what /openapi.json tells of the addresses of the OpenAI API, in front of a model server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoryos.interface.proxy.proxy_terms import OWN_PARAMETERS, PREFIX, ProxyMode
from memoryos.interface.rest.route import VERSION

_OBJECT = {"type": "object"}
_PROBLEMS = (401, 403, 413, 422, 429)
_MEMORY = {
    "name": f"{PREFIX}memory",
    "in": "header",
    "required": False,
    "description": "Whether the request gets notes from memory, and its exchange is stored.",
    "schema": {"type": "string", "enum": [one.value for one in ProxyMode]},
}
_ASKED = [{"role": "user", "content": "Where are my bees?"}]
_SAID = {"role": "assistant", "content": "Behind the mill."}
_CHOICE = {"index": 0, "message": _SAID, "finish_reason": "stop"}
_CHAT = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1777627800, "model": "m", "choices": [_CHOICE]}
_PART = {"type": "output_text", "text": "Behind the mill.", "annotations": []}
_MESSAGE = {"type": "message", "role": "assistant", "content": [_PART]}
_RESPONSE = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [_MESSAGE]}
_VECTOR = {"object": "embedding", "index": 0, "embedding": [0.5, -0.5]}
_MODEL = {"id": "m", "object": "model", "created": 1777627800, "owned_by": "me"}


def _operation(name: str, summary: str, answer: Mapping[str, Any], asked: Mapping[str, Any] | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": f"openai_{name}",
        "summary": summary,
        "tags": ["openai"],
        "security": [{"HTTPBearer": []}],
        "responses": {
            "200": {"description": "As the model server answers.", "content": _json(answer)},
            **{str(status): {"description": ""} for status in _PROBLEMS},
            "default": {"description": "What the model server answers, or that it does not.", "content": {}},
        },
    }
    return told | ({} if asked is None else {"requestBody": {"required": True, "content": _json(asked)}})


def _json(example: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": _OBJECT, "example": example}}


def _with_memory(operation: dict[str, Any]) -> dict[str, Any]:
    owner = [{"name": one, "in": "query", "required": False, "schema": {"type": "string"}} for one in OWN_PARAMETERS]
    return {**operation, "parameters": [*owner, _MEMORY]}


_NOTED = "with notes from memory; the exchange is stored."
DESCRIBED: dict[str, Any] = {
    f"{VERSION}/chat/completions": {
        "post": _with_memory(
            _operation("chat_completions", f"A chat completion, {_NOTED}", _CHAT, {"model": "m", "messages": _ASKED})
        )
    },
    f"{VERSION}/responses": {
        "post": _with_memory(
            _operation("responses", f"A response, {_NOTED}", _RESPONSE, {"model": "m", "input": "Where are my bees?"})
        )
    },
    f"{VERSION}/embeddings": {
        "post": _operation(
            "embeddings",
            "Vectors, passed on without memory.",
            {"object": "list", "data": [_VECTOR], "model": "m"},
            {"model": "m", "input": "bees"},
        )
    },
    f"{VERSION}/models": {
        "get": _operation("models", "The models of the model server.", {"object": "list", "data": [_MODEL]}, None)
    },
    f"{VERSION}/models/{{model}}": {
        "get": {
            **_operation("model", "A model of the model server.", _MODEL, None),
            "parameters": [{"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}],
        }
    },
}
