"""What is played, or taken back in the next turn, does not stay in the profile."""

from __future__ import annotations

import pytest

from memoryos import Memory

from .test_outright import facts, fields
from .world import World


@pytest.fixture
def memory(world: World) -> Memory:
    return world.open(recent_within_seconds=0)


def said(memory: Memory, *texts: str, waits: bool) -> None:
    for text in texts:
        memory.add(text, "Okay.")
        if waits:
            memory.wait()
    memory.wait()


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Let's role-play: I'm a knight.", "I live in a castle."),
        ("Let's play a game: you're the detective and I'm the butler.", "I work in a big manor."),
        ("我们来玩角色扮演吧，我是一个老将军。", "我住在边关。我有三万士兵。"),
        ("I'm a plumber and I live in Oslo.", "I'm kidding!"),
        ("I'm a plumber and I live in Oslo.", "Haha, just kidding."),
        ("我住在上海，我是一名护士。", "开玩笑的。"),
    ],
)
def test_what_is_not_meant_is_forgotten(memory: Memory, first: str, second: str, waits: bool) -> None:
    said(memory, first, second, waits=waits)
    assert (facts(memory), fields(memory)) == ([], {})


@pytest.mark.parametrize("waits", [True, False])
def test_what_was_said_before_the_joke_stands(memory: Memory, waits: bool) -> None:
    said(memory, "I live in Oslo.", "I'm a millionaire.", "I'm joking!", waits=waits)
    assert (facts(memory), fields(memory)) == (["User lives in Oslo."], {"location": "Oslo"})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Let's role-play: I'm a knight.", "Okay, enough. I live in Oslo."),
        ("I love board games.", "I live in Oslo."),
        ("I own a boat.", "No kidding, I live in Oslo."),
    ],
)
def test_what_is_meant_beside_it_is_known(memory: Memory, first: str, second: str) -> None:
    said(memory, first, second, waits=True)
    assert "User lives in Oslo." in " ".join(facts(memory))


def test_a_new_occupation_ends_the_one_that_was_said_with_the_employer(memory: Memory) -> None:
    said(memory, "I work at Google as an engineer.", "I'm a teacher now.", waits=True)
    assert fields(memory)["occupation"] == "teacher"
    assert "User works as an engineer." not in facts(memory)
