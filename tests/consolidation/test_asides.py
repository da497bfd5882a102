"""What people say of themselves in passing, and sentences of the same shape that say nothing of them."""

from __future__ import annotations

import pytest

from .told import told

TOLD = [
    ("im anna from berlin", ["User is from Berlin."], {"name": "Anna"}),
    ("I'm Anna from Berlin.", ["User is from Berlin."], {"name": "Anna"}),
    ("Hi, I'm Noah from Quito, nice to meet you.", ["User is from Quito."], {"name": "Noah"}),
    ("My name isn't Bob, it's Rob", [], {"name": "Rob"}),
    ("No, my name's not Maria; it's Marta.", [], {"name": "Marta"}),
    ("use b@x.org from now on", ["User can be reached at b@x.org."], {}),
    ("From now on, please use b@x.org.", ["User can be reached at b@x.org."], {}),
    ("got laid off from Meta", ["User got laid off from Meta."], {"occupation": ""}),
    ("Just got fired from my job at Lidl.", ["User just got fired from their job at Lidl."], {"occupation": ""}),
    ("as a teacher I get long holidays", [], {"occupation": "teacher"}),
    ("As a nurse, I need my sleep.", [], {"occupation": "nurse"}),
    ("As a vegetarian, I find that hard.", ["User is vegetarian."], {}),
    ("作为一名护士，我经常上夜班。", [], {"occupation": "护士"}),
    ("作为一位老师，我有很长的假期", [], {"occupation": "老师"}),
    ("以后请用 c@d.cn 联系我。", ["用户：“以后请用 c@d.cn 联系我。”"], {}),
]
NOT_TOLD = [
    "I'm back from Berlin.",
    "im home from berlin",
    "im exhausted from berlin",
    "im nurse from berlin hospital",
    "im tired from work",
    "I'm two hours from Berlin.",
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


@pytest.mark.parametrize(("said", "facts", "fields"), TOLD)
def test_what_is_said_in_passing_is_told(said, facts, fields):
    assert told(said) == (facts, fields)


@pytest.mark.parametrize("said", NOT_TOLD)
def test_what_only_looks_like_it_is_not(said):
    facts, fields = told(said)
    assert not fields
    assert [one for one in facts if "from Berlin" in one or "reached" in one or "laid off" in one] == []
