"""Facts: each once, whatever the words; of those that exclude each other, the one that holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryos import Kind, Memory, Scope, Subject, Tier
from memoryos.cube import Fact, MemCube
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Origin, SemanticType, State
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.knowledge.lesson import Lesson
from memoryos.operation.knowledge.likeness import Judge, Pair, Verdict, says_the_same
from memoryos.operation.knowledge.slot import filling, term
from memoryos.operation.knowledge.tally import Tally, tally_of
from memoryos.operation.knowledge.tally import count as sum_up

from .world import ANN, START, LineExtractor, World, texts


def day(number: float) -> datetime:
    return START - timedelta(days=400) + timedelta(days=number)


def lesson(text: str, page: str | None, at: datetime, *, origin: Origin = Origin.INFERENCE) -> Lesson:
    vector = np.array([0] * 10 + [1], np.float32)  # all facts are close: only words tell them apart
    fact = Fact(subject=Subject.USER, text=text, confidence=0.8)
    return Lesson(fact, (page,) if page else (), at, SemanticType.FACT, origin, vector=vector)


def teach(world: World, *lessons: Lesson, judge: Judge | None = None, scope: Scope = ANN) -> Tally:
    promoter = world.promoter(LineExtractor(), judge)
    verdicts = promoter.verdicts(scope, lessons)
    with world.vault.write(scope) as writer:
        return promoter.planned(writer, scope, lessons, verdicts=verdicts).flush(writer)


def known(memory: Memory, as_of: datetime | None = None, scope: Scope = ANN) -> list[str]:
    return sorted(hit.text for hit in memory.of(scope).search("anything", as_of=as_of).user_facts)


def everywhere(world: World, scope: Scope = ANN) -> list[MemCube]:
    return world.cubes(Kind.FACT, Tier.LPM, Tier.ARCHIVE, scope=scope)


# The same in other words


@pytest.mark.once
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tom likes green tea.", "Tom really likes green tea"),
        ("Tom baked rye bread", "Tom baked rye bread outdoors"),
        ("小明喜欢喝绿茶", "小明很喜欢喝绿茶。"),
    ],
)
def test_a_near_repeat_is_support_for_the_same_fact(world: World, old: str, new: str) -> None:
    memory = world.open()
    pages = [memory.add(f"page {number}") for number in range(2)]
    assert teach(world, lesson(old, pages[0], day(1))) == Tally(kept=1)
    assert teach(world, lesson(new, pages[1], day(2))) == Tally(merged=1)
    (fact,) = memory.profile.get().user.facts
    assert fact.descriptive.provenance == tuple(pages)
    assert fact.payload.confidence > 0.8
    assert {fact.text, *fact.payload.wordings} == {old, new}
    assert memory.stats().facts.merged == 1


def test_the_wording_that_says_more_is_kept_and_the_other_is_in_the_history(world: World) -> None:
    memory = world.open()
    pages = [memory.add(f"page {number}") for number in range(2)]
    teach(world, lesson("Tom keeps brown bees", pages[0], day(1)))
    teach(world, lesson("Tom keeps brown bees in Wales", pages[1], day(2)))  # a name more: another fact
    teach(world, lesson("Tom keeps brown bees outdoors", pages[1], day(2)))
    assert texts(memory.profile.get().user.facts) == ["Tom keeps brown bees outdoors", "Tom keeps brown bees in Wales"]
    bees = memory.profile.get().user.facts[0]
    assert texts(memory.history(bees.id)) == ["Tom keeps brown bees", "Tom keeps brown bees outdoors"]


@pytest.mark.once
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tom baked bread", "Tom never baked bread"),
        ("Tom visited Rome in 2019", "Tom visited Rome in 2020"),
        ("Tom baked bread with Ann", "Tom baked bread with Eve"),
        ("Tom fed two cats", "Tom fed three cats"),
        ("Tom likes tea", "Tom's brother likes tea"),
        ("Tom likes tea", "Tom likes coffee"),
        ("小明喂了两只猫", "小明喂了三只猫"),
        ("小明去了北京", "小明没去北京"),
    ],
)
def test_words_decide_what_vectors_cannot(world: World, old: str, new: str) -> None:
    memory = world.open()
    page = memory.add("page")
    teach(world, lesson(old, page, day(1)), lesson(new, page, day(2)))
    assert sorted(texts(memory.profile.get().user.facts)) == sorted([old, new])


@given(st.text(max_size=40), st.text(max_size=40))
def test_likeness_is_the_same_both_ways(old: str, new: str) -> None:
    assert says_the_same(old, new) == says_the_same(new, old)


def test_a_wording_goes_with_its_page(world: World) -> None:
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    first = memory.add("🍵\nfact: 🍵 Tom brews strong tea")
    second = memory.add("🍵\nfact: 🍵 Tom brews strong tea nightly")
    memory.add("🚲 end")
    world.extract()
    (fact,) = memory.profile.get().user.facts
    assert fact.descriptive.provenance == (first, second)
    Corrector(world.promoter(LineExtractor()), ANN).delete(second)
    (fact,) = memory.profile.get().user.facts
    assert (fact.text, fact.payload.wordings) == ("🍵 Tom brews strong tea", ())
    assert fact.descriptive.provenance == (first,)
    assert "nightly" not in str(memory.history(fact.id))


class Opinion:
    """A judge who always says the same, and remembers what it was asked."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.asked: list[tuple[str, str]] = []

    def compare(self, pairs: Sequence[Pair]) -> dict[Pair, Verdict]:
        self.asked += pairs
        return dict.fromkeys(pairs, self.verdict)


