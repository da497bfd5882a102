"""Request slots: which sentences fill what "my old job" or 我的地址 names, and which only look as if they did."""

from __future__ import annotations

import pytest

from memoryos.operation.requests.request_slots import asked_slot

FILLED = {
    "my old job": (
        "I worked at Barclays as an accountant until March.",
        "I quit my job at the bank.",
        "We worked for a small company then.",
        "User worked at Barclays as an accountant until March.",
        "I used to work as a nurse.",
        "I was fired last week.",
        "I worked at Ørsted until March.",
    ),
    "my job": ("I work at Acme.", "I'm working for the city council.", "I am a carpenter.", "I started at Siemens."),
    "my new job": ("I work at Acme now.", "I found a job at a bakery."),
    "我以前的工作": ("我以前在银行上班", "用户以前在银行上班。", "我去年辞职了。", "我以前当过老师。"),
    "我的工作": ("我在腾讯工作。", "我是木匠"),
    "my address": (
        "I live at Baker Street 5.",
        "I moved to 5 Main Street.",
        "User lives at Baker Street 5.",
        "I live at Øvregata 5.",
    ),
    "我的地址": ("我住在人民路5号。",),
    "my home": ("I live in Oslo.", "I live in Łódź.", "We moved to Bergen last week.", "我住在卑尔根"),
    "my old city": ("I lived in Rome as a child.",),
    "my name": (
        "I am called Bob.",
        "My name is Bob Stone.",
        "Please call me Bob.",
        "Call me Élodie.",
        "My name is Łukasz.",
    ),
    "我的名字": ("我叫王小明。",),
    "my phone number": ("You can reach me at 555-0100.", "My mobile is 555 010 022."),
    "我的电话号码": ("我的手机号是13800001111",),
    "my e-mail": ("Write me at bob@x.org.", "我的邮箱是bob@x.org"),
    "my birthday": ("I was born on 3 May 1990.", "我出生于1990年。"),
    "my age": ("I'm 30 years old.", "我今年30岁"),
    "my diet": ("I am vegetarian.", "I don't eat meat.", "我吃素。"),
    "my partner": ("My wife is Ana.", "我的老婆叫小红。"),
    "my pets": ("I have a cat named Tom.", "Our dog is old.", "我养了一只猫。"),
}
EMPTY = {
    "my old job": (
        "My sister's old job was at a school.",
        "My sister worked at a bank until March.",
        "I work at Acme now.",
        "I started at Siemens.",
        "I quit smoking.",
        "I worked in the garden.",
        "I worked at it all night.",
        "I left the bank at five.",
        "I retired to bed early.",
        "I work at Christmas.",
        "Tom quit his job.",
    ),
    "my job": ("I worked at Barclays until March.", "My brother works at Acme.", "I love my garden."),
    "我以前的工作": ("我妹妹以前在学校工作。", "我的朋友以前在银行上班。", "我在腾讯工作。", "他以前在银行上班。"),
    "my address": (
        "I live in Oslo.",
        "My brother lives at Main Street 5.",
        "I lived in 2019 in Oslo.",
        "I live at home.",
    ),
    "我的地址": ("我妈妈住在人民路5号。", "我住在奥斯陆。"),
    "my home": ("I live in fear.", "My sister lives in Rome.", "I lived in Rome as a child.", "我姐姐住在北京"),
    "my name": ("My dog is called Rex.", "Call me tomorrow.", "My sister is named Ana."),
    "我的名字": ("我叫了外卖。", "我妹妹叫小红。"),
    "my phone number": ("My sister's phone number is 555-0100.", "My phone is 5 years old.", "我的手机用了3年"),
    "my e-mail": ("My e-mail is broken.", "My boss has bob@x.org."),
    "my birthday": ("My sister was born on 3 May.",),
    "my age": ("My sister is 30 years old.", "我妹妹30岁"),
    "my diet": ("My wife is vegetarian.", "I don't eat breakfast.", "我妹妹吃素。"),
    "my partner": ("My wife's mother came.", "My sister's husband is Tom.", "我老婆的妈妈来了。"),
    "my pets": ("My neighbour's dog barks.", "I ate my hot dog.", "My sister has a cat."),
}


def pairs(table):
    return [(topic, sentence) for topic, sentences in table.items() for sentence in sentences]


@pytest.mark.parametrize(("topic", "sentence"), pairs(FILLED))
def test_what_the_user_says_fills_the_slot_that_a_topic_names(topic, sentence):
    assert asked_slot(topic).is_filled_by([sentence])


@pytest.mark.parametrize(("topic", "sentence"), pairs(EMPTY))
def test_another_person_another_time_and_another_sense_fill_nothing(topic, sentence):
    assert not asked_slot(topic).is_filled_by([sentence])


@pytest.mark.parametrize("topic", ["my sister's job", "the job", "my job interview", "我妹妹的工作", "my trip", ""])
def test_other_topics_name_no_slot(topic):
    assert asked_slot(topic) is None


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("my name", "The dentist will call me Monday."),
        ("my name", "Call me ASAP."),
        ("my phone number", "Please call me at 5 pm."),
        ("my pets", "I had a hot dog for lunch."),
        ("my pets", "I have a cat allergy."),
        ("my city", "We moved to Postgres last year."),
        ("my job", "I found Steve Jobs inspiring."),
        ("my job", "I started a cron job on the server."),
        ("my old job", "I fired my cleaner."),
        ("my old job", "We retired the old server."),
        ("my address", "I moved to the 3 PM class."),
        ("my age", "I was 12 years old when I learned to swim."),
        ("我的名字", "我叫朋友来吃饭。"),
        ("我的年龄", "我5岁开始学钢琴。"),
    ],
)
def test_what_only_has_its_words_does_not_fill_it(topic, said):
    assert not asked_slot(topic).is_filled_by([said])


def test_a_street_is_looked_for_in_proportion():
    """Of "I live at " 250 times before a long word, it took 4 seconds."""
    assert not asked_slot("my address").is_filled_by(["I live at " * 2_000 + "A" * 20_000])
