from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.language.sentences import sentence_bounds, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I like tea. You like coffee!", ["I like tea.", "You like coffee!"]),
        ("What?! Really... Yes.", ["What?!", "Really...", "Yes."]),
        ("i like tea. my dog is old.", ["i like tea.", "my dog is old."]),
        ("Dr. Smith met Mrs. Jones. They talked.", ["Dr. Smith met Mrs. Jones.", "They talked."]),
        ("Fruit, e.g. apples. Good.", ["Fruit, e.g. apples.", "Good."]),
        ("I was in the U.S. last year. It rained.", ["I was in the U.S. last year.", "It rained."]),
        ("I left the U.S. It rained.", ["I left the U.S.", "It rained."]),
        ("J. Smith called. So do I. He left.", ["J. Smith called.", "So do I.", "He left."]),
        ("We live in St. Louis. It is hot.", ["We live in St. Louis.", "It is hot."]),
        ("See No. 5 there. Is it fine? No. It is not.", ["See No. 5 there.", "Is it fine?", "No.", "It is not."]),
        ("It costs 3.5 euros at shop.example.org today.", ["It costs 3.5 euros at shop.example.org today."]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("one\ntwo\r\n\r\nthree", ["one", "two", "three"]),
        ("我叫李明。你呢？我住在上海！", ["我叫李明。", "你呢？", "我住在上海！"]),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。”", "然后走了。"]),
        ("真的?我不信!好吧。", ["真的?", "我不信!", "好吧。"]),
        ("I love 火锅。 Do you?", ["I love 火锅。", "Do you?"]),
        ("no end", ["no end"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_splits(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.text(alphabet=st.sampled_from("aI S.t!?…。！？\n\"”我 '…é😊"), max_size=60))
def test_sentences_are_pieces_of_the_text_in_order(text: str) -> None:
    position = 0
    for sentence in split_sentences(text):
        assert sentence == sentence.strip()
        position = text.index(sentence, position) + len(sentence)


@given(st.text(max_size=80))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@given(st.text(alphabet=st.sampled_from("aI S.t!?…。！？\n\r\"”我 'é"), max_size=12))
def test_a_line_without_a_mark_is_split_like_any_other(text: str) -> None:
    pieces = (text[start:end].strip() for start, end in sentence_bounds(text))
    assert split_sentences(text) == [piece for piece in pieces if piece]


def test_a_long_run_of_marks_stays_cheap() -> None:
    assert split_sentences("." * 100_000 + "x") == ["." * 100_000 + "x"]


def test_a_long_run_of_marks_is_read_once() -> None:
    """It was read again from each of its marks: 40,000 took two seconds."""
    began = time.thread_time()
    assert len(split_sentences("我住在成都" + "!" * 100_000 + "a")) == 1
    assert time.thread_time() - began < 2