@pytest.mark.once
@pytest.mark.parametrize("verdict", [*Verdict, None])
def test_a_judge_is_asked_only_where_words_cannot_tell(world: World, verdict: Verdict | None) -> None:
    memory = world.open()
    pages = [memory.add(f"page {number}") for number in range(2)]
    judge = Opinion(verdict) if verdict else None
    old, new = "Tom drives a small automobile", "Tom owns a little car"
    teach(world, lesson(old, pages[0], day(1)), judge=judge)
    assert judge is None or judge.asked == []
    tally = teach(world, lesson(new, pages[1], day(2)), judge=judge)
    assert tally.unsure == 1
    assert judge is None or judge.asked == [(old, new)]
    found = {
        Verdict.SAME: [old],
        Verdict.UPDATES: [new],
        Verdict.DIFFERENT: [old, new],
        None: [old, new],
    }
    assert texts(memory.profile.get().user.facts) == found[verdict]
    if verdict is Verdict.UPDATES:
        assert known(memory, day(1)) == [old]
        memory.delete(memory.profile.get().user.facts[0].id)
        assert texts(memory.profile.get().user.facts) == [old]


def test_a_judge_is_not_shown_a_fact_that_has_expired(world: World) -> None:
    memory = world.open()
    old = memory.facts.add("Tom drives a small automobile", ttl=timedelta(hours=1))
    memory.governance.hold(reason="a case", memory=old)
    judge = Opinion(Verdict.SAME)
    new = lesson("Tom owns a little car", memory.add("page 1"), day(2))
    assert world.promoter(LineExtractor(), judge).verdicts(ANN, [new])
    world.clock.advance(hours=2)
    assert world.promoter(LineExtractor(), judge).verdicts(ANN, [new]) == {}
    assert len(judge.asked) == 1


# One after the other


