"""What somebody is to be told, and what somebody else's text had, is not believed of the user; what follows is."""

from __future__ import annotations

import pytest

from consolidation.test_faults import facts, statements
from consolidation.test_stance import flaw
from consolidation.told import told
from memoryos.operation.consolidation.grounding import Flaw
from memoryos.operation.consolidation.relayed import relayed

LEADS = """
Tell her
Please tell him
Tell my boss
Tell Tom
Could you text my brother
Write to Anna
Say to them
My sister's text read
Yesterday his last e-mail read
Tom's letter read
""".strip().splitlines()
# By what leads to it, what follows is the speaker's own.
OWN = """
Tell me more
Tell my friends
Tell Claude
Write to Memory
I told her
I tell her
I wrote to Tom
My text read
Today's note read
Text Size
Write my bio
Draft an email to my boss
提醒一下
我跟她说
""".strip().splitlines()


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("colon", [": ", ":", ":\n", "："])
def test_what_is_relayed_teaches_nothing(lead, colon):
    said = f"{lead}{colon}I play the violin."
    assert told(said) == ([], {})
    assert flaw(said, "I play the violin", "The user plays the violin.") is Flaw.OTHERS


@pytest.mark.parametrize("lead", OWN)
def test_what_another_lead_introduces_is_not_relayed(lead):
    assert list(relayed(f"{lead}: I play the violin.")) == []


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        ("Tell my boss: I'm a nurse. Anyway, I live in Oslo.", {"location": "Oslo"}),
        ("Tell her: I met Dr. Smith and I'm a nurse. I live in Oslo.", {"location": "Oslo"}),
        ("I live in Oslo. Tom's text read: I'm a nurse.", {"location": "Oslo"}),
        ('Tell her: "I\'m a nurse. I live in Rome." I live in Oslo.', {"location": "Oslo"}),
        ("Tell her: my boss says: I hate it. I live in Rome.\nI live in Oslo.", {"location": "Oslo"}),
    ],
)
def test_one_sentence_is_relayed(said, learned):
    assert told(said)[1] == learned


def test_what_follows_is_believed_of_a_model():
    said = "Tell my boss: I'm sick. Anyway, I live in Oslo."
    assert flaw(said, "I live in Oslo", "The user lives in Oslo.") is None


@pytest.mark.once
@pytest.mark.parametrize(("lead", "is_meant"), [("Tell her", False), ("I told her", True)])
def test_the_memory_keeps_what_is_told_and_not_what_is_relayed(opened, model, lead, is_meant):
    fact = "The user plays the violin."
    memory = opened()
    memory.add(f"{lead}: I play the violin.", "I see.")
    memory.add("Good night.", "Good night!")
    model.otherwise = statements({"page": 1, "fact": fact, "quote": "I play the violin"})
    memory.consolidate()
    assert facts(memory) == ([fact] if is_meant else [])


@pytest.mark.parametrize("words", ["Tell her: I x ", "Tell her: ", "Tell Tom： ", "my sister's ", "please ", "： "])
def test_leads_that_come_again_and_again_are_read_in_proportion(words):
    assert len(list(relayed(words * 5_000))) <= 1
