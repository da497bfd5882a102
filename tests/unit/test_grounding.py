"""Grounding: what was said is believed, in both languages; what a model made up is not."""

from __future__ import annotations

import pytest

from memoryos.operation.consolidation.grounding import Evidence, Flaw

ENGLISH = "My sister Anna has three dogs. I moved to Porto yesterday."
CHINESE = "我有三只猫。我昨天搬到了成都。"


@pytest.fixture
def flaw(page):
    """flaw(said, statement, quote): what is wrong with it; said on 1 June 2026."""

    def of(said, statement, quote):
        evidence = Evidence.of([page(said)])
        source = evidence.quoted(quote)
        return Flaw.QUOTE if source is None else evidence.flaw(statement, quote, source)

    return of


GOOD = [
    (ENGLISH, "User's sister Anna has 3 dogs.", "My sister Anna has three dogs"),
    (ENGLISH, "User moved to Porto on 31 May 2026.", "I moved to Porto yesterday"),
    (CHINESE, "用户有3只猫。", "我有三只猫"),
    (CHINESE, "用户于2026年5月31日搬到成都。", "我昨天搬到了成都"),
]
BAD = [
    (ENGLISH, "User's sister Anna has 4 dogs.", "My sister Anna has three dogs", Flaw.NUMBER),
    (ENGLISH, "User's sister Zebulon has three dogs.", "My sister Anna has three dogs", Flaw.NAME),
    (ENGLISH, "User moved to Porto on 12 May 2026.", "I moved to Porto yesterday", Flaw.DATE),
    (ENGLISH, "用户搬到了波尔图。", "I moved to Porto yesterday", Flaw.LANGUAGE),
    (ENGLISH, "User has three cats.", "I have three cats", Flaw.QUOTE),
    (CHINESE, "用户有4只猫。", "我有三只猫", Flaw.NUMBER),
    (CHINESE, "用户于2026年5月12日搬到成都。", "我昨天搬到了成都", Flaw.DATE),
    (CHINESE, "User has three cats.", "我有三只猫", Flaw.LANGUAGE),
    (CHINESE, "用户喜欢古典钢琴演奏会。", "我有三只猫", Flaw.WORDS),
]


@pytest.mark.parametrize(("said", "statement", "quote"), GOOD)
def test_what_was_said_is_believed(flaw, said, statement, quote):
    assert flaw(said, statement, quote) is None


@pytest.mark.parametrize(("said", "statement", "quote", "wrong"), BAD)
def test_what_was_made_up_is_not(flaw, said, statement, quote, wrong):
    assert flaw(said, statement, quote) is wrong


@pytest.mark.parametrize("quote", ["", "I", "猫", "...", "   "])
def test_a_quote_of_next_to_nothing_supports_nothing(page, quote):
    assert Evidence.of([page(ENGLISH + CHINESE)]).quoted(quote) is None