@pytest.mark.once
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tom lives in Rome.", "Tom has moved to Paris."),
        ("Tom works at Acme.", "Tom got a new job at Globex."),
        ("Tom works as a nurse", "Tom works as a pilot now"),
        ("Tom is single", "Tom got married"),
        ("Tom is 29", "Tom turned 30"),
        ("Tom's favourite food is rice", "Tom's favourite food is now bread"),
        ("Tom's phone number is 555-1234", "Tom's phone number is 555-9876"),
        ("Tom's email is tom@old.example", "Tom's email is tom@new.example."),
        ("Tom likes tea", "Tom no longer likes tea"),
        ("Tom drinks coffee every day", "Tom stopped drinking coffee"),
        ("Tom smokes cigars", "Tom doesn't smoke cigars any more"),
        ("Tom is a plumber", "Tom got a new job as a teacher"),
        ("Tom is a plumber", "Tom is a teacher now"),
        ("Tom is a plumber", "Tom became a teacher"),
        ("Tom works as a nurse", "Tom was promoted to head nurse"),
        ("Tom is a student", "Tom is no longer a student"),
        ("Tom is a plumber", "Tom quit his job"),
        ("Tom is an engineer at Acme", "Tom just retired"),
        ("Tom works at Acme", "Tom quit his job"),
        ("Tom works at Acme", "Tom was fired"),
        ("Tom works at Acme", "Tom quit Acme"),
        ("Tom works at Acme", "Tom got a new job as a teacher"),
        ("Tom is unemployed", "Tom works at Acme"),
        ("Tom lives in Rome", "Tom moved out of Rome"),
        ("Tom lives in Rome", "Tom left Rome for good"),
        ("Tom drives a Volvo", "Tom sold his Volvo"),
        ("Tom has an old Volvo", "Tom sold his Volvo"),
        ("Tom has a dog", "Tom's dog died"),
        ("Tom has a dog", "Tom doesn't have a dog anymore"),
        ("Tom has two cats", "Tom has three cats now"),
        ("Tom loves sushi", "Tom stopped eating sushi"),
        ("Tom is allergic to nuts", "Tom is not allergic to nuts after all"),
        ("Tom is afraid of dogs", "Tom isn't afraid of dogs any more"),
        ('Tom: "we live in Rome, near the river"', "Tom has moved to Paris."),
        ("小明住在上海", "小明搬到了北京"),
        ("小明在腾讯工作", "小明跳槽到阿里了"),
        ("小明最喜欢的颜色是蓝色", "小明最喜欢的颜色换成了红色"),
        ("小明的手机号是13800000000", "小明的手机号换成了13900000000"),
        ("小明单身", "小明结婚了"),
        ("小明喜欢喝茶", "小明不再喜欢喝茶了"),
        ("小明抽烟", "小明戒烟了"),
        ("小明住在北京", "小明搬离北京了"),
        ("小明是一名工程师", "小明找到了一份新工作，当老师"),
        ("小明是一名工程师", "小明换工作了，现在当医生"),
        ("小明是学生", "小明不是学生了"),
        ("小明在腾讯工作", "小明从腾讯辞职了"),
        ("小明是护士", "小明辞职了"),
        ("小明养了两只猫", "小明现在有三只猫"),
        ("小明喜欢吃寿司", "小明不吃寿司了"),
        ("小明对花生过敏", "小明对花生不过敏了"),
        ("小明的儿子四岁了", "小明的儿子五岁了"),
    ],
)
def test_a_later_fact_takes_the_place_of_what_it_contradicts(world: World, old: str, new: str) -> None:
    memory = world.open()
    pages = [memory.add(f"page {number}") for number in range(2)]
    for text, page, at in ((old, pages[0], day(1)), (new, pages[1], day(9))):
        tally = teach(world, lesson(text, page, at))
    assert tally == Tally(kept=1, superseded=1)
    (fact,) = memory.profile.get().user.facts
    assert fact.text == new
    assert known(memory) == known(memory, day(9)) == [new]
    assert known(memory, day(1)) == known(memory, day(8)) == [old]
    assert known(memory, day(0)) == []
    assert old not in memory.context("anything").text
    assert texts(memory.history(fact.id)) == [old, new]
    former = memory.get(fact.version.supersedes)
    assert (former.descriptive.valid_from, former.descriptive.valid_to) == (day(1), day(9))
    assert (former.version.superseded_by, former.version.superseded_at) == (fact.id, world.clock())
    assert [link.target for link in world.links(LinkKind.SUPERSEDES, fact.id)] == [former.id]


