"""What is said outright is known after `wait()`, follows changes, and goes with the page that said it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pytest

import memoryos
from memoryos import Memory, load_settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault import soundness
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind
from memoryos.operation.consolidation.extractor import RuleExtractor
from memoryos.operation.consolidation.finding import Finding

from .world import ANN, World

BOB = "My name is Bob, I live in Oslo and I'm a plumber"


def facts(memory: Memory) -> list[str]:
    return sorted(fact.text for fact in memory.profile.get().user.facts)


def fields(memory: Memory) -> Mapping[str, str]:
    return memory.profile.get().user.fields


@pytest.fixture
def memory(world: World) -> Memory:
    """One whose pages stay in STM."""
    return world.open(recent_within_seconds=0)


def told(memory: Memory, world: World, *texts: str) -> list[str]:
    """Say this, a month apart."""
    pages = []
    for text in texts:
        world.clock.advance(days=30)
        pages.append(memory.add(text))
    return pages


@pytest.mark.parametrize("about", [{"title": "A Study in Scarlet"}, {"source": "scarlet.txt"}])
def test_a_document_tells_nothing_of_the_user(memory, about):
    page = memory.add("My name is John Watson. I live in London and I love tobacco.", "I am a detective.", **about)
    memory.consolidate()
    profile = memory.profile.get()
    assert profile.user.is_empty
    assert profile.agent.is_empty
    assert memory.search("Who loves tobacco?").hits[0].id == page
    memory.update(page, "My name is James Watson.")
    memory.wait()
    assert memory.profile.get().user.is_empty


def test_a_document_does_not_hide_what_the_user_says(memory):
    memory.add("My name is John Watson.", title="A Study in Scarlet")
    memory.add("My name is Bob.")
    memory.consolidate()
    assert fields(memory)["name"] == "Bob"


class Watched(RuleExtractor):
    """Keeps which pages it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def extract(self, pages: Sequence[MemCube]) -> list[Finding]:
        self.read += [page.id for page in pages]
        return super().extract(pages)


def watched(memory: Memory) -> Watched:
    extractor = Watched()
    object.__setattr__(memory._engine.promoter, "extractor", extractor)
    return extractor


def test_the_first_exchange_is_known_when_wait_returns(memory: Memory) -> None:
    memory.add(BOB, "Hi Bob!")
    assert fields(memory) == {"name": "Bob", "location": "Oslo", "occupation": "plumber"}
    assert facts(memory) == ["User is a plumber.", "User lives in Oslo."]


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 0.0),
        ({"extractor": "model"}, 30 * 86_400.0),
        ({"recent_within_seconds": 60}, 60.0),
        ({"recent_within_seconds": None}, None),
        ({"extractor": "model", "recent_within_seconds": 0}, 0.0),
    ],
)
def test_rules_read_at_once_unless_they_are_told_to_wait(settings: dict[str, object], seconds: float | None) -> None:
    assert load_settings(**settings).recent_within == seconds


def test_each_page_is_read_once(world: World) -> None:
    memory = world.open(recent_within_seconds=0, short_term_capacity=2, heat_threshold=0)
    extractor = watched(memory)
    pages = told(memory, world, BOB, *(f"I have {number} boats." for number in range(2, 9)))
    memory.consolidate()
    assert sorted(page for page in extractor.read if page in pages) == sorted(pages)
    assert memory.jobs.list() and not [job for job in memory.jobs.list() if job.error]


def test_consolidate_reads_the_pages_of_stm(world: World) -> None:
    memory = world.open()
    memory.add(BOB)
    assert fields(memory) == {}
    memory.consolidate()
    assert fields(memory)["name"] == "Bob"
    extractor = watched(memory)
    memory.consolidate()
    assert extractor.read == []


def test_what_was_read_in_stm_leaves_no_mark_behind(world: World) -> None:
    memory = world.open(recent_within_seconds=0, short_term_capacity=1, heat_threshold=0)
    pages = told(memory, world, BOB, "I have two boats.", "I like jazz.")
    memory.delete(pages[1])
    with world.vault.read(ANN) as reader:
        marked = reader.targets([page.id for page in reader.cubes(Kind.PAGE)], LinkKind.READ)
    assert [link.source for link in marked] == [pages[2]]
    assert fields(memory)["name"] == "Bob"


