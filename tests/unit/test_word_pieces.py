"""Word pieces: the text is cut as the library `tokenizers` cuts it for the same model."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memoryos.models import word_pieces as under_test
from memoryos.models.word_pieces import word_pieces

SURROGATES = range(0xD800, 0xE000)
# Above 0x32400 there is no letter. What lies there is looked at one in 61, and whole at the ends of what has a class.
ENDS = (0xE0000, 0xF0000, 0x100000, 0x110000)
AT_ENDS = [code for end in ENDS for code in range(end - 64, min(end + 64, 0x110000))]
CODES = sorted({*range(0x32400), *range(0x32400, 0x110000, 61), *range(0xE0000, 0xE1000), *AT_ENDS})
CHARACTERS = [chr(code) for code in CODES if code not in SURROGATES]
BLOCK = 4096  # characters a text: a line with each

texts = st.text(
    st.sampled_from("ab cé茶🍵.\n\u0301#\x1c\u2028\x85\u00a0\u3000Ａきが한ไท\U0002a700Z_'-09\t\u200d[]MASKİßΣ"),
    max_size=60,
)


@pytest.fixture(scope="module")
def reference():
    tokenizer = Tokenizer.from_file(str(under_test._FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def cut(text):
        found = tokenizer.encode(text, add_special_tokens=False)
        return [(number, *place) for number, place in zip(found.ids, found.offsets, strict=True)]

    return cut


@settings(max_examples=300)
@given(texts)
@example("")
@example("unaffable Donaudampfschifffahrtsgesellschaft " * 3)
@example("x" * 100 + " " + "x" * 101)
@example("a [MASK] of[CLS]steel [mask] [UNK]")
@example("Ça va, José? naïve e\u0301t\u0308")
def test_a_text_is_cut_as_the_library_cuts_it(reference, text):
    assert list(word_pieces().cut(text)) == reference(text)


@pytest.mark.parametrize("around", ["{}", pytest.param("hel{}lo", marks=pytest.mark.long)])
def test_every_character_is_read_as_the_library_reads_it(reference, around):
    for start in range(0, len(CHARACTERS), BLOCK):
        text = "\n".join(map(around.format, CHARACTERS[start : start + BLOCK]))
        assert list(word_pieces().cut(text)) == reference(text), f"from {start:x}"


@settings(max_examples=300)
@given(texts)
@example("sentencepiece's")
def test_the_number_of_pieces_is_that_of_the_cut(text):
    number = word_pieces().number(text)
    ids = [piece.id for piece in word_pieces().cut(text)]
    is_left_to_the_cut = "[" in text or under_test.UNKNOWN in ids
    assert number == (None if is_left_to_the_cut else len(ids))
