"""Statements behind bullets and before questions, and profile fields in more than one clause."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoryos.operation.consolidation import chinese, chinese_profile, english, english_elliptic, english_profile
from memoryos.operation.consolidation.statement import Claim, Statement
from memoryos.operation.consolidation.taken_back import is_undone
from memoryos.operation.knowledge.slot import filling

MONDAY = datetime(2024, 5, 6, tzinfo=UTC)


def quote(found: Statement | None) -> str | None:
    return None if found is None else found.quote


def quotes(sentence: str) -> list[str]:
    return [found.quote for found in english.statements(sentence)]


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
        ("I'm severely allergic to peanuts", "I'm severely allergic to peanuts"),
        ("I'm not very allergic to cats.", "I'm not very allergic to cats."),
        ("My sister is highly allergic to bees.", "My sister is highly allergic to bees."),
        ("I'm allergic to mondays", None),
        ("I'm very single.", None),
    ],
)
def test_english_statements(said: str, stated: str | None) -> None:
    assert quotes(said) == ([stated] if stated else [])


@pytest.mark.parametrize(
    ("said", "contact"),
    [
        ("my number changed to 555-0199", "5550199"),
        ("My email has just changed to ann@example.org, by the way.", "ann@example.org"),
        ("My number is 555-0100.", "5550100"),
    ],
)
def test_another_way_to_reach_somebody_takes_the_place_of_the_one_before(said: str, contact: str) -> None:
    (found,) = english_elliptic.contacts(said, said)
    filled = filling(found.quote.replace("my ", "User's ").replace("My ", "User's "))
    assert filled is not None
    assert contact in filled.value


@pytest.mark.parametrize(
    ("following", "is_back"),
    [("jk im reading a novel", True), ("jk", True), ("JK Rowling wrote that.", False), ("jk rowling wrote it", False)],
)
def test_what_was_said_in_jest_is_taken_back_in_short(following: str, *, is_back: bool) -> None:
    assert is_undone("Call me Ishmael.", following) is is_back


@pytest.mark.parametrize("said", ["I use vim (j/k to scroll).", "I live in Rome; jk stands for my brother."])
def test_two_keys_or_initials_take_nothing_back(said: str) -> None:
    assert not is_undone(said, "")


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
        ("别人老把我当成医生。", {}),
        ("路人都把我当医生。", {}),
        ("我改行当医生了。", {"occupation": "医生"}),
    ],
)
def test_chinese_profile(said: str, known: dict[str, str]) -> None:
    assert fields(chinese_profile.claims(said, MONDAY)) == known


@pytest.mark.parametrize(
    "said",
    [
        "I moved to Lisbon.",
        "I moved to Lisbon last week!",
        "I’ve just moved to Lisbon!",
        "In March I moved to Lisbon.",
        "Big news: I moved back to Lisbon!",
        "My wife and I moved to Lisbon last month.",
        "I sold my flat and moved to Lisbon.",
        "I moved out of Hamburg to Lisbon for work.",
        "I relocated with my family to Lisbon, and I love it here.",
    ],
)
def test_a_move_that_is_done_tells_the_home(said):
    assert fields(english_profile.claims(said, MONDAY)) == {"location": "Lisbon"}


@pytest.mark.parametrize(
    "said",
    [
        "I moved to the kitchen.",
        "I moved to a new team.",
        "I moved to the Berlin office.",
        "I moved to Zoom.",
        "I moved from Windows to Linux.",
        "I've moved to Sales.",
        "I moved the call to Monday.",
        "We moved to Zoom.",
        "My sister moved to Lisbon.",
        "My sister thinks I moved to Lisbon.",
        "I'm thinking of moving to Lisbon.",
        "I almost moved to Lisbon.",
        "I would have moved to Lisbon.",
        "If I moved to Lisbon, I'd be happy.",
        "I dreamed I moved to Lisbon.",
        "I moved to Lisbon when I was five.",
        "As a child, I moved to Lisbon.",
        "I moved to Lisbon for a year.",
        "I moved to Lisbon but came back in May.",
        "I moved to Lisbon in 2015, and to Porto in 2019.",
        "I moved to Lisbon and then moved to Porto.",
        "Did I tell you I moved to Lisbon?",
    ],
)
def test_what_is_no_move_to_a_home_tells_none(said):
    assert fields(english_profile.claims(said, MONDAY)) == {}


@pytest.mark.parametrize(
    ("said", "home"),
    [
        ("我上个月搬到了上海", "上海"),
        ("我去年从北京搬到上海了。", "上海"),
        ("我和老婆上周搬来上海了", "上海"),
        ("上个月我搬家到了上海。", "上海"),
        ("我移民到加拿大了", "加拿大"),
        ("我想搬到上海", None),
        ("我姐姐搬到了上海", None),
        ("我小时候搬到了上海", None),
        ("我差点搬到上海", None),
        ("我搬到了厨房", None),
        ("我搬到了上海办公室", None),
        ("我搬到上海住了半年", None),
        ("我2015年搬到上海，2019年又搬到北京。", None),
    ],
)
def test_a_chinese_move(said, home):
    assert fields(chinese_profile.claims(said, MONDAY)).get("location") == home


@pytest.mark.parametrize(
    ("said", "year"),
    [
        ("I'm 34, born in July 1991 in Graz.", "1991"),
        ("I'm 34 (born in 1991).", "1991"),
        ("I am 34 years old and was born on 3 July 1991.", "1991"),
        ("I'm ３４, born in １９９１.", "1991"),
        ("I'm 34, and my son was born in 2015.", "about 1990"),
        ("I'm 34, my brother was born in 1991", "about 1990"),
    ],
)
def test_a_birth_year_beside_an_age(said, year):
    assert fields(english_profile.claims(said, MONDAY))["birth_year"] == year