def test_the_profile_follows_changes_and_tells_since_when(memory: Memory, world: World) -> None:
    told(memory, world, BOB)
    first = world.clock()
    told(memory, world, "I moved to Bergen", "I got a new job as a teacher")
    assert fields(memory) == {"name": "Bob", "location": "Bergen", "occupation": "teacher"}
    since = memory.profile.get().user.since
    assert since["name"] == first
    assert first < since["location"] < since["occupation"] == world.clock()
    assert "User lives in Oslo." not in facts(memory)
    assert f"occupation: teacher ({since['occupation']:%-d %B %Y})" in memory.context("What do I do?").text


@pytest.mark.once
@pytest.mark.parametrize(
    ("before", "end", "left"),
    [
        ("I'm a waiter.", "I'm not a waiter anymore", {}),
        ("I'm a waiter.", "I got fired today", {}),
        ("I'm a waiter.", "I quit my job as a cook", {"occupation": "waiter"}),
        ("I live in Prague.", "I don't live in Prague anymore", {}),
        ("I live in Prague.", "I no longer live in Porto", {"location": "Prague"}),
        ("I live in Prague.", "I moved out of Prague", {}),
        ("I live in Prague.", "I left Prague for good", {}),
        ("I live in Prague.", "I moved out of Porto", {"location": "Prague"}),
        ("I'm a waiter.", "I lost my job, now I work as a driver", {"occupation": "driver"}),
        ("我是一名护士。", "我辞职了", {}),
        ("我是一名护士。", "我不当护士了", {}),
        ("我是学生。", "我不是学生了", {}),
        ("我是一名护士。", "我从医院辞职了", {}),
        ("我住在北京。", "我搬离北京了", {}),
    ],
)
def test_what_is_said_to_be_over_ends(memory: Memory, world: World, before: str, end: str, left: dict) -> None:
    told(memory, world, before, end)
    assert fields(memory) == left
    assert [cube.text for cube in memory.search("home and work").profile] == [f"{k}: {v}" for k, v in left.items()]


@pytest.mark.once
def test_who_is_fired_has_neither_occupation_nor_employer_until_the_next(memory: Memory, world: World) -> None:
    told(memory, world, "I'm a waiter.", "I work at Acme.")
    then = world.clock()
    fired, _ = told(memory, world, "I was fired.", "I work at Globex.")
    assert facts(memory) == ["User works at Globex."]
    found = memory.search("work", as_of=then).user_facts
    assert sorted(hit.text for hit in found) == ["User is a waiter.", "User works at Acme."]
    memory.delete(fired)
    assert facts(memory) == ["User is a waiter.", "User works at Globex."]


def test_a_field_that_is_over_is_found_as_of_its_time(memory: Memory, world: World) -> None:
    told(memory, world, "I'm a waiter.")
    then = world.clock()
    told(memory, world, "I'm not a waiter anymore")
    between = world.clock()
    told(memory, world, "I work as a teacher.")
    found = [[cube.text for cube in memory.search("work", as_of=at).profile] for at in (then, between, world.clock())]
    assert found == [["occupation: waiter"], [], ["occupation: teacher"]]


ENDED = ("I'm a waiter.", "I'm not a waiter anymore", "I live in Oslo.", "I moved to Bergen.")


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_the_order_in_which_it_is_read_changes_nothing(memory: Memory, world: World, order: tuple[int, ...]) -> None:
    start = world.clock()
    world.clock.advance(days=400)
    for number in order:
        memory.add(ENDED[number], at=start.replace(day=1 + number))
    assert fields(memory) == {"location": "Bergen"}


def test_a_page_that_goes_takes_the_end_with_it(memory: Memory, world: World) -> None:
    pages = told(memory, world, "I'm a waiter.", "I'm not a waiter anymore")
    memory.delete(pages[1])
    assert fields(memory) == {"occupation": "waiter"}
    memory.update(pages[0], "I'm a plumber.")
    memory.jobs.run()
    assert fields(memory) == {"occupation": "plumber"}
    memory.upkeep.rebuild()
    assert fields(memory) == {"occupation": "plumber"}
    memory.delete(pages[0])
    assert fields(memory) == {}


def test_a_corrected_end_is_no_end(memory: Memory, world: World) -> None:
    pages = told(memory, world, "I'm a waiter.", "I'm not a waiter anymore")
    memory.update(pages[1], "The weather is nice.")
    memory.jobs.run()
    assert fields(memory) == {"occupation": "waiter"}


