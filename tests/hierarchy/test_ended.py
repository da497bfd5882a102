"""A job, home or marriage that somebody says to be over is told no more as what is, in facts and in the profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from memoryos import Scope
from memoryos.operation.knowledge.slot import filling

from .world import World, texts

MARRIED, AT_MERCY, OSLO = "I'm married to Tim.", "I work as a nurse at Mercy.", "I live in Oslo."
CHINESE_MARRIED = "我结婚了。"
# What was said, what is said later, and the occupation or home that the profile has then.
ENDED = (
    ("I'm a plumber.", "I quit plumbing and became a chef.", "chef"),
    ("I'm a maths teacher.", "I gave up teaching.", None),
    ("I work as a glass blower.", "I left glass blowing; now I drive a tram in Nantes.", None),
    ("I'm a carpenter.", "I left carpentry.", None),
    ("I'm a journalist.", "I'm done with journalism.", None),
    ("I work as a nurse.", "I retired from nursing.", None),
    (OSLO, "We sold the house in Oslo and now rent in Porto.", "Porto"),
    (OSLO, "We gave up the flat in Oslo and are now living in Bern.", "Bern"),
    (AT_MERCY, "I start as a baker at Crumb on Monday. I left Mercy.", "nurse"),
    (MARRIED, "Tim and I got divorced.", None),
    (MARRIED, "We split up.", None),
    (MARRIED, "Tim and I broke up last month.", None),
    (MARRIED, "My husband died.", None),
    (MARRIED, "My husband left me.", None),
    ("I'm engaged.", "We broke up.", None),
    ("I have a cat.", "My cat Miso died last week.", None),
    ("我是水管工。", "我不做水管工了，转行当厨师。", "厨师"),
    ("我是小学老师。", "我不当老师了。", None),
    ("我是老师。", "我转行了，现在做程序员。", "程序员"),
    ("我住在奥斯陆。", "我们把奥斯陆的房子卖了，现在在波尔图租房。", None),
    ("我住在上海。", "我把上海的房子卖了，现在住在成都。", "成都"),
    ("我住在上海。", "我们把上海的房子卖了，现在在成都租房。", "成都"),
    (CHINESE_MARRIED, "我离婚了。", None),
    (CHINESE_MARRIED, "我和老公离婚了。", None),
    (CHINESE_MARRIED, "我老公去世了。", None),
    (CHINESE_MARRIED, "我们分手了。", None),
    ("我有一只猫。", "我的猫死了。", None),
)
# Nothing is over, though the words are alike.
GOES_ON = (
    ("I'm a plumber.", "I almost quit plumbing last year."),
    ("I'm a plumber.", "My brother quit plumbing."),
    ("I'm a plumber.", "I gave up smoking."),
    ("I'm a teacher.", "I never gave up teaching."),
    ("I'm a teacher.", "I quit teaching yoga."),
    ("I'm a teacher.", "If I left teaching, I would travel."),
    ("I'm a nurse.", "I gave up baking."),
    (AT_MERCY, "If I left Mercy, I would travel."),
    (AT_MERCY, "I left Mercy early today."),
    (AT_MERCY, "I left Acme."),
    (OSLO, "We sold the house we rented out in Bergen."),
    (MARRIED, "We split up into two teams."),
    (MARRIED, "My sister's husband died."),
    (MARRIED, "My husband left me a note."),
    (MARRIED, "I left my husband at the station."),
    ("我是水管工。", "我差点不做水管工了。"),
    ("我是护士。", "我哥哥不做护士了。"),
    ("我住在北京。", "我把出租的房子卖了，现在在家里休息。"),
    (CHINESE_MARRIED, "我妹妹离婚了。"),
    (CHINESE_MARRIED, "我们分手行动。"),
    ("我有一只猫。", "我朋友的猫死了。"),
)


Told = Callable[..., tuple[list[str], list[str], str]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """told(text, ...): the facts, the occupation and home, and the context after pages that follow each other.

    All are of one store, each in a memory of its own, and what several tests begin with is told once.
    """
    world = World(tmp_path_factory.mktemp("ended"))
    store = world.open(short_term_capacity=1)

    @cache
    def tell(*said: str) -> tuple[list[str], list[str], str]:
        memory = store.of(Scope(user=f"user of {said}"))
        for year, text in enumerate(said, start=2024):
            memory.add(text, at=f"{year}-01-01")
        memory.consolidate()
        user = memory.profile.get().user
        fields = [value for name, value in user.fields.items() if name in ("location", "occupation")]
        return texts(user.facts), fields, memory.context("?", kinds=["fact", "profile"]).text

    yield tell
    world.close()


@pytest.mark.once
@pytest.mark.parametrize(("before", "after", "value"), ENDED)
def test_what_is_over_is_told_no_more(told: Told, before: str, after: str, value: str | None) -> None:
    known, _, _ = told(before)
    facts, fields, context = told(before, after)
    assert known
    assert facts
    assert not set(known) & set(facts)
    assert not any(fact in context for fact in known)
    assert fields == ([value] if value else [])


@pytest.mark.once
@pytest.mark.parametrize(("before", "after"), GOES_ON)
def test_what_goes_on_stays(told: Told, before: str, after: str) -> None:
    known, fields, _ = told(before)
    facts, fields_then, _ = told(before, after)
    assert known
    assert set(known) <= set(facts)
    assert fields_then == fields


@pytest.mark.once
def test_an_end_is_one_in_whatever_order_pages_come(world: World) -> None:
    memory = world.open(short_term_capacity=1).of(Scope(user="last page first"))
    memory.add("I left Mercy.", at="2025-01-01")
    memory.add(AT_MERCY, at="2024-01-01")
    memory.consolidate()
    assert texts(memory.profile.get().user.facts) == ["User left Mercy."]


@pytest.mark.once
def test_a_trade_is_taken_up_again(told: Told) -> None:
    facts, fields, _ = told("I'm a plumber.", "I left plumbing.", "I'm a plumber again.")
    assert facts == ["User is a plumber again."]
    assert fields == ["plumber"]


@pytest.mark.parametrize(
    ("text", "holder", "relation", "value"),
    [
        ("Tom gave up teaching", "tom", "occupation", "teacher"),
        ("Tom has retired from the law", "tom", "work", "none"),
        ("Ann and I got divorced", "", "marital status", "divorced"),
        ("Tom's wife died in May", "tom", "marital status", "widowed"),
        ("小明不做木工了", "小明", "occupation", "木工"),
        ("小明的老婆去年（2023年）去世了", "小明", "marital status", "丧偶"),
    ],
)
def test_whose_slot_an_end_fills(text: str, holder: str, relation: str, value: str) -> None:
    found = filling(text)
    assert found is not None
    assert (found.slot.holder, found.slot.relation, found.value) == (holder, relation, value)
