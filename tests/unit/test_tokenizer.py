"""Token counts: as the tokenizer cuts the whole text, whatever it is made of."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryos.models.tokenizer import count_tokens, word_pieces

texts = st.text(
    st.sampled_from("ab cé茶🍵.\n\u0301#\x1c\u2028\x85\u00a0\u3000Ａきが한ไท\U0002a700Z_'-09\t\u200d"), max_size=60
)


@settings(max_examples=300, deadline=None)
@given(texts | st.text(max_size=60))
@example("word " * 50 + "x" * 200)
@example("8 May 2023\nCaroline: 我喜欢tea!")
def test_the_count_is_that_of_the_tokenizer(text: str):
    assert count_tokens(text) == len(word_pieces().encode(text, add_special_tokens=False).ids)


@settings(max_examples=100, deadline=None)
@given(texts, texts)
def test_the_count_of_two_lines_is_the_sum_of_both(one: str, other: str):
    assert count_tokens(f"{one}\n{other}") == count_tokens(one) + count_tokens(other)