@pytest.mark.once
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tom lives in Rome", "Tom's sister lives in Paris"),
        ("Tom lives in Rome", "Tom wants to move to Paris"),
        ("Tom lives in Rome", "Tom lived in Paris"),
        ("Tom lives in Rome", "Tom no longer lives in Paris"),
        ("Tom lives in Rome", "Tom lived in Paris until 2001"),
        ("Tom likes tea", "Tom no longer likes coffee"),
        ("Tom's favourite food is rice", "Tom's favourite color is red"),
        ("Tom has a dog", "Tom has a cat"),
        ("Tom lives in Rome", "Tom is moving to Paris next month"),
        ("Tom lives in Rome", "Tom moved out of Paris"),
        ("Tom is a nurse", "Tom is also a pianist"),
        ("Tom is a nurse", "Tom works at Acme"),
        ("Tom is a nurse", "Tom quit Acme"),
        ("Tom has a dog", "Tom sold his Volvo"),
        ("Tom hates sushi", "Tom stopped eating sushi"),
        ("Tom likes sushi", "Tom doesn't eat sushi on Mondays"),
        ("Tom was afraid of dogs", "Tom is not afraid of dogs"),
        ("小明住在上海", "小明的姐姐住在北京"),
        ("小明住在上海", "小明想搬到北京"),
        ("小明住在上海", "小明下个月要搬到北京"),
        ("小明住在上海", "小明搬到三楼了"),
        ("小明住在上海", "小明搬到朋友家了"),
        ("小明是护士", "小明的儿子是学生"),
    ],
)
def test_what_excludes_nothing_stays_beside_it(world: World, one: str, other: str) -> None:
    memory = world.open()
    page = memory.add("page")
    teach(world, lesson(one, page, day(1)), lesson(other, page, day(2)))
    assert sorted(texts(memory.profile.get().user.facts)) == sorted([one, other])


def test_the_time_that_is_stated_is_the_time_it_holds(world: World) -> None:
    memory = world.open()
    pages = [memory.add(f"page {number}") for number in range(4)]
    said = datetime(2024, 3, 1, tzinfo=START.tzinfo)
    teach(
        world,
        lesson("Tom has lived in Oslo since 2019", pages[0], said),
        lesson("Tom rents a boat until June 2024", pages[1], said),
        lesson("小明从2019年起学习钢琴", pages[2], said),
        lesson("Tom moved to Rome in 2015", pages[3], said + timedelta(days=1)),
    )
    found = {cube.text: cube.descriptive for cube in everywhere(world)}
    assert found["Tom has lived in Oslo since 2019"].valid_from.year == 2019
    assert found["小明从2019年起学习钢琴"].valid_from.year == 2019
    assert found["Tom rents a boat until June 2024"].valid_to == datetime(2024, 7, 1, tzinfo=START.tzinfo)
    rome = found["Tom moved to Rome in 2015"]  # told later, but of an earlier time
    assert (rome.valid_from.year, rome.valid_to.year) == (2015, 2019)
    assert "Tom moved to Rome in 2015" not in known(memory)
    assert "Tom rents a boat until June 2024" in known(memory, datetime(2024, 6, 30, tzinfo=START.tzinfo))
    assert "Tom rents a boat until June 2024" not in known(memory, datetime(2024, 7, 2, tzinfo=START.tzinfo))
    assert "Tom rents a boat until June 2024" not in known(memory)
    assert known(memory, said - timedelta(days=1)) == []  # nobody had said it


def test_former_facts_take_no_room(world: World) -> None:
    memory = world.open(knowledge_capacity=2)
    page = memory.add("page")
    teach(world, lesson("Tom keeps bees", page, day(0)))
    for number, city in enumerate(("Rome", "Oslo", "Bern", "Kyiv")):
        teach(world, lesson(f"Tom lives in {city}", page, day(1 + number)))
    assert texts(memory.profile.get().user.facts) == ["Tom keeps bees", "Tom lives in Kyiv"]


def test_a_value_that_comes_back_is_there_twice_in_time(world: World) -> None:
    memory = world.open()
    pages = [memory.add(f"page {number}") for number in range(3)]
    for number, city in enumerate(("Rome", "Oslo", "Rome")):
        teach(world, lesson(f"Tom lives in {city}", pages[number], day(10 * number)))
    assert [known(memory, day(at)) for at in (5, 15, 25)] == [
        ["Tom lives in Rome"],
        ["Tom lives in Oslo"],
        ["Tom lives in Rome"],
    ]
    corrected = Corrector(world.promoter(LineExtractor()), ANN)
    corrected.delete(next(cube.id for cube in everywhere(world) if "Oslo" in cube.text))
    (fact,) = everywhere(world)
    assert (fact.descriptive.provenance, fact.descriptive.valid_from) == ((pages[0], pages[2]), day(0))


