"""What was said several times is told once, and nothing is taken for a repetition that says something else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import Memory, Role, Strategy, Turn
from memoryos.operation.recall.repetition import told_once

from .conftest import NOW

RANKED = [strategy for strategy in Strategy if strategy is not Strategy.TWO_STAGE]
SAID = "The teapot of my aunt is blue."
SAME = ["the teapot of  my aunt\tis BLUE", "Oh, the teapot of my aunt is blue!", '"The teapot of my aunt is blue"...']


def add(memory: Memory, *texts: str, speaker: str = "Ann", role: Role = Role.USER, days: int = 1) -> list[str]:
    """A page for each text, some days apart."""
    start = NOW - timedelta(days=40)
    ids = []
    for number, text in enumerate(texts):
        ids += memory.add_many([Turn(role=role, text=text, speaker=speaker, at=start + timedelta(days=number * days))])
    return ids


def told(memory: Memory, **options) -> list[str]:
    return [turn.turn.text for turn in memory.search("Which teapot is blue?", **options).turns]


@pytest.mark.parametrize("strategy", RANKED)
def test_it_is_told_once_while_there_is_something_else(open_memory, strategy):
    memory = open_memory()
    others = [f"The teapot number {number} is blue, of course." for number in range(4)]
    add(memory, SAID, *SAME, *others)
    found = told(memory, strategy=strategy, pages=5)
    assert len([text for text in found if text in (SAID, *SAME)]) == 1
    assert sorted(text for text in found if text in others) == others


@pytest.mark.parametrize("strategy", RANKED)
def test_it_comes_last_when_there_is_nothing_else(open_memory, strategy):
    memory = open_memory()
    add(memory, SAID, *SAME, "The teapot number 7 is blue, of course.")
    for pages in range(1, 7):
        found = told(memory, strategy=strategy, pages=pages)
        assert len(found) == min(pages, 5)
        assert len({text for text in found[:2] if text in (SAID, *SAME)}) <= 1
    assert found[2:] == [text for text in found if text in (SAID, *SAME)][1:]


@pytest.mark.parametrize("strategy", RANKED)
def test_fewer_pages_are_the_first_of_more(open_memory, strategy):
    memory = open_memory()
    add(memory, *[f"{SAID} {SAID}" for _ in range(7)], *[f"A blue teapot, number {n}" for n in range(9)], SAID, *SAME)
    whole = told(memory, strategy=strategy, pages=50)
    assert len(whole) == 20
    for pages in range(1, 20):
        assert told(memory, strategy=strategy, pages=pages) == whole[:pages]


def test_a_store_full_of_it_still_gives_what_was_asked_for(open_memory):
    memory = open_memory()
    add(memory, *[SAID] * 60, "A teapot", days=0)
    assert len(told(memory, pages=10)) == 10
    assert len(set(told(memory, pages=10))) <= 2


@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "other"),
    [
        (SAID, "The teapot of my aunt is not blue."),
        (SAID, "The teapot of my aunt is red."),
        (SAID, "The teapots of my aunt are blue."),
        (SAID, "The teapot of my aunt is blue?"),
        ("The teapot cost 15 euros, it is blue", "The teapot cost 16 euros, it is blue"),
        ("The teapot cost 1.5 euros, it is blue", "The teapot cost 15 euros, it is blue"),
        ("It is -5 degrees in the blue teapot", "It is 5 degrees in the blue teapot"),
        ("The blue teapot weighs .5 kilos, I guess", "The blue teapot weighs 5 kilos, I guess"),
        ("The blue teapot is some 5' tall", 'The blue teapot is some 5" tall'),
        ("The blue teapot cost ~5 euros, I guess", "The blue teapot cost 5 euros, I guess"),
        ("The blue teapot is from Anna Berg", "The blue teapot is from Anne Berg"),
        ("A teapot with vitamin A, it is blue", "A teapot with vitamin, it is blue"),
        ("The blue teapot broke today, sadly 👍", "The blue teapot broke today, sadly 👎"),
        ("I can't use that blue teapot now", "I can use that blue teapot now"),
        ("The blue teapot broke yesterday at noon", "The blue teapot broke yesterday at noon"),  # on another day
        ("Blue teapot!", "Blue teapot!"),  # too short to mean the same everywhere
        ("我姑妈的茶壶是蓝色的", "我姑妈的茶壶不是蓝色的"),
    ],
)
def test_what_differs_is_told(open_memory, text, other):
    memory = open_memory()
    add(memory, text, other, "A blue teapot, once more", "Another blue teapot, once more")
    found = memory.search("Which teapot is blue?", pages=4).turns
    first, again = told_once((turn, False) for turn in found)
    assert len(found) == len(first) == 4
    assert again == []


@pytest.mark.once
def test_two_speakers_never_repeat_each_other(open_memory):
    memory = open_memory()
    add(memory, SAID)
    add(memory, SAID, speaker="Bob")
    add(memory, SAID, speaker="Bob", role=Role.ASSISTANT)
    add(memory, "A teapot, not a blue one")
    found = memory.search("Which teapot is blue?", pages=3).turns
    assert sorted(turn.turn.speaker for turn in found if turn.turn.text == SAID) == ["Ann", "Bob"]


def exchange(memory: Memory, question: str, answer: str, hours: int) -> None:
    memory.add(question, answer, at=NOW - timedelta(hours=hours))


def test_an_answer_repeats_only_what_answers_the_same(open_memory):
    memory = open_memory()
    answer = "At the corner shop near the old church."
    for hours, question in enumerate(
        ["Where is the blue teapot?", "Where is the red kettle?", "Where is the blue  TEAPOT?"]
    ):
        exchange(memory, question, answer, 20 * (hours + 1))
    memory.add("A kettle, and a shop near a church")
    found = memory.search("corner shop church", pages=3).turns
    assert len([turn for turn in found if turn.turn.text == answer]) == 2


def test_an_answer_to_a_question_on_another_page_repeats_nothing(open_memory):
    memory = open_memory()
    place = "At the corner shop near the old church."
    for number, question in enumerate(("Where is the blue teapot?", "Where is the red kettle?")):
        at = NOW - timedelta(days=9 - number)
        memory.add(None, question, at=at)
        memory.add(place, at=at)
    memory.add("A kettle, and a shop near a church")
    assert [turn.turn.text for turn in memory.search("corner shop church", pages=2).turns].count(place) == 2


@pytest.mark.parametrize(
    ("same", "other"),
    [
        ("I drank tea with honey today.", "My sister keeps the tea in the blue tin."),  # of another day each
        ("I like tea.", "My sister keeps the tea in the blue tin."),  # short
        ("今天我喝了加蜂蜜的茶。", "我姐姐把茶放在蓝色的罐子里。"),
    ],
)
def test_the_same_words_of_many_days_leave_room_for_others(open_memory, same, other):
    memory = open_memory(embedder="static")
    for day in range(60):
        memory.add(same, "Good to know.", at=NOW - timedelta(days=90 - day))
        if day == 3:
            memory.add(other, "Nice.", at=NOW - timedelta(days=87))
    query = "茶在哪里？" if "茶" in same else "Where is the tea?"
    found = [turn.text for turn in memory.search(query, pages=50).turns]
    assert other in found
    assert found.index(other) <= 3
    context = memory.context(query, tokens=200)
    assert other in context.text
    assert same in context.text
