"""A context does not repeat what it already holds."""

from __future__ import annotations

import pytest

from memoryos import Memory, Role, Turn

pytestmark = pytest.mark.once

TEA = "I like green tea with honey."


def told(memory: Memory, question: str = "What tea do I like?", tokens: int = 200, **options) -> str:
    return memory.context(question, tokens=tokens, **options).text


def test_a_page_that_says_one_thing_many_times_says_it_once(open_memory):
    memory = open_memory()
    memory.add(f"{TEA} " * 400)
    memory.add("My sister Ana gave me a tea pot.")
    text = told(memory)
    assert text.count("green tea") == 1
    assert "Ana" in text


def test_near_copies_do_not_fill_a_small_text(open_memory):
    memory = open_memory()
    memory.add(" ".join(TEA.rstrip(".") + "!" * number for number in range(1, 12)))
    memory.add("My sister Ana gave me a tea pot.")
    text = told(memory, tokens=60)
    assert text.count("green tea") == 1
    assert "Ana" in text


def test_chinese_is_told_once(open_memory):
    memory = open_memory()
    memory.add("我喜欢绿茶加蜂蜜，每天早上都喝。" * 300)
    assert told(memory, "我喜欢喝什么茶？").count("绿茶") == 1


def test_what_is_new_in_a_page_that_repeats_is_told(open_memory):
    memory = open_memory()
    memory.add(f"{TEA} {TEA} {TEA} On Sundays it is black tea.")
    text = told(memory)
    assert text.count("green tea") == 1
    assert "black tea" in text


def test_a_line_that_repeats_less_than_half_of_itself_stays_whole(open_memory):
    memory = open_memory()
    memory.add(TEA)
    memory.add(f"{TEA} The pot came from Ana, who found it in a shop in Kyoto.")
    assert told(memory).count("green tea") == 2


def test_others_and_other_days_and_other_answers_are_told_again(open_memory):
    memory = open_memory()
    said = [
        ("I drank green tea with honey today.", "2026-05-01"),
        ("I drank green tea with honey today.", "2026-05-02"),
        ("I drank green tea with honey on trip 5.", "2026-05-03"),
        ("I drank green tea with honey on trip 6.", "2026-05-03"),
    ]
    for text, day in said:
        memory.add(text, at=f"{day}T10:00Z")
    assert told(memory, "When did I drink green tea with honey?").count("green tea") == 4
    for name in ("Ann", "Bob"):
        memory.add_many([Turn(role=Role.USER, text="Cats are better than dogs, I think.", speaker=name)])
    assert told(memory, "Who thinks cats are better than dogs?").count("better than dogs") == 2
    for question in ("Shall we go to Rome?", "Shall we take the train?"):
        asking, answer = Turn(role=Role.USER, text=question), "Yes, I would love to do that with you."
        memory.add_many([asking, Turn(role=Role.ASSISTANT, text=answer)])
    assert told(memory, "What would you love to do with me?", 400).count("would love to do that") == 2


def test_what_several_pages_say_is_told_of_each(open_memory):
    """Documents that say the same are about several things, and what is said on several days happened on each."""
    memory = open_memory()
    for name in "ABC":
        memory.add("The maximum pressure is 10 bar. Check the valve every week.", title=f"Manual of boiler {name}")
    text = told(memory, "Which boilers have a maximum pressure of 10 bar?", 600)
    assert all(f"boiler {name}" in text for name in "ABC")
    for day in (1, 8, 15):
        memory.add("I ran ten kilometres through the city park.", "Well done!", at=f"2026-05-{day:02}T10:00Z")
    text = told(memory, "On which days did I run through the park?", 600)
    assert all(f"{day} May 2026" in text for day in (1, 8, 15))
    memory.add("I am bored.", "Would you like to move to Oslo?")
    memory.add("Yes, I would like that very much indeed.", "Good. Would you like to get a dog?")
    memory.add("Yes, I would like that very much indeed.", "Noted.")
    assert told(memory, "Would I like to move to Oslo and get a dog?", 600).count("would like that very much") == 2
