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
    for number in range(12):
        memory.add(TEA.rstrip(".") + "!" * number)
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
    memory.add(TEA)
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
