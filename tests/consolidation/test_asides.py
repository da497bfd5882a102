"""What people say of themselves in passing, and sentences of the same shape that say nothing of them."""

from __future__ import annotations

import pytest

from .told import told

TOLD = [
    ("im anna from berlin", ["User is from Berlin."], {"name": "Anna"}),
    ("I'm Anna from Berlin.", ["User is from Berlin."], {"name": "Anna"}),
    ("Hi, I'm Noah from Quito, nice to meet you.", ["User is from Quito."], {"name": "Noah"}),
    ("I'm Priya from Nagpur.", ["User is from Nagpur."], {"name": "Priya"}),
    ("Hi, I'm Priya from Nagpur, and I teach.", ["User is from Nagpur."], {"name": "Priya"}),
    ("i am Omar from Alexandria", ["User is from Alexandria."], {"name": "Omar"}),
    ("I'm Dave from accounting.", [], {"name": "Dave"}),
    ("Hi, I'm Tom from the support team!", [], {"name": "Tom"}),
    ("My name isn't Bob, it's Rob", [], {"name": "Rob"}),
    ("No, my name's not Maria; it's Marta.", [], {"name": "Marta"}),
    ("im anna from berlin, 28", ["User is from Berlin."], {"name": "Anna", "birth_year": "about 1995"}),
    ("I'm Anna from New York and I love it.", ["User is from New York."], {"name": "Anna"}),
    ("use b@x.org for me from now on", ["User can be reached at b@x.org."], {}),
    ("From now on, please use b@x.org to reach me.", ["User can be reached at b@x.org."], {}),
    ("got laid off from Meta", ["User got laid off from Meta."], {"occupation": ""}),
    ("Just got fired from my job at Lidl.", ["User just got fired from their job at Lidl."], {"occupation": ""}),
    ("I got laid off from Meta.", ["User got laid off from Meta."], {"occupation": ""}),
    ("As a teacher I grade papers every night.", [], {"occupation": "teacher"}),
    ("In the game, I broke my leg.", ["User broke their leg."], {}),
    ("as a teacher I get long holidays", [], {"occupation": "teacher"}),
    ("As a nurse, I need my sleep.", [], {"occupation": "nurse"}),
    ("As a vegetarian, I find that hard.", ["User is vegetarian."], {}),
    ("作为一名护士，我经常上夜班。", [], {"occupation": "护士"}),
    ("作为一位老师，我有很长的假期", [], {"occupation": "老师"}),
    ("作为一名医生，我的工作很忙。", [], {"occupation": "医生"}),
    ("以后请用 c@d.cn 联系我。", ["用户：“以后请用 c@d.cn 联系我。”"], {}),
]
NOT_TOLD = [
    "I'm back from Berlin.",
    "im home from berlin",
    "im exhausted from berlin",
    "im nurse from berlin hospital",
    "im tired from work",
    "I'm two hours from Berlin.",
    "I'm Back from the sales department.",
    "I'm Tom from the Avengers team.",
    "If I'm Anna from Berlin, you are a pirate.",
    'She said "I\'m Anna from Berlin."',
    "My name isn't important, it's late.",
    "My name is not Bob.",
    "Use b@x.org from now on in the example.",
    "Use the new address from now on.",
    "My boss got laid off from Meta.",
    "Got laid off from Meta?",
    "Got fired up by the music.",
    "As a teacher would say, sit down.",
    "As a joke I get up at five.",
    "As a teacher I would get long holidays.",
    "As a vegetarian, I would find that hard.",
    "As a vegetarian dish, I find it bland.",
    "作为一个例子，我先讲这个。",
    "作为一名老师，我会很高兴。",
    "作为一名老师，我们都知道。",
    "以后请用这个邮箱联系他。",
]
NOTHING = [  # said of others, in a play, of a firm, or to be used by nobody knows whom
    "作为一名护士，我妈妈经常上夜班。",
    "作为一名医生，我爸总是很忙。",
    "作为一名护士，我妹妹很辛苦。",
    "作为一名司机，我老公很辛苦。",
    "作为一名护士，我同事小王经常迟到。",
    "作为一名律师，我爷爷很有名",
    "作为一名老师，我最讨厌的人总迟到。",
    "作为一名玩家，我喜欢这个游戏。",
    "作为一名玩家，我经常上线。",
    "以后请用 c@d.cn 联系我的老板。",
    "以后请用 c@d.cn 联系我妈妈和爸爸",
    "以后请用 c@d.cn 联系我们公司",
    "以后都用 a@b.cn 联系我妈。",
    "got laid off from reality.",
    "Just got fired by Netflix shows like that",
    "Got laid off from Meta yesterday in the game.",
    "Got fired from my Lego League.",
    "I'm Anna from Frozen in the school play.",
    "I'm Anna from Berlin in the school play.",
    "im anna from berlin in the school play",
    "I'm Paris from Gilmore Girls for Halloween.",
    "I'm Jack from Titanic in this picture.",
    "I'm Sam from Apple Support, how can I help you today.",
    "I'm Sam from Apple Support, how can I help?",
    "Hi, I'm Dora from Verizon.",
    "Hey, I'm Siri from Apple.",
    "My name isn't Alexa, it's Google Assistant, says my phone.",
    "As a vegan I know once said, meat is murder.",
    "As a vegetarian, I can see why you'd hate me, but I'm not one.",
    "As a teacher I know told me, get rest.",
    "As a lawyer, I find you guilty, he told me.",
    "As a nurse I treat you like a patient in this game.",
    "as a doctor I use an old stethoscope for Halloween",
    "use b@x.org from now on",
    "So use admin@corp.com going forward.",
    "Going forward, use no-reply@foo.com",
]
JOBS_KEPT = [
    ("I work as a nurse.", "got laid off from reality."),
    ("I work as a nurse.", "Just got fired by Netflix shows like that"),
    ("我是一名医生。", "作为一名护士，我妈妈经常上夜班。"),
]


@pytest.mark.parametrize(("said", "facts", "fields"), TOLD)
def test_what_is_said_in_passing_is_told(said, facts, fields):
    assert told(said) == (facts, fields)


@pytest.mark.parametrize("said", NOT_TOLD)
def test_what_only_looks_like_it_is_not(said):
    facts, fields = told(said)
    assert not fields
    assert [one for one in facts if "from Berlin" in one or "reached" in one or "laid off" in one] == []


@pytest.mark.parametrize("said", NOTHING)
def test_what_is_not_of_the_speaker_is_not_told(said):
    assert told(said) == ([], {})


@pytest.mark.parametrize(("first", "later"), JOBS_KEPT)
def test_an_occupation_is_kept_beside_it(first, later):
    assert told(first, later) == told(first)
