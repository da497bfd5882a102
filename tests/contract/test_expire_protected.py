"""`governance.expire` is refused where `delete` is: what would go later must not be frozen or on hold now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from memoryos import ExpireStep, Memory, MemoryOS, Pipeline, RetrieveStep, Scope, load_settings
from memoryos.errors import CubeProtected, OnHold
from memoryos.models.hashing import Hashing

pytestmark = pytest.mark.each


@dataclass(frozen=True)
class World:
    """A topic with its pages, and a fact with the page that it rests on."""

    memory: Memory
    topic: str
    pages: list[str]
    fact: str
    read: str

    def ends(self, memory: str) -> list[Callable[[], object]]:
        return [lambda: self.memory.delete(memory), lambda: self.memory.governance.expire(memory)]


@pytest.fixture
def world(place, clock) -> Iterator[World]:
    settings = load_settings(short_term_capacity=1)
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as store:
        memory = store.of(Scope(user="ann"))
        days = ("Monday", "Tuesday", "Wednesday", "Thursday")
        pages = [memory.add(f"I hiked in the mountains of Norway on {day}.", "ok") for day in days]
        read = memory.add("I live in Rome.", "ok")
        memory.add("zz")
        memory.consolidate()
        (topic,) = [one for one in memory.segments.list() if pages[1] in one.page_ids]
        (fact,) = [one.id for one in memory.facts.list() if read in one.descriptive.provenance]
        yield World(memory, topic.cube.id, pages, fact, read)


@pytest.mark.parametrize("keeper", ["frozen", "on hold"])
def test_a_topic_with_a_kept_page_does_not_expire(world: World, keeper: str) -> None:
    kept, error = world.pages[1], CubeProtected if keeper == "frozen" else OnHold
    if keeper == "frozen":
        world.memory.governance.freeze(kept)
    else:
        world.memory.governance.hold(reason="case 7", memory=kept)
    for end in world.ends(world.topic):
        with pytest.raises(error, match=f"{kept}.*(thaw|release)"):
            end()
    world.memory.wait()
    assert all(world.memory.get(one) for one in (*world.pages, world.topic))


@pytest.mark.parametrize("keeper", ["frozen", "on hold"])
def test_the_page_of_a_kept_fact_does_not_expire(world: World, keeper: str) -> None:
    error = CubeProtected if keeper == "frozen" else OnHold
    if keeper == "frozen":
        world.memory.governance.freeze(world.fact)
    else:
        world.memory.governance.hold(reason="case 7", memory=world.fact)
    for end in world.ends(world.read):
        with pytest.raises(error, match=f"{world.fact}.*(thaw|release)"):
            end()
    world.memory.wait()
    assert world.memory.get(world.read).text == "user: I live in Rome.\nassistant: ok"
    assert world.memory.get(world.fact)


def test_no_step_of_a_pipeline_lets_the_page_of_a_kept_fact_expire(world: World) -> None:
    world.memory.governance.hold(reason="case 7", memory=world.fact)
    steps = [RetrieveStep(query="I live in Rome", kinds=("page",), most=1), ExpireStep()]
    with pytest.raises(OnHold, match=world.fact):
        world.memory.pipelines.run(Pipeline("end", steps))
    assert world.memory.get(world.read)


def test_what_nothing_keeps_expires_with_its_topic(world: World) -> None:
    world.memory.governance.expire(world.topic)
    world.memory.wait()
    assert [page for page in world.memory.pages.list() if page.id in world.pages] == []
