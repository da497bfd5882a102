"""Extractive summaries: short, made of what was said, and extended rather than made again."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.language.summary import Sentence, commonness, cover, extended, joined, running, sentences

LIMIT = 120

WORDS = "kettle parrot ferry Oslo violin marathon honey winter museum garden 蜜蜂 花园 杭州 音乐会".split()
SHAPES = ["{0}", "{0}.", "{0}! Dr. {0} knows.", "{0}。{0}？", "{0}\n{0}"]

said_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
texts = st.lists(st.builds(str.format, st.sampled_from(SHAPES), said_words), max_size=12)
parts = st.lists(texts, max_size=4)


def made(*said: list[str], written: str = "") -> str:
    summary = written
    for one in said:
        summary = extended(summary, one, limit_chars=LIMIT, written=written)
    return summary


def lines(summary: str) -> list[str]:
    return [line for line in summary.split("\n") if line]


@given(parts)
def test_a_summary_is_short_and_each_line_of_it_was_said(said):
    summary = made(*said)
    assert len(summary) <= LIMIT
    known = {one.text for one in sentences(text for part in said for text in part)}
    assert set(lines(summary)) <= known
    assert len(set(lines(summary))) == len(lines(summary))


@given(parts)
def test_its_sentences_can_be_told_apart_again(said):
    summary = made(*said)
    assert [one.text for one in sentences([summary])] == lines(summary)


@given(parts)
def test_to_say_it_again_changes_nothing(said):
    summary = made(*said)
    assert made(*said, lines(summary)) == summary
    assert made(*said, []) == summary


@given(parts, st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join))
def test_what_a_model_wrote_stays_in_front_and_is_extended(said, words):
    written = f"They spoke of {words}."
    summary = made(*said, written=written)
    assert summary.startswith(written)
    assert len(summary) <= len(written) + 1 + LIMIT
    assert not {form for one in sentences([summary.removeprefix(written)]) for form in one.stems}.issubset(
        sentences([written])[0].stems
    ) or lines(summary) == [written]


def test_a_sentence_gets_in_by_what_it_adds():
    summary = made(["The kettle is green.", "A green kettle!", "It whistles at noon."])
    assert lines(summary) == ["The kettle is green.", "It whistles at noon."]


def test_the_sentences_with_most_weight_get_in():
    said = ["The tram was late again this morning, the driver had no idea why.", "Parrots eat nuts.", "A parrot flew."]
    weights = {"parrot": 5.0, "nut": 3.0, "tram": 1.0}
    assert extended("", said, limit_chars=40, weights=weights) == "Parrots eat nuts."


def test_an_old_summary_on_one_line_is_taken_apart():
    assert lines(extended("I like tea. I drink it hot.", ["The cup is blue."], limit_chars=LIMIT)) == [
        "I like tea.",
        "I drink it hot.",
        "The cup is blue.",
    ]


def test_a_long_run_of_words_is_cut():
    assert len(extended("", ["violin museum " * 400], limit_chars=1000)) <= 240


@given(texts, st.integers(0, 60))
def test_a_cover_fits_in_any_measure(said, limit):
    found = sentences(said)
    chosen = cover(found, commonness(found), limit=limit, cost=lambda text: len(text.split()))
    assert not chosen or sum(len(one.text.split()) + 1 for one in chosen) - 1 <= limit
    assert chosen == [one for one in found if one in chosen]


def test_a_cover_leaves_out_what_is_covered():
    found = sentences(["The kettle whistles.", "A parrot sings."])
    assert [one.text for one in cover(found, commonness(found), limit=99, covered={"kettl", "whistl"})] == [
        "A parrot sings."
    ]


@pytest.mark.parametrize(
    ("speakers", "line"),
    [(("Ann", "Ann", "Ben"), "Ann: a b | Ben: c"), (("", "Ann", "Ann"), "a | Ann: b c"), (("", "", ""), "a b c")],
)
def test_who_says_several_sentences_is_named_once(speakers, line):
    quotes = [Sentence(text, frozenset(), speaker) for text, speaker in zip("abc", speakers, strict=True)]
    assert running(quotes) == line


def test_nothing_joins_to_nothing():
    assert joined(["", ""]) == made([]) == ""


def test_the_sentences_of_many_long_lines_are_not_kept():
    for number in range(12):
        sentences([" ".join(f"Bees number {number} make honey {one}." for one in range(50))])
    gc.collect()
    found = [one for one in gc.get_objects() if type(one) is Sentence]  # `isinstance` asks objects of others, too
    kept = [one for one in found if one.text.startswith("Bees number")]
    assert len(kept) <= 8 * 50, "of the latest eight"