def test_what_a_deleted_fact_superseded_comes_back(world: World) -> None:
    memory = world.open()
    memory.facts.add("Tom lives in Rome", at=day(1))
    memory.facts.add("Tom lives in Oslo", at=day(2))
    memory.facts.add("Tom lives in Bern", at=day(3))
    oslo = next(cube for cube in everywhere(world) if "Oslo" in cube.text)
    memory.delete(oslo.id)
    assert [known(memory, day(at)) for at in (1, 2, 3)] == [["Tom lives in Rome"]] * 2 + [["Tom lives in Bern"]]
    memory.delete(memory.profile.get().user.facts[0].id)
    assert known(memory) == ["Tom lives in Rome"]
    (rome,) = everywhere(world)
    assert rome.version.superseded_by is None
    assert rome.descriptive.valid_to is None


def test_what_the_facts_of_a_deleted_page_superseded_comes_back(world: World) -> None:
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    pages = [
        memory.add(f"🍵\nfact: {text}", at=day(number))
        for number, text in enumerate(("lives in Rome", "lives in Oslo", "lives in Rome", "lives in Bern"))
    ]
    memory.add("🚲 end")
    world.extract()
    assert known(memory) == ["lives in Bern"]
    corrector = Corrector(world.promoter(LineExtractor()), ANN)
    corrector.delete(pages[3])
    assert [known(memory, day(at)) for at in (0, 1, 2)] == [["lives in Rome"], ["lives in Oslo"], ["lives in Rome"]]
    corrector.delete(pages[1])
    (rome,) = everywhere(world)
    assert rome.descriptive.provenance == (pages[0], pages[2])
    assert known(memory) == ["lives in Rome"]


# Laws


@dataclass(frozen=True)
class Said:
    text: str
    page: int
    at: int


SAYINGS = st.sampled_from(
    ["Tom lives in Rome", "Tom has moved to Rome", "Tom lives in Oslo", "Tom no longer lives in Rome", "Tom likes tea",
     "Tom no longer likes tea", "Tom likes tea a lot", "Tom moved to Bern in 2025", "Tom keeps bees",
     "Tom works at Acme", "Tom is a nurse", "Tom got a new job as a pilot", "Tom was fired", "Tom works at Globex",
     "Tom stopped drinking tea"]
)  # fmt: skip


@st.composite
def sayings(draw: st.DrawFn) -> list[Said]:
    """Each of a page of its own.

    Where one page gives a slot two values in one breath ("not Oslo, I live in Rome"), the law of order does not hold:
    no mention stores its place in its page, so `succession` takes the order in which the cubes were made, and that
    can differ when another page that says one of the two is processed earlier.
    """
    said = draw(st.lists(st.tuples(SAYINGS, st.integers(0, 6)), min_size=1, max_size=7))
    return [Said(text, page, at) for page, (text, at) in enumerate(said)]


def lessons_of(said: Sequence[Said]) -> list[Lesson]:
    return [lesson(one.text, PAGES[one.page], day(one.at)) for one in said]


def picture(world: World, scope: Scope) -> set[tuple[object, ...]]:
    """What is known, without ids and without when it became known."""
    return {
        (cube.text, cube.tier, cube.state is State.MERGED, cube.descriptive.valid_from, cube.descriptive.valid_to,
         cube.descriptive.event_at, frozenset(cube.descriptive.provenance))
        for cube in everywhere(world, scope)
    }  # fmt: skip


SOME = settings.default.max_examples // 2  # each takes as long as a test
LAW = settings(max_examples=SOME, suppress_health_check=[HealthCheck.function_scoped_fixture])
_users = count()
PAGES: list[str] = []  # that facts of any user may rest on


@pytest.fixture
def memory(world: World) -> Memory:
    """One memory for all examples of a law; each has a user of its own."""
    opened = world.open(short_term_capacity=1, heat_threshold=1000)
    PAGES[:] = [opened.add(f"page {number}") for number in range(7)]
    return opened


def learned(world: World, *groups: Sequence[Said]) -> Scope:
    """A user of whom this was learned, group by group."""
    scope = Scope(user=f"user {next(_users)}")
    for group in groups:
        teach(world, *lessons_of(group), scope=scope)
    return scope


def singly(said: Sequence[Said]) -> list[list[Said]]:
    """One after the other, but without those of which the order may choose the words."""
    return [[one] for one in said if "a lot" not in one.text]


@LAW
@given(data=st.data(), said=sayings())
def test_the_order_of_processing_changes_nothing(
    world: World, memory: Memory, data: st.DataObject, said: list[Said]
) -> None:
    together = [one for group in singly(said) for one in group]
    shuffled = data.draw(st.permutations(together))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(shuffled)))))
    batches = [shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]
    assert picture(world, learned(world, together)) == picture(world, learned(world, *batches))


