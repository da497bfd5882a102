"""A change that somebody tells in a page ends what was said of the same slot, wherever the words tell the time."""

from __future__ import annotations

import pytest

from memoryos import Scope
from memoryos.language.leading_time import without_leading_time
from memoryos.operation.knowledge.slot import filling

from .world import World, texts

HOME, JOB, VEGETARIAN, VEGAN = "I live in Oslo.", "I'm a plumber.", "I am vegetarian.", "I am vegan."
CHINESE_HOME = "我住在上海。"
EMPLOYER, CHINESE_EMPLOYER = "I work at Siemens.", "我在华为工作。"
CHANGES = (
    (HOME, "I moved to Bergen.", "Bergen"),
    (HOME, "I moved to Bergen last week.", "Bergen"),
    (HOME, "Yesterday I moved to Bergen.", "Bergen"),
    (HOME, "Last month I moved to Bergen.", "Bergen"),
    (HOME, "In May I moved to Bergen.", "Bergen"),
    (HOME, "In early May, I moved to Bergen.", "Bergen"),
    (HOME, "This spring I moved to Bergen.", "Bergen"),
    (HOME, "Two weeks ago, I moved to Bergen.", "Bergen"),
    (HOME, "A few months ago I moved to Bergen.", "Bergen"),
    (JOB, "Last month I started working as a nurse.", "nurse"),
    (JOB, "I'm not a plumber anymore, I retrained as a nurse.", "nurse"),
    (JOB, "I got a new job as a teacher.", "teacher"),
    (JOB, "I retired last year.", None),
    (JOB, "Last year I retired.", None),
    (VEGETARIAN, "I stopped being vegetarian last month.", None),
    (VEGETARIAN, "Last month I stopped being vegetarian.", None),
    (VEGETARIAN, "I'm not vegetarian anymore.", None),
    (VEGAN, "I eat meat again.", None),
    ("I've been vegan since 2020.", "I'm not vegan anymore.", None),
    ("I eat meat.", VEGAN, None),
    (CHINESE_HOME, "昨天我搬到了北京。", "北京"),
    (CHINESE_HOME, "上个月我搬到北京了。", "北京"),
    (CHINESE_HOME, "上周我搬到了北京。", "北京"),
    (CHINESE_HOME, "我以前住在上海，现在住在北京。", "北京"),
    ("我是老师。", "我以前是老师，现在是程序员。", "程序员"),
    ("我是一名护士。", "我换工作了，现在是程序员。", "程序员"),
    ("我是一名护士。", "我转行了，现在是老师。", "老师"),
    ("我是一名护士。", "我现在当老师了。", "老师"),
    (CHINESE_HOME, "我搬家了，现在住在北京。", "北京"),
    *((EMPLOYER, told, None) for told in (
        "I joined Bosch.", "I joined Bosch last month.", "I joined Bosch as an engineer.", "I started at Bosch.",
        "I now work for Bosch.", "I left Siemens and joined Bosch.", "I quit my job and joined Bosch.",
        "I took a position with Bosch.", "I accepted an offer from Bosch.", "I changed jobs and now work at Bosch.",
    )),
    *((CHINESE_EMPLOYER, told, None) for told in (
        "我跳槽了，现在在腾讯工作。", "我去腾讯上班了。", "我换到腾讯工作了。",
    )),
)  # fmt: skip


@pytest.mark.once
def test_a_change_leaves_only_what_it_tells(world: World) -> None:
    """All of them in one store, each told by a user of its own."""
    store = world.open(short_term_capacity=1)
    wrong = {}
    for number, (old, new, value) in enumerate(CHANGES):
        memory = store.of(Scope(user=f"user {number}"))
        memory.add(old, at="2024-01-01")
        memory.add(new, at="2025-01-01")
        memory.consolidate()
        user = memory.profile.get().user
        context = memory.context("?", kinds=["fact", "profile"]).text
        fields = [found for name, found in user.fields.items() if name in ("location", "occupation")]
        if len(user.facts) != 1 or fields != ([value] if value else []) or "2024)\n" in context:
            wrong[new] = (texts(user.facts), fields, context)
    assert wrong == {}


