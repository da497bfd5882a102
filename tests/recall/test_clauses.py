"""The best of each clause of a compound question comes early, however much was said about the other."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.once

HOME = "We moved into the flat on Harbour Street."


@pytest.fixture
def memory(open_memory):
    memory = open_memory()
    toys = "ball rope stick bone frisbee duck shoe sock ring log apple carrot".split()
    for toy in toys:
        memory.add(f"My dog Rolf likes to play with his {toy} in the garden.")
    memory.add(HOME)
    return memory


QUESTION = "What does my dog Rolf like to play with in the garden? And which street is home?"


def test_the_answer_to_the_second_clause_comes_early(memory):
    found = memory.search(QUESTION)
    assert HOME in [turn.text for turn in found.turns[:2]]  # it was the last of all
    assert "Rolf" in found.turns[0].text
    assert "Harbour Street" in memory.context(QUESTION, tokens=100).text


def test_the_score_is_the_sum_of_its_parts_and_orders_the_turns(memory):
    found = memory.search(QUESTION, explain=True, pages=13).turns
    scores = [turn.score for turn in found]
    assert scores == sorted(scores, reverse=True)
    assert [sum(turn.parts.values()) for turn in found] == pytest.approx(scores, abs=1e-4)
    assert any("clause" in turn.parts for turn in found)


def test_filters_apply_before_a_clause_is_answered(memory):
    memory.add("The flat on Mill Street is theirs.", tags=["other"])
    found = memory.search(QUESTION, tags=["other"])
    assert [turn.text for turn in found.turns] == ["The flat on Mill Street is theirs."]
    assert memory.search(QUESTION, tags=["none"]).turns == ()


def test_a_single_question_has_no_such_part(memory):
    found = memory.search("Which street is the flat on?", explain=True)
    assert all("clause" not in turn.parts for turn in found.turns)