def test_a_fact_made_and_merged_in_one_batch_is_there_once(world: World, memory: Memory) -> None:
    """The last saying, of an earlier time, makes one again of two spells that the batch itself had split."""
    said = [
        Said("Tom lives in Rome", 0, 0),
        Said("Tom no longer lives in Rome", 1, 1),
        Said("Tom moved to Bern in 2025", 2, 1),
        Said("Tom no longer lives in Rome", 3, 1),
        Said("Tom lives in Oslo", 4, 0),
    ]
    scope = learned(world, said)
    assert picture(world, scope) == picture(world, learned(world, *([one] for one in said)))
    (denial,) = [cube for cube in everywhere(world, scope) if "no longer" in cube.text]
    assert denial.descriptive.provenance == (PAGES[1], PAGES[3])


@LAW
@given(said=sayings())
def test_learning_it_again_changes_nothing(world: World, memory: Memory, said: list[Said]) -> None:
    scope = learned(world, said)
    before, events = picture(world, scope), memory.of(scope).log.events()
    teach(world, *lessons_of(said), scope=scope)
    assert picture(world, scope) == before
    assert memory.of(scope).log.events() == events


@LAW
@given(said=sayings(), moment=st.integers(0, 7))
def test_at_any_moment_a_slot_has_one_value(world: World, memory: Memory, said: list[Said], moment: int) -> None:
    scope = learned(world, *([one] for one in said))
    for as_of in (day(moment), None):
        held = [found for text in known(memory, as_of, scope) if (found := filling(text)) and not found.is_denied]
        values = {(found.slot, found.value) for found in held}
        assert len({slot for slot, _ in values}) == len(values)
    assert not any(cube.version.superseded_by for cube in world.cubes(Kind.FACT, Tier.LPM, scope=scope))


@settings(LAW, max_examples=SOME // 2)
@given(data=st.data(), said=sayings())
def test_a_deleted_page_leaves_what_the_others_say(
    world: World, memory: Memory, data: st.DataObject, said: list[Said]
) -> None:
    plain = [one for group in singly(said) for one in group]
    scope = Scope(user=f"user {next(_users)}")
    pages = {memory.of(scope).add(f"🍵\nfact: {one.text}", at=day(one.at)): one for one in plain}
    memory.of(scope).add("🚲 end")
    world.extract(scope=scope)
    gone = data.draw(st.sampled_from(sorted(pages))) if pages else None
    if gone:
        Corrector(world.promoter(LineExtractor()), scope).delete(gone)
    left = [one for page, one in pages.items() if page != gone]
    after = {row[:-1] for row in picture(world, scope)}
    assert after == {row[:-1] for row in picture(world, learned(world, left))}


# Counts


def test_counts_are_summed_and_shown(world: World) -> None:
    memory = world.open()
    page = memory.add("page")
    teach(world, lesson("Tom lives in Rome", page, day(1)))
    teach(
        world, lesson("Tom lives in Oslo", page, day(2)), lesson("Tom lives happily in Oslo", memory.add("p"), day(2))
    )
    with world.vault.write(ANN) as writer:
        sum_up(writer, Tally(rejected=3))
    assert memory.stats().facts == Tally(kept=2, merged=1, superseded=1, rejected=3)
    memory.close()
    again = world.open()
    assert again.stats().facts.rejected == 3
    assert again.of(Scope(user="bob")).stats().facts == Tally()
    with world.vault.read(ANN) as reader:
        assert tally_of(reader).kept == 2


def test_an_empty_answer_teaches_nothing(world: World) -> None:
    memory = world.open()
    memory.profile.set("city", "Rome")
    memory.facts.add("Tom keeps bees")
    assert teach(world, lesson("  ", memory.add("page"), day(1))) == Tally()
    assert memory.profile.get().user.fields == {"city": "Rome"}
    assert texts(memory.profile.get().user.facts) == ["Tom keeps bees"]


def test_a_plan_is_no_beginning() -> None:
    said = datetime(2024, 3, 1, tzinfo=START.tzinfo)
    assert term("Tom lives in Oslo from 2030 to 2031", said).start is None
