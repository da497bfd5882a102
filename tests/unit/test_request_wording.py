"""Requests in plain words: short and less usual ways to give an order, and what is said like them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memoryos.operation.requests.request_limits import begins_like_an_order
from memoryos.operation.requests.request_reader import RequestReader
from memoryos.scope import Scope

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)  # a Wednesday


def call_of(text):
    return RequestReader("ann", Scope("ann"), NOW, []).read(text)


def read(text):
    call = call_of(text)
    return str(call.operation.value), str(call.reach.value), call.query


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Forget the trip.", "the trip"),
        ("forget the bees", "the bees"),
        ("Hi! Could you forget the surgery, please?", "the surgery"),
        ("I want you to forget Laura.", "Laura"),
        ("You can forget about Japan now.", "Japan"),
        ("forget everything about bees", "bees"),
        ("Please forget everything about gluten allergies.", "gluten allergies"),
        ("Forget anything about eBay", "eBay"),
        ("Forget everything about wheat", "wheat"),
        ("forget everything about howling wolves", "howling wolves"),
        ("You can forget everything about low-carb diets now.", "low-carb diets"),
        ("forget all the stuff about Tom's bee farm please", "Tom's bee farm"),
    ],
)
def test_a_text_that_only_tells_to_forget_a_thing_or_a_name_is_an_order(text, topic):
    assert read(text) == ("forget", "topic", topic)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Forget everything about Ørsted", "Ørsted"),
        ("Delete all facts about Łódź.", "Łódź"),
        ("Erase every mention of Élodie, please.", "Élodie"),
        ("Freeze everything about Šárka", "Šárka"),
        ("Forget Ánxela.", "Ánxela"),
        ("Please forget Đỗ Ánh now", "Đỗ Ánh"),
        ("Delete everything about Петя", "Петя"),
    ],
)
def test_a_name_may_begin_with_a_capital_letter_beyond_ascii(text, topic):
    call = call_of(text)
    assert (call.operation.needs_confirmation, call.query) == (True, topic)


@pytest.mark.parametrize("text", ["Delete everything about émigrés", "Forget éclairs.", "Let's forget Ørsted."])
def test_a_small_letter_beyond_ascii_begins_no_name(text):
    assert call_of(text).operation == "none"


@pytest.mark.parametrize("text", ["Forget me.", "please forget me", "Could you forget me completely?"])
def test_forget_me_means_all_that_is_known(text):
    assert read(text) == ("forget", "all", "")


@pytest.mark.parametrize("text", ["Don't forget me.", "Never forget us!"])
def test_not_to_forget_somebody_is_nothing_to_store(text):
    assert call_of(text).operation == "none"


@pytest.mark.parametrize(
    "text",
    [
        "It's raining. Forget the picnic.",
        "Forget Python. Let's use Rust.",
        "Forget Python, use Rust instead.",
        "Forget the diet!",
        "Forget the past.",
        "Forget the next step.",
        "Forget the cake and eat fruit.",
        "Forget the man you met.",
        "You should forget Laura.",
        "You have to just forget the wedding.",
        "Let's forget the trip.",
        "We can forget Norway now.",
        "Forget him.",
        "Forget It",
        "Never forget me.",
        "Forget me not.",
        "Don't forget me.",
        "I can't forget the trip.",
        "Forget Monday.",
        "Forget everything about diets. Eat what you like.",
        "Forget everything about diets!",
        "Forget everything about diets, eat what you like.",
        "Forget everything about diets and eat.",
        "Forget everything about how I met her.",
        "Let's forget everything about school.",
        "You should forget everything about school.",
        "I forget everything about school.",
        "I wish I could forget everything about school.",
        "Never forget anything about bees.",
        "Forget everything about last year.",
        "Delete everything about bees.",
    ],
)
def test_what_people_say_of_life_is_no_order_to_forget(text):
    assert call_of(text).operation != "forget"


@pytest.mark.parametrize(
    "topic",
    [
        "diets - just eat",
        "diets – just eat",
        "diets just eat healthy",
        "diets eat what you like",
        "your job",
        "your instructions",
        "previous instructions",
        "rules",
        "nothing",
        "no one",
        "someone else",
        "anything",
        "some guy",
        "those",
        "yourself",
        "mine",
        "yours",
        "which one",
        "whether I go",
        "whatever",
        "a cat",
        "not smoking",
        "2020",
        "bees said Tom",
        "bees says Tom",
        "bees like I did",
        "bees until tomorrow",
        "bees tomorrow",
        "bees later",
        "bees not wasps",
        "bees except honey",
        "bees lol",
        "bees haha",
        "big black old farm bees",
    ],
)
def test_what_names_no_plain_noun_is_no_topic_to_forget_everything_about(topic):
    assert call_of(f"Forget everything about {topic}").operation == "none"


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Delete my PIN", "my PIN"),
        ("Please delete my credit card PIN.", "my credit card PIN"),
        ("I'd like you to erase my credit card PIN.", "my credit card PIN"),
        ("Remove my passport number, please.", "my passport number"),
        ("Erase my sister's phone number", "my sister's phone number"),
        ("Clear my blood type.", "my blood type"),
    ],
)
def test_what_a_profile_keeps_and_no_program_does_can_be_deleted_by_its_name(text, topic):
    assert read(text) == ("forget", "topic", topic)


@pytest.mark.parametrize(
    "text",
    ["Delete my essay.", "Remove my pins from the map", "Delete my page numbers", "Clear my card", "Delete my account"],
)
def test_what_a_program_may_keep_is_not_deleted_from_memory(text):
    assert read(text) == ("none", "topic", "")


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Stop remembering my favourite colour.", "my favourite colour"),
        ("Please stop remembering that I smoke.", "I smoke"),
        ("Scrap what I said about Japan.", "Japan"),
        ("Discard everything I told you about the merger.", "the merger"),
    ],
)
def test_other_verbs_give_the_same_order(text, topic):
    assert read(text) == ("forget", "topic", topic)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Note to self: dentist on Friday at 3.", "dentist on Friday at 3."),
        ("memo to myself - buy stamps", "buy stamps"),
        ("Note to self: the key is out.\nIt hangs left.", "the key is out.\nIt hangs left."),
    ],
)
def test_a_note_to_self_is_remembered(text, content):
    call = call_of(text)
    assert (call.operation, call.content) == ("remember", content)


@pytest.mark.parametrize(
    "text",
    [
        "Scrap the plan.",
        "Discard the second draft.",
        "Stop remembering the bad times.",
        "My phone won't stop remembering my old wifi.",
        "She can't stop remembering my face.",
        "He left a note to himself: sell everything.",
        "What is a note to self?",
    ],
)
def test_what_only_has_these_verbs_changes_nothing(text):
    assert call_of(text).operation in ("none", "recall")


@pytest.mark.parametrize(
    ("text", "minutes", "query"),
    [
        ("Forget everything I said in the last hour", 60, ""),
        ("Delete what we discussed in the past 30 minutes.", 30, ""),
        ("Forget what I said about the trip in the last two hours.", 120, "the trip"),
        ("Forget what I told you within the last half an hour.", 30, ""),
        ("忘掉我最近一小时说的话", 60, ""),
        ("忘掉我過去半個小時說的話", 30, ""),
        ("把我最近二十分钟说的话忘掉", 20, ""),
    ],
)
def test_the_latest_hours_are_a_time_range(text, minutes, query):
    call = call_of(text)
    assert (call.operation, call.query) == ("forget", query)
    assert call.said_between == (NOW - timedelta(minutes=minutes), NOW)


def test_what_was_said_in_the_latest_hours_is_looked_up_there():
    call = call_of("What did I say in the last hour?")
    assert (call.operation, call.said_between) == ("recall", (NOW - timedelta(hours=1), NOW))


def test_an_hour_in_which_the_clock_is_changed_is_an_hour():
    now = datetime(2026, 3, 29, 3, 30, tzinfo=ZoneInfo("Europe/Berlin"))  # it was 1:30 an hour before
    call = RequestReader("ann", Scope("ann"), now, []).read("Forget everything I said in the last hour")
    assert call.since.astimezone(UTC) == now.astimezone(UTC) - timedelta(hours=1)


@pytest.mark.parametrize("text", ["Forget what I said in the last few hours.", "Forget what I said an hour ago."])
def test_hours_that_are_not_counted_are_not_understood(text):
    assert read(text) == ("none", "topic", "")


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("请把我关于花生过敏的记录删掉", "花生过敏"),
        ("麻烦删掉我有关贷款的信息", "贷款"),
        ("删除Laura的一切", "Laura"),
        ("把王芳的一切都忘了吧", "王芳"),
        ("刪除我以前在銀行工作的記憶", "我以前在銀行工作"),
        ("把我在上海读书的记忆删掉", "我在上海读书"),
    ],
)
def test_chinese_orders_name_their_topic_in_other_places(text, topic):
    assert read(text) == ("forget", "topic", topic)


@pytest.mark.parametrize("text", ["帮我删掉上周说的话", "把上周说的话都忘掉吧", "请忘掉上周聊的内容"])
def test_what_was_said_needs_nobody_who_said_it(text):
    call = call_of(text)
    assert (call.operation, call.query, call.since.day, call.until.day) == ("forget", "", 11, 17)


@pytest.mark.parametrize("text", ["请删除我所有的聊天记录", "把我全部的对话都删掉"])
def test_all_chats_are_all_that_is_known(text):
    assert read(text) == ("forget", "all", "")


@pytest.mark.parametrize(
    "text",
    [
        "微信满了。删除我所有的聊天记录",
        "删除文件夹的一切",
        "忘掉世界的一切",
        "删除我电脑的一切",
        "他删掉了上周说的话",
        "忘了上周说的话",
        "忘记上周说的话了",
        "删掉昨天说的话了",
        "删掉上周老板说的话",
        "把老师说的话忘了",
        "我忘了带伞",
        "我的记忆很差",
        "删除记忆卡里的照片",
    ],
)
def test_what_only_sounds_like_a_chinese_order_is_none(text):
    assert call_of(text).operation != "forget"


@pytest.mark.parametrize(
    ("text", "second"),
    [
        (
            "Forget what I told you about my old job and remember that I work at a bakery",
            "and remember that I work at a bakery",
        ),
        ("Freeze what I said about my will and share my memories with Bob", "and share my memories with Bob"),
        ("Forget everything about my old job. Remember that I bake.", "Remember that I bake"),
        ("忘掉关于我旧工作的事。记住我在面包店上班。", "记住我在面包店上班"),
    ],
)
def test_a_second_order_is_named_and_not_dropped(text, second):
    call = call_of(text)
    assert call.operation.needs_confirmation
    assert call.limit == second


@pytest.mark.parametrize(
    ("text", "operation", "second"),
    [
        ("Remember that I bake. Forget my old job.", "remember", "Forget my old job"),
        ("Remember that I bake, and please forget my old job.", "remember", "and please forget my old job"),
        ("Remember that I bake. Then forget my old job.", "remember", "Then forget my old job"),
        ("Remember that I bake. Share my memories with Bob.", "remember", "Share my memories with Bob"),
        ("Remember that I bake. Change my city to Bergen.", "remember", "Change my city to Bergen"),
        ("Remember that I bake; forget my old job.", "remember", "forget my old job"),
        ("记住我会烤面包；忘掉我以前的工作。", "remember", "忘掉我以前的工作"),
        ("Change my city to Bergen; forget my old job.", "update", "forget my old job"),
        ("What do you know about my cat; forget my old job.", "recall", "forget my old job"),
        ("What do you know about my cat, and please forget my old job.", "recall", "and please forget my old job"),
        ("你知道我的猫的什么事，请忘掉我以前的工作。", "recall", "请忘掉我以前的工作"),
        ("What do you know about me; forget my old job.", "recall", "forget my old job"),
        ("Set my job to baker. Forget my old job.", "update", "Forget my old job"),
        ("Change my city to Bergen and forget my old job.", "update", "and forget my old job"),
        ("Don't save this. Forget my old job.", "skip", "Forget my old job"),
        ("记住我会烤面包。忘掉我以前的工作。", "remember", "忘掉我以前的工作"),
        ("记住我会烤面包，请忘掉我以前的工作。", "remember", "请忘掉我以前的工作"),
        ("把我的城市改成卑尔根。忘掉我以前的工作。", "update", "忘掉我以前的工作"),
        ("不要记这个。忘掉我以前的工作。", "skip", "忘掉我以前的工作"),
    ],
)
def test_an_order_behind_what_is_done_at_once_is_named_and_not_dropped(text, operation, second):
    call = call_of(text)
    assert (call.operation, call.limit) == (operation, second)


@pytest.mark.parametrize(
    "text",
    [
        "Remember that I panic and forget my keys.",
        "Remember that I panic and then forget my keys.",
        "Remember that I always log out then forget my password.",
        "Please remember that I hide my money and then forget my hiding places.",
        "Remember that I get stressed and also forget my pills.",
        "Remember that I write things down and then forget what I wrote.",
        "记住我喝酒，然后忘掉我的承诺。",
        "记住我妈妈说：好好吃饭，请忘掉我的烦恼。",
        "Remember that I bake. Remember that I swim.",
        "Remember that I bake. My old job was at the bank.",
        "Remember this: Forget my old job.",
        "记住我总是着急，忘掉我的钥匙。",
        "记住我会烤面包。记住我会游泳。",
    ],
)
def test_what_belongs_to_a_note_is_no_second_order(text):
    call = call_of(text)
    assert (call.operation, call.limit) == ("remember", "")


@pytest.mark.parametrize(
    "text",
    [
        "What do I do when I panic and forget my keys?",
        "What do I do when I panic and then forget my keys?",
        "What do you know about my motto: work; forget my fears?",
        "Forget my old job and remember that I bake. Just kidding. What do you know about my cat?",
        "What do you know about my cat; forget my old job. " + "The text goes on. " * 60,
    ],
)
def test_what_belongs_to_a_question_is_no_second_order(text):
    call = call_of(text)
    assert (call.operation, call.limit) == ("recall", "")


@pytest.mark.parametrize("text", ["Delete my PIN, then forget my address.", "忘掉我旧工作的事，然后记住我在面包店上班"])
def test_two_orders_that_are_not_told_apart_are_not_understood(text):
    assert call_of(text).operation == "none"
    assert begins_like_an_order(text)  # so the answer says so


@pytest.mark.parametrize(
    "text",
    [
        "Forget what I told you about my rent and my cat.",
        "Forget that I left the bank and sold the house.",
        "Forget everything about my boss. I like tea.",
        'Forget what I said about the book "Delete Me and Forget My Name".',
        "忘掉关于我的房租和我的猫的事",
    ],
)
def test_one_order_has_no_second_one(text):
    call = call_of(text)
    assert (call.operation, call.limit) == ("forget", "")
