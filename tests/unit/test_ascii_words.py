"""The words of ASCII text, which are found in another way, are those that the patterns find."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from memoryos.language.foreign import latin_language
from memoryos.language.words import words

ASCII = st.text(alphabet=st.characters(max_codepoint=127), max_size=60)


@given(ASCII)
def test_words(text: str) -> None:
    assert list(words(text)) == re.findall(r"\w+", text.lower(), re.ASCII)


@given(ASCII)
def test_marks_and_digits_do_not_change_the_language(text: str) -> None:
    plain = re.sub(r"[\W\d_]+", " ", text)
    assert latin_language(text) == latin_language(plain)


def test_the_language_of_a_text_with_marks() -> None:
    assert latin_language("Ich_habe,kein.Auto;aber-ein2Fahrrad") == "de"
    assert latin_language("I have no car, but a bicycle.") == "en"