@pytest.mark.parametrize(
    "text",
    [
        "In winter I live in Spain",
        "In May I'm moving to Bergen",
        "Next month I move to Bergen",
        "On Mondays I work as a nurse",
        "Last month I was a plumber",
        "Last summer I moved to Bergen for two months",
        "Last year I moved to Bergen, but I moved back",
        "Last week my boss said that I moved to Bergen",
        "This summer I work as a nurse",
        "In May I don't live in Oslo",
        "去年（2023年）用户住在北京。",
        "三年前我住在北京。",
        "去年我住在北京。",
    ],
)
def test_a_time_in_front_makes_no_state_of_the_present(text: str) -> None:
    found = filling(text)
    assert found is None or found.slot.holder  # not the slot of whom the persona describes


@pytest.mark.parametrize(
    "text",
    [
        "I joined Facebook",
        "I joined the Labour Party",
        "I joined Toronto Caribbean Cultural Association",
        "I joined Anna for lunch",
        "I joined Tom and Mary",
        "I joined Red Cross as a volunteer",
        "I almost joined Bosch",
        "I want to join Bosch",
        "I'm in Oslo now",
        "I switched jobs",
        "我打算跳槽，现在在腾讯工作",
        "我现在在上海",
    ],
)
def test_what_tells_of_no_new_job_or_home(text: str) -> None:
    assert filling(text) is None


def test_a_promotion_leaves_the_employer() -> None:
    found = filling("我升职了，现在是经理")
    assert found is not None
    assert (found.value, found.ends) == ("经理", ("work",))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Last month (December 2024) User moved", "User moved"),
        ("Two weeks ago (week of 16 December 2024), User moved", "User moved"),
        ("Back in May 2020 I moved", "I moved"),
        ("The week before last I moved", "I moved"),
        ("On 3 May I moved", "I moved"),
        ("Over the summer, I moved", "I moved"),
        ("Next month I moved", "Next month I moved"),
        ("On Mondays I run", "On Mondays I run"),
        ("Last of the three, I left", "Last of the three, I left"),
    ],
)
def test_the_time_in_front_of_a_statement(text: str, left: str) -> None:
    assert without_leading_time(text) == left


@pytest.mark.parametrize(
    ("text", "holder", "value", "is_denied"),
    [
        ("Tom doesn't live in Oslo anymore, he moved to Bergen", "tom", "bergen", False),
        ("Tom no longer lives in Oslo but moved to Bergen", "tom", "bergen", False),
        ("I no longer live in Oslo but moved to Bergen", "", "bergen", False),
        ("I'm not a plumber any more; I became a nurse", "", "nurse", False),
        ("I don't work at Acme anymore, I work as a nurse", "", "acme", True),
        ("Tom is no longer a plumber, and my brother became a nurse", "tom", "plumber", True),
        ("Tom is no longer a plumber, I became a nurse", "tom", "plumber", True),
        ("Last month Tom stopped being vegan", "tom", "vegan", True),
        ("In 2019 Tom moved to Bergen", "tom", "bergen", False),
        ("两年前（2023年）小明搬到了北京。", "小明", "北京", False),
        ("Last Friday I turned 30", "", "30", False),
        ("今年（2024年）我住在北京。", "", "北京", False),
        ("从去年（2023年）起我住在北京。", "", "北京", False),
        ("去年起我住在北京。", "", "北京", False),
        ("上个月我不抽烟了。", "", "no", False),
        ("上周小明搬到了北京。", "小明", "北京", False),
    ],
)
def test_what_a_statement_of_several_parts_fills(text: str, holder: str, value: str, *, is_denied: bool) -> None:
    found = filling(text)
    assert found is not None
    assert (found.slot.holder, found.value, found.is_denied) == (holder, value, is_denied)


@pytest.mark.once
@pytest.mark.parametrize(
    ("one", "other", "facts"),
    [
        ("My email is a@x.org.", "My e-mail is a@x.org.", 1),
        ("My email is a@x.org.", "My e-mail address is A@x.org.", 1),
        ("My phone number is 555-123-4567.", "My number is 555 123 4567.", 1),
        ("My email is a@x.org.", "My sister's email is a@x.org.", 2),
    ],
)
def test_an_address_in_other_words_is_one_fact(world: World, one: str, other: str, facts: int) -> None:
    memory = world.open()
    memory.facts.add(one, at="2024-01-01")
    memory.facts.add(other, at="2025-01-01")
    found = memory.facts.list()
    assert len(found) == facts
    if facts == 1:
        assert {found[0].text, *found[0].payload.wordings} == {one, other}
