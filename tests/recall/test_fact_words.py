"""The words of facts: how much of a question each has, the rarer a word the more."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryos.cube import Fact
from memoryos.kinds import Subject
from memoryos.language.words import index_words
from memoryos.operation.index.fact_words import FactWords, share_of

pytestmark = pytest.mark.once

WORDS = ["boats", "boat", "tea", "Oslo", "17", "茶杯"]


def test_a_rare_word_weighs_more_and_all_together_weigh_one(cube):
    words = FactWords()
    for text in ("tea in Oslo", "tea in Rome", "tea in Lima", "a boat"):
        words.put(cube(Fact(subject=Subject.USER, text=text)))
    weights = words.weights(index_words("tea in Oslo"))
    assert weights["oslo"] > weights["tea"]
    assert sum(weights.values()) == pytest.approx(1)
    assert words.weights([]) == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.lists(st.sampled_from(WORDS), max_size=4))),
    st.sets(st.sampled_from(WORDS)),
)
def test_shares_are_those_of_the_facts_that_are_there(cube, changes, asked):
    words, there = FactWords(), {}
    for name, said in changes:
        if said:
            there[name] = cube(Fact(subject=Subject.USER, text=" ".join(said)), id=name)
            words.put(there[name])
        else:
            there.pop(name, None)
            words.drop(name)
    weights = words.weights([form for word in sorted(asked) for form in index_words(word)])
    expected = {name: share for name, fact in there.items() if (share := share_of(fact.text, weights))}
    assert dict(words.shares(weights)) == pytest.approx(expected)
