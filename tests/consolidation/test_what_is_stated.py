"""Statements behind bullets and before questions, and profile fields in more than one clause."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoryos.operation.consolidation import chinese, chinese_profile, english, english_profile
from memoryos.operation.consolidation.statement import Claim, Statement

MONDAY = datetime(2024, 5, 6, tzinfo=UTC)


def quote(found: Statement | None) -> str | None:
    return None if found is None else found.quote


def fields(claims: list[Claim]) -> dict[str, str]:
    return {claim.field: claim.value for claim in claims}


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        ("- I own a tandem", "I own a tandem"),
        ("2) I own a tandem", "I own a tandem"),
        ("Please remember that I'm colour-blind.", "I'm colour-blind."),
        ("You should know that I'm allergic to bees.", "I'm allergic to bees."),
        ("I don't eat fish, so where should we go?", "I don't eat fish"),
        ("I own a tandem, did I?", None),
        ("I own a tandem, which is more than you can say.", "I own a tandem"),
        ("I live near you.", None),
        ("I was born in Cork, so I'm older than you!", "I was born in Cork"),
        ("I have asthma.", "I have asthma."),
        ("I have a headache.", None),
        ("I iron my shirts every Sunday.", "I iron my shirts every Sunday."),
        ("I need a break every day.", None),
        ("I don't have a brother.", "I don't have a brother."),
        ("I don't have a clue.", None),
        ("I'm an idiot.", None),
        ("im vegan", "im vegan"),
        ("I found the error.", None),
        ("My dentist told me that I have a crack in a tooth.", "My dentist told me that I have a crack in a tooth."),
        ("My dentist told me a joke.", None),
    ],
)
def test_english_statements(said: str, stated: str | None) -> None:
    assert quote(english.statement(said)) == stated


def test_what_an_assistant_recommends_may_depend() -> None:
    assert quote(english.agent_statement("I recommend Dune if you like sand.")) == "I recommend Dune if you like sand."
    assert english.agent_statement("If you like sand, I recommend Dune.") is None


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("I live in Gdansk, I'm a dentist there.", {"location": "Gdansk", "occupation": "dentist"}),
        ("I'm Priya, a dentist from Leeds.", {"name": "Priya", "occupation": "dentist"}),
        ("People call me Sunny, but my real name is Sunita.", {"name": "Sunita"}),
        ("My name is Catherine, not Katherine.", {"name": "Catherine"}),
        ("I'm a dentist, what do you do?", {"occupation": "dentist"}),
        ("I'm not a dentist.", {}),
    ],
)
def test_english_profile(said: str, known: dict[str, str]) -> None:
    assert fields(english_profile.claims(said, MONDAY)) == known


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        ("我住在长沙，你呢？", "我住在长沙"),
        ("你记错了，我不是上海人。", "我不是上海人。"),
        ("我喜欢你的狗。", None),
        ("请记住我不吃香菜。", "我不吃香菜。"),
        ("- 我养了一只龟", "我养了一只龟"),
        ("我有高血压。", "我有高血压。"),
        ("我读了《边城》。", "我读了《边城》。"),
        ("我更喜欢喝茶。", "我更喜欢喝茶。"),
        ("帮我订票。", None),
    ],
)
def test_chinese_statements(said: str, stated: str | None) -> None:
    assert quote(chinese.statement(said)) == stated


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("我叫欧阳雪，是个律师。", {"name": "欧阳雪", "occupation": "律师"}),
        ("我在沈阳生活，是一名摄影师。", {"location": "沈阳", "occupation": "摄影师"}),
        ("我住在长沙，你呢？", {"location": "长沙"}),
        ("我是一名地铁司乘员。", {"occupation": "地铁司乘员"}),
        ("我是一名党员。", {}),
    ],
)
def test_chinese_profile(said: str, known: dict[str, str]) -> None:
    assert fields(chinese_profile.claims(said, MONDAY)) == known
