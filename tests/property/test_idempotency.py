"""However often messages are delivered, and whatever happens in between, the memory holds each as if it came once."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import memoryos
from memoryos.models.hashing import Hashing

STEPS = st.tuples(st.sampled_from(["deliver", "deliver", "correct", "delete", "restart"]), st.integers(0, 4))


def key(number):
    return f"message {number}"


@settings(max_examples=25)
@given(st.lists(STEPS, max_size=14))
def test_messages_delivered_again_and_again_are_there_once(steps):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        memory = memoryos.open(path, user="tom", embedder=Hashing())
        ids, words = {}, {}  # of each message: its page, and what the memory should say of it
        for step, number in steps:
            if step == "deliver":
                page = memory.add(f"This is message {number}.", idempotency_key=key(number))
                words.setdefault(number, f"user: This is message {number}.")
                assert ids.setdefault(number, page) == page
            elif step == "restart":
                memory.close()
                memory = memoryos.open(path, user="tom", embedder=Hashing())
            elif words.get(number) and step == "correct":
                memory.update(ids[number], "A correction.")
                words[number] = "user: A correction."
            elif words.get(number) and step == "delete":
                memory.delete(ids[number])
                words[number] = None
        expected = [(ids[number], said) for number, said in words.items() if said]
        assert [(page.id, page.text) for page in memory.pages.list()] == expected
        memory.close()
