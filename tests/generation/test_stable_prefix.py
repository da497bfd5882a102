"""The beginning of the prompt stays the same to the byte, so that the prefix cache of a server finds it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .scripted_model import Reply

pytestmark = pytest.mark.once

TURNS = 50
SUBJECTS = ("ferry", "harbour", "bakery", "library", "river", "station", "garden")


def sent(request: dict[str, Any]) -> str:
    """The messages as a server reads them, one after the other."""
    return "".join(f"<{one['role']}>{one['content']}" for one in request["messages"])


def shared(one: str, other: str) -> int:
    """How many of the first characters are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


class CachingServer:
    """What a server with a prefix cache says: how much of a prompt it has had at the beginning of an earlier one."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Reply:
        prompt = sent(request)
        known = max((shared(prompt, one) for one in self.prompts), default=0)
        self.prompts.append(prompt)
        told = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 3}
        usage = {**told, "prompt_tokens_details": {"cached_tokens": known // 4}}
        message = {"role": "assistant", "content": f"It opens at {len(self.prompts)} o'clock."}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "scripted", "usage": usage}
        return Reply(body=json.dumps({**body, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))


def test_fifty_turns_begin_alike_and_the_server_tells_what_it_had(memory, model):
    memory.profile.set("name", "阿特拉斯 Atlas")
    memory.facts.add("The user sails.")
    server = model.otherwise = CachingServer()
    answers = []
    for number in range(TURNS):
        if number == TURNS // 2:
            memory.wait()
            memory.profile.set("city", "Bergen")  # changes what stands first, once
        subject = SUBJECTS[number % len(SUBJECTS)]
        answers.append(memory.respond(f"When does the {subject} number {number} open?"))
    assert len(model.requests) == len(server.prompts) == TURNS
    systems = [request["messages"][0]["content"] for request in model.requests]
    assert all(request["messages"][0]["role"] == "system" for request in model.requests)
    assert all(not any(one["role"] == "system" for one in request["messages"][1:]) for request in model.requests)
    first, second = set(systems[: TURNS // 2]), set(systems[TURNS // 2 :])
    assert (len(first), len(second)) == (1, 1)
    assert "Atlas" in systems[0]
    assert "Bergen" in second.pop()
    assert "Bergen" not in first.pop()
    for number in (*range(1, TURNS // 2), *range(TURNS // 2 + 1, TURNS)):
        begins = f"<system>{systems[number]}"
        assert server.prompts[number].startswith(begins)
        assert answers[number].usage.cached_tokens >= len(begins) // 4  # as the server counts
        assert answers[number].usage.cached_tokens < answers[number].usage.prompt_tokens
    assert answers[0].usage.cached_tokens == 0
