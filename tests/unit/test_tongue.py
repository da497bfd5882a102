"""The language of a text, and whether texts of two languages use the same words."""

from __future__ import annotations

import pytest

from memoryos.language.marks import asks_judgement
from memoryos.language.tongue import Tongue, is_foreign, tongue

TEXTS = {
    "Where did I put the keys?": Tongue.ENGLISH,
    "We had jalapeño and crème brûlée at the café.": Tongue.ENGLISH,
    "The fiancée’s résumé says she was at the café.": Tongue.ENGLISH,
    "我们去东边的车站。": Tongue.SIMPLIFIED,
    "我們去東邊的車站。": Tongue.TRADITIONAL,
    "今天下雨": Tongue.CHINESE,
    "今日は駅へ行きました。": None,
    "¿Dónde está la estación?": None,
    "Wo steht mein Fahrrad?": None,
    "In welcher Stadt lebt mein Geschwister jetzt, das umgezogen ist?": None,
    "¿Qué me regaló mi hermano en la fiesta?": None,
    "Où ai-je rangé les clés de la maison ?": None,
    "أين المحطة؟": None,
    "I learned to say 你好 and 谢谢 at school today.": Tongue.ENGLISH,
    "My teacher 李 is from 東京 and says ありがとう to us.": Tongue.ENGLISH,
    "我用 Python 和 JavaScript 写代码。": Tongue.CHINESE,
    "": None,
    "!": None,
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_language_is_told_by_its_characters_and_function_words(text):
    assert tongue(text) is TEXTS[text]


@pytest.mark.parametrize("text", ["我住在北京。", "東京に住んでいます。", "Я живу в Москве.", "أنا أسكن في دبي"])
def test_a_text_in_another_language_is_foreign_to_english(text):
    assert is_foreign(text, Tongue.ENGLISH)


@pytest.mark.parametrize(
    "text", ["Where are the keys?", "boat keys", "42", "", "Zoë: ok", "你好 means hello in that language"]
)
def test_what_may_be_english_is_not_foreign_to_it(text):
    assert not is_foreign(text, Tongue.ENGLISH)


def test_chinese_is_foreign_to_the_other_script_alone():
    assert is_foreign("我們去東邊的車站。", Tongue.SIMPLIFIED)
    assert not is_foreign("今天下雨", Tongue.SIMPLIFIED)
    assert not is_foreign("Where did I put the keys?", Tongue.SIMPLIFIED)


def test_two_texts_may_use_the_same_words():
    assert Tongue.ENGLISH.may_be(Tongue.ENGLISH)
    assert Tongue.CHINESE.may_be(Tongue.TRADITIONAL)
    assert Tongue.SIMPLIFIED.may_be(Tongue.CHINESE)
    assert not Tongue.SIMPLIFIED.may_be(Tongue.TRADITIONAL)
    assert not Tongue.ENGLISH.may_be(Tongue.CHINESE)
    assert not Tongue.CHINESE.may_be(Tongue.ENGLISH)
    assert not Tongue.ENGLISH.may_be(None)


@pytest.mark.parametrize(
    "text",
    [
        "What should I cook?",
        "Would she like Oslo?",
        "Any ideas?",
        "Summarize it.",
        "What attributes describe Ann?",
        "What kind of person is Ben?",
        "今晚吃什么好？",
        "推薦一本書",
        "他是什么性格的人？",
    ],
)
def test_who_wants_advice_a_guess_or_a_summary_asks_for_judgement(text):
    assert asks_judgement(text)


@pytest.mark.parametrize("text", ["When did she move to Oslo?", "Where is the shoulder bag?", "她什么时候搬家的？"])
def test_who_asks_what_was_said_does_not(text):
    assert not asks_judgement(text)