@pytest.mark.once
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (["I'm vegetarian.", "not vegetarian anymore btw"], ["User is not vegetarian anymore."]),
        (["I'm vegetarian.", "I'm vegan now."], ["User is vegan now."]),
        (["I'm a waiter.", "I'm not a waiter anymore."], ["User is not a waiter anymore."]),
        (["I'm a waiter.", "I became a teacher"], ["User became a teacher."]),
        (["I'm a student", "I'm no longer a student"], ["User is no longer a student."]),
        (["I work at Acme", "I quit my job"], ["User quit their job."]),
        (["I work at Acme", "I no longer work at Acme"], ["User no longer works at Acme."]),
        (["I work at Acme", "I left Acme"], ["User left Acme."]),
        (["I live in Oslo", "I left Oslo for good"], ["User left Oslo for good."]),
        (["I'm afraid of dogs", "I'm not afraid of dogs any more"], ["User is not afraid of dogs any more."]),
        (["I'm a waiter", "I work as a driver", "I'm a waiter again"], ["User is a waiter again."]),
        (["my email is a@b.org", "my new email is c@d.org"], ["User's new email is c@d.org."]),
        (["My phone number is 555-0142.", "my new number is 555-0199"], ["User's new number is 555-0199."]),
        (["My number is 555-0142.", "reach me at 555-0199"], ["User can be reached at 555-0199."]),
        (["my email is a@b.org", "I changed my email to c@d.org"], ["User changed their email to c@d.org."]),
        (
            ["My work email is a@b.org.", "My email is c@d.org."],
            ["User's email is c@d.org.", "User's work email is a@b.org."],
        ),
    ],
)
def test_a_fact_gives_way_to_what_contradicts_it(
    memory: Memory, world: World, said: list[str], kept: list[str]
) -> None:
    told(memory, world, *said)
    assert facts(memory) == kept


@pytest.mark.once
def test_what_is_amended_is_quoted_by_the_words_that_amend_it(memory: Memory, world: World) -> None:
    told(memory, world, "My name is Elvis. lol no, it's Dan.", "My favorite color is green, no wait, blue")
    assert fields(memory) == {"name": "Dan"}
    (fact,) = memory.profile.get().user.facts
    assert (fact.text, fact.payload.quote) == (
        "User's favorite color is blue.",
        "My favorite color is green, no wait, blue",
    )


@pytest.mark.once
def test_a_place_in_small_letters_fills_the_same_slot(memory: Memory, world: World) -> None:
    told(memory, world, "i live in oslo n im a plumber", "I moved to Bergen")
    assert facts(memory) == ["User is a plumber.", "User moved to Bergen."]


def test_a_store_with_such_marks_is_sound(memory: Memory, world: World) -> None:
    told(memory, world, BOB, "I'm not a plumber anymore")
    report = soundness.verify(world.vault)
    assert report.checked["links"] > 0
    assert not report.damages


@pytest.fixture
def cold(world: World) -> Memory:
    """One with room for three pages in STM, in which nothing gets hot."""
    waits = {"recent_within_seconds": 0, "extract_within_seconds": 86_400, "heat_threshold": 10**6}
    return world.open(short_term_capacity=3, **waits)


@pytest.mark.parametrize("later", [0, 2, 3, 20])
def test_what_leaves_stm_before_it_was_read_is_known_after_wait(cold: Memory, later: int) -> None:
    chatter = [f"The weather was fine on day {number}." for number in range(later)]
    cold.add([{"role": "user", "content": text} for text in (BOB, *chatter)])
    cold.wait()
    assert fields(cold) == {"name": "Bob", "location": "Oslo", "occupation": "plumber"}


def test_a_segment_that_waits_for_its_day_is_read_when_an_unread_page_joins_it(cold: Memory) -> None:
    for number in range(5):  # each is read in STM
        cold.add(f"The weather was fine on day {number}.")
        cold.wait()
    chatter = [f"The weather was fine in week {number}." for number in range(9)]
    cold.add([{"role": "user", "content": text} for text in ("The weather was fine. I love sushi.", *chatter)])
    cold.wait()
    assert "User loves sushi." in facts(cold)
    assert cold.stats().jobs_waiting == 0


@pytest.mark.once
@pytest.mark.parametrize("later", [18, 25, 40])
def test_what_was_not_read_is_known_although_the_segments_were_formed_again(tmp_path: Path, later: int) -> None:
    """A young scope forms its segments again by a new theta; the jobs of the former ones are lost with them."""
    settings = load_settings(recent_within_seconds=0)
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings) as memory:
        memory.add("I'm allergic to peanuts.", at="2024-05-10")
        memory.add("I live in Graz.", at="2024-05-11")
        chatter = [f"Small talk number {one} about weather and traffic on road {one}." for one in range(later)]
        memory.add([{"role": "user", "content": text} for text in chatter], at="2024-06-01")
        memory.wait()
        assert facts(memory) == ["User is allergic to peanuts.", "User lives in Graz."]
