"""Which language a text is in, and its words there."""

from __future__ import annotations

import pytest

from memoryos.language.foreign import language_of
from memoryos.language.words import index_words, keywords, stem


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What did the man in the war die of?", "en"),
        ("I will die in the war, said the man.", "en"),
        ("José is at the café", "en"),
        ("The door code of the cabin is 4471.", "en"),
        ("Sue and Ben ran to the sea with the hay bin.", "en"),
        ("", "en"),
        ("42", "en"),
        ("Wie alt ist die Tochter?", "de"),
        ("¿Dónde vive mi hermana?", "es"),
        ("Où habite ma sœur maintenant ?", "fr"),
        ("Onde mora a minha irmã?", "pt"),
        ("Dove abita mia sorella adesso?", "it"),
        ("Где живёт моя сестра?", "ru"),
        ("أين تعيش أختي؟", "ar"),
        ("妹はどこに住んでいますか？", "ja"),
        ("我妹妹住在哪里？", "zh"),
    ],
)
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Wie alt ist die Tochter?", ("alt", "tochter")),
        ("The man will die in the war.", ("man", "die", "war")),
        ("The front door of the house is green.", ("front", "door", "house", "green")),
        ("¿Qué ha comprado en la ciudad?", ("comprado", "ciudad")),
        ("Что купила моя сестра?", ("купила", "сестра")),
    ],
)
def test_function_words_of_the_text_s_language_are_left_out(text: str, found: tuple[str, ...]) -> None:
    assert index_words(text) == found
    assert set(keywords(text)) == set(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("сестра", "сестру"),
        ("المدرسة", "مدرسة"),
        ("habitación", "habitacion"),
        ("straße", "strasse"),
        ("café", "cafe"),
        ("runs", "run"),
    ],
)
def test_forms_that_are_the_same_word(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_arabic_is_found_with_and_without_its_vowels() -> None:
    assert index_words("مُحَمَّد") == index_words("محمد") == ("محمد",)


def test_words_of_india_s_scripts_stay_whole() -> None:
    assert index_words("हिन्दी भाषा") == ("हिन्दी", "भाषा")


def test_japanese_characters_are_found_by_pairs_and_by_themselves() -> None:
    assert {"保険", "険会", "会社", "保", "社"} <= set(index_words("保険会社の面接"))


def test_characters_of_chinese_function_words_are_left_out() -> None:
    assert "什" not in index_words("你喜欢什么颜色？")
    assert {"颜色", "颜"} <= set(index_words("你喜欢什么颜色？"))


@pytest.mark.parametrize("text", ["我们上次聊了什么？", "我們上次聊了什麼？"])
def test_chinese_function_words_are_left_out_in_both_scripts(text: str) -> None:
    assert set(index_words(text)) == {"上次", "聊"}
