"""Passages of a text: all of it, in order, cut where the text is cut, none too long."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.language.passages import LONGEST, SMALL, TARGET, estimated_tokens, passage_bounds
from memoryos.models.tokenizer import count_tokens

SENTENCE = "The bees of the old monastery fly to the lavender fields behind the hill every morning. "
PARAGRAPH = SENTENCE * 3
CODE = "```python\n" + "\n\n".join(f"def step_{n}(value):\n    return value + {n}" for n in range(6)) + "\n```"
PIECES = [
    SENTENCE,
    PARAGRAPH,
    CODE,
    "\n\n",
    "\n",
    "# Heading\n",
    "- item\n",
    "| a | b |\n",
    "我在杭州养蜜蜂。",
    "x" * 300,
]
PIECES += [
    "```",
    "~~~",
    " ",
    "\r\n",
    "e\u0301",
    "👩‍👩‍👧",
    "0123456789" * 50,
    "Note:\n",
    "привет ",
    "東京は。",
    "|---|---|\n",
]

texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))


def passages(text: str) -> list[str]:
    return [text[start:end] for start, end in passage_bounds(text)]


@given(texts)
def test_all_but_white_space_is_in_one_passage_in_order(text):
    bounds = passage_bounds(text)
    gaps = [(0, bounds[0][0]), *((one[1], other[0]) for one, other in pairwise(bounds)), (bounds[-1][1], len(text))]
    assert all(start <= end for start, end in (*bounds, *gaps))
    assert not "".join(text[start:end] for start, end in gaps).strip()


@given(texts)
def test_none_is_too_long_nor_empty(text):
    found = passages(text)
    assert all(estimated_tokens(passage) <= LONGEST for passage in found)
    assert len(found) == 1 or all(passage.strip() for passage in found)


@given(texts)
def test_a_text_that_is_not_too_long_stays_whole(text):
    if estimated_tokens(text) <= LONGEST:
        assert passage_bounds(text) == [(0, len(text))]
    else:
        assert len(passage_bounds(text)) > 1


def test_paragraphs_are_joined_up_to_the_target():
    text = "\n\n".join([PARAGRAPH.strip()] * 12)
    found = passages(text)
    assert all(passage.startswith("The bees") and passage.endswith("morning.") for passage in found)
    assert all(TARGET / 2 < estimated_tokens(passage) <= LONGEST for passage in found)


def test_a_heading_goes_with_what_follows():
    text = "\n\n".join(f"## Part {n}\n\n{PARAGRAPH.strip()}\n\n{PARAGRAPH.strip()}" for n in range(8))
    assert all(not passage.splitlines()[-1].startswith("#") for passage in passages(text))


def test_a_list_keeps_its_items_whole_and_its_lead_in():
    items = "\n".join(f"- {SENTENCE.strip()} ({n})" for n in range(30))
    found = passages(f"{PARAGRAPH}\n\nThese are the rules:\n{items}")
    assert sum("These are the rules:\n- The bees" in passage for passage in found) == 1
    assert all(line.startswith("- ") for passage in found[1:] for line in passage.splitlines())


def test_a_block_of_code_that_fits_stays_whole():
    found = passages(f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n{CODE}\n\n{PARAGRAPH}")
    assert sum(CODE in passage for passage in found) == 1


def test_a_long_block_of_code_is_cut_between_its_parts():
    parts = [f"def step_{n}(value):\n    total = value + {n}\n    return total * 2" for n in range(40)]
    found = passages("```python\n" + "\n\n".join(parts) + "\n```")
    assert len(found) > 3
    assert all(any(part in passage for passage in found) for part in parts)


def test_rows_of_a_table_stay_whole():
    rows = [f"| {n} | {SENTENCE.strip()} | {n * n} |" for n in range(40)]
    found = passages("\n".join(["| n | text | square |", "|---|---|---|", *rows]))
    assert [line for passage in found for line in passage.splitlines()][2:] == rows


@pytest.mark.parametrize(
    "sentence", [SENTENCE, "我在杭州的山上养蜜蜂，它们喜欢薰衣草。", "私は京都の山で蜜蜂を飼っています。"]
)
def test_a_long_paragraph_is_cut_at_sentences(sentence):
    found = passages(sentence * 80)
    assert len(found) > 5
    assert all(passage[-1] == sentence.strip()[-1] and passage[0] == sentence[0] for passage in found)


@pytest.mark.parametrize("text", ["dGhlIGJlZXM" * 2_000, "x" * 20_000, "7" * 20_000, "茶" * 20_000, "{}();" * 4_000])
def test_a_text_that_nothing_divides_is_cut_all_the_same(text):
    found = passages(text)
    assert "".join(found) == text
    assert all(SMALL <= estimated_tokens(passage) <= LONGEST for passage in found)


def test_words_stay_whole_where_there_is_nothing_but_words():
    words = [f"word{n}" for n in range(3_000)]
    assert " ".join(passages(" ".join(words))).split() == words


@pytest.mark.parametrize(
    "piece", [SENTENCE, "我在杭州养蜜蜂，它们喜欢薰衣草。", "for i in range(10): total += i\n", CODE]
)
def test_the_estimate_is_near_to_word_pieces(piece):
    text = piece * 20
    assert estimated_tokens(text) == pytest.approx(count_tokens(text), rel=0.15)


@pytest.mark.parametrize(
    "piece", ["```\n", "~~~ x\n", "\n \n", "a\n", "#\n\n", "|-|\n", "a:\n\n", " ", "。", "`", "****", "- -"]
)
def test_very_many_marks_are_cut(piece):
    text = (piece * 40_000)[:40_000]
    assert all(estimated_tokens(passage) <= LONGEST for passage in passages(text))
