"""`context(dialogue=...)`: what the running dialogue already says is not told again."""

from __future__ import annotations

import pytest

from memoryos.errors import InvalidInput

ASKED = "Where do I keep my bees?"


@pytest.fixture
def memory(open_memory):
    memory = open_memory()
    memory.add("I keep my bees behind the mill.", "How many hives?")
    memory.add("我把蜜蜂养在磨坊后面。", "有多少蜂箱？")
    memory.add("My bees sleep in a red hive.", "Lovely!")
    memory.wait()
    return memory


def test_what_the_dialogue_says_is_left_out_by_its_words(memory):
    dialogue = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "i keep my bees  behind the mill."},
        {"role": "assistant", "content": "How many hives?"},
        {"role": "user", "content": [{"type": "text", "text": "我把蜜蜂养在磨坊后面。"}]},
        {"role": "assistant", "content": "有多少蜂箱？"},
    ]
    before, after = memory.context(ASKED).text, memory.context(ASKED, dialogue=dialogue).text
    assert all(words in before for words in ("behind the mill", "磨坊后面", "red hive"))
    assert "red hive" in after
    assert "mill" not in after
    assert "磨坊后面" not in after


def test_half_an_exchange_leaves_the_other_half(memory):
    found = memory.context(ASKED, dialogue={"role": "user", "content": "My bees sleep in a red hive."})
    assert "red hive" not in found.text.replace("User's bees", "")
    assert memory.context(ASKED, dialogue=[{"role": "user", "content": "Nobody said this."}]).text == (
        memory.context(ASKED, dialogue=()).text
    )


@pytest.mark.once
@pytest.mark.parametrize(
    ("dialogue", "field"),
    [
        ("I keep bees", "dialogue"),
        (5, "dialogue"),
        ([{"role": "wizard", "content": "x"}], "dialogue[0].role"),
        ([{"content": "x"}], "dialogue[0].role"),
    ],
)
def test_a_wrong_dialogue_names_its_place(memory, dialogue, field):
    with pytest.raises(InvalidInput) as refused:
        memory.context(ASKED, dialogue=dialogue)
    assert refused.value.field == field
