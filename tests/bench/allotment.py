"""A recall set small enough to check by hand: made-up people and their gardens."""

from __future__ import annotations

import json


def turn(name, text, role="user", **more):
    return {"id": name, "role": role, "text": text, **more}


SPRING = [
    turn("a1", "I sowed leeks behind the shed.", speaker="Mara", at="2024-03-02T09:00:00Z"),
    turn("a2", "Leeks need about five months.", "assistant", speaker=None, at=None),
    turn("a3", "Look at this.", speaker="Mara", caption="a raised bed made of oak"),
]
SUMMER = [
    turn("b1", "Slugs ate every leek last night.", speaker="Mara", at="2024-06-11T18:30:00Z"),
    turn("b2", "Copper tape keeps slugs away.", "assistant"),
]


def talk(user, *sessions):
    return {"user": user, "sessions": [{"name": name, "turns": turns} for name, turns in sessions]}


def ask(text, *groups, user="mara", **more):
    return {"user": user, "text": text, "evidence": list(groups), **more}


CONVERSATIONS = [talk("mara", ("spring", SPRING), ("summer", SUMMER))]
QUESTIONS = [
    ask("What happened to the leeks?", ["a1"], ["b1"], type="two steps", at="2024-07-01T00:00:00Z", answer="Eaten."),
    ask("Which wood is the raised bed made of?", ["a3"], type="photo"),
]


def recall_set(path, conversations=CONVERSATIONS, questions=QUESTIONS, **more):
    """Write a file; returns its path."""
    content = {"conversations": list(conversations), "questions": list(questions), **more}
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return path
