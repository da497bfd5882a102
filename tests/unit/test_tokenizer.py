"""Token counts: as the tokenizer cuts the whole text, and by characters where it knows nothing of it."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryos.models.tokenizer import count_tokens, word_pieces

known = st.text(st.sampled_from("ab cé茶.\n#\x1c\x85\u00a0\u3000Z_'-09\t"), max_size=60)
texts = st.text(
    st.sampled_from("ab cé茶🍵.\n\u0301#\x1c\u2028\x85\u00a0\u3000Ａきが한ไท\U0002a700Z_'-09\t\u200d"), max_size=60
)

# Texts that the tokenizer takes for one unknown word, or drops, and their tokens as o200k_base counts them.
RANDOM = random.Random(1)
STRANGE = {
    "base64": (base64.b64encode(RANDOM.randbytes(3000)).decode(), 2723),
    "base64 of a text": ("QmFzZTY0IHRlc3Q" * 200, 2201),
    "hex": ("deadbeef0123" * 200, 1000),
    "laughter": ("😂😂🎉" * 300, 1200),
    "a family": ("👩‍👩‍👧‍👦" * 200, 2200),
    "flags": ("🇩🇪🇫🇷🇯🇵" * 100, 1200),
    "emoji as words": ("😀 🎉 🍕 🦊 " * 100, 801),
    "kana": (
        "わたしはきのうともだちとこうえんでさくらをみましたとてもきれいだったのでしゃしんをたくさんとりました" * 20,
        720,
    ),
    "Thai": ("เมื่อวานฉันไปสวนสาธารณะกับเพื่อนและดูดอกไม้สวยมากถ่ายรูปเยอะแยะแล้วกลับบ้านกินข้าวเย็นกับครอบครัว" * 20, 840),
    "Hangul": ("어제우리는마리나와함께농장에가서사과를따고지붕을고치고저녁에차를마셨다" * 20, 700),
    "Hindi": ("कल हम मरीना के साथ खेत गए और सेब इकट्ठा किए फिर छत की मरम्मत की और शाम को चाय पी। " * 20, 641),
    "joiners": ("\u200d" * 1000, 1000),
    "accents": ("a" + "\u0301" * 1000, 1001),
    "controls": ("\x01\x02\x1b" * 200, 600),
}


@settings(max_examples=300)
@given(known)
@example("word " * 50)
@example("8 May 2023\nCaroline: 我喜欢tea!")
@example("昨天，我们去了农场；然后修理了屋顶。")
@example("вчера мы с Мариной ездили на дачу, собирали яблоки")
@example("ذهبنا أمس مع مريم إلى المزرعة، وجمعنا التفاح")
@example("Äpfel und Übermut in der Donaudampfschifffahrtsgesellschaft")
def test_the_count_is_that_of_the_tokenizer(text: str):
    assert count_tokens(text) == len(list(word_pieces().cut(text)))


@settings(max_examples=100)
@given(texts, texts)
def test_the_count_of_two_lines_is_the_sum_of_both(one: str, other: str):
    assert count_tokens(f"{one}\n{other}") == count_tokens(one) + count_tokens(other)


@settings(max_examples=300)
@given(texts | st.text(max_size=60))
def test_the_count_is_never_below_that_of_the_tokenizer(text: str):
    assert count_tokens(text) >= len(list(word_pieces().cut(text)))


@pytest.mark.parametrize("name", STRANGE)
def test_what_the_tokenizer_does_not_know_counts_by_its_characters(name: str):
    text, tokens = STRANGE[name]

    assert tokens / 1.25 <= count_tokens(text) <= 2 * tokens
