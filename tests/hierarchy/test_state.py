"""Whatever is done in whatever order: no page is lost, doubled or orphaned."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memoryos import Kind, Strategy, Tier
from memoryos.infrastructure.vault.records import LinkKind

from .world import World

STM, MTM, FACTS = 2, 3, 2
SAID = ["I have a dog called Rex.", "我住在北京。", "I live in Rome.", "nothing much", "milk cup pot"]
POLICY = {"short_term_capacity": STM, "mid_term_capacity": MTM, "knowledge_capacity": FACTS, "heat_threshold": 2.5}

pick = st.integers(0, 10**6)


class Memory(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.world = World(Path(self.folder.name))
        self.memory = self.world.open(**POLICY)
        self.alive: dict[str, str] = {}  # page id -> what was said
        self.spared = 0  # segments that awaited extraction when MTM was last asked to shrink

    @rule(topics=st.text("🍵🚲🌙🍞🚂", min_size=1, max_size=3), said=st.sampled_from(SAID), hours=st.integers(0, 48))
    def add(self, topics: str, said: str, hours: int) -> None:
        self.world.clock.advance(hours=hours)
        jobs = {job.id for job in self.memory.jobs.list()}
        was_full = self.memory.stats().stm_pages == STM
        text = f"{topics} {said}"
        self.alive[self.memory.add(text)] = text
        self.memory.wait()
        if was_full:
            self.spared = len({job.id for job in self.memory.jobs.list()} - jobs)

    @rule(topic=st.sampled_from("🍵🚲🌙🍞🚂"), archive=st.booleans(), strategy=st.sampled_from(Strategy))
    def search(self, topic: str, archive: bool, strategy: Strategy) -> None:
        hits = self.memory.search(f"{topic} milk", archive=archive, strategy=strategy).hits
        found = [hit.id for hit in hits]
        assert len(set(found)) == len(found)
        assert set(found) <= set(self.alive)
        assert archive or all(hit.cube.tier is not Tier.ARCHIVE for hit in hits)

    @precondition(lambda self: self.alive)
    @rule(pick=pick)
    def delete_page(self, pick: int) -> None:
        page = sorted(self.alive)[pick % len(self.alive)]
        self.memory.delete(page)
        del self.alive[page]

    @precondition(lambda self: self.alive)
    @rule(pick=pick, said=st.sampled_from(SAID))
    def update_page(self, pick: int, said: str) -> None:
        page = sorted(self.alive)[pick % len(self.alive)]
        self.memory.update(page, f"🌧 {said}")
        self.alive[page] = f"🌧 {said}"

    @precondition(lambda self: self.memory.segments.list(archive=True))
    @rule(pick=pick)
    def delete_segment(self, pick: int) -> None:
        segments = self.memory.segments.list(archive=True)
        segment = segments[pick % len(segments)]
        self.memory.delete(segment.cube.id)
        for page in segment.page_ids:
            del self.alive[page]

    @rule()
    def consolidate(self) -> None:
        self.memory.consolidate()
        assert all(view.cube.behaviour.interactions == 0 for view in self.memory.segments.list())

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.world.open(**POLICY)

    @invariant()
    def every_page_exists_once(self) -> None:
        assert {page.id: page.payload.turns[0].text for page in self.memory.pages.list()} == self.alive
        assert len(self.memory.pages.list()) == len(self.alive)

    @invariant()
    def the_tiers_hold_their_capacity(self) -> None:
        self.memory.wait()  # also a search causes work: what it visits may get hot
        stats = self.memory.stats()
        assert stats.stm_pages <= STM
        assert stats.mtm_segments <= MTM + self.spared
        assert stats.user_facts <= FACTS
        assert (stats.jobs_waiting, stats.jobs_dead) == (0, 0)

    @invariant()
    def every_settled_page_is_in_one_segment_of_its_tier(self) -> None:
        segments = self.memory.segments.list(archive=True)
        tier_of = {page.id: page.tier for page in self.memory.pages.list()}
        members = [page for view in segments for page in view.page_ids]
        assert sorted(members) == sorted(page for page, tier in tier_of.items() if tier is not Tier.STM)
        for view in segments:
            assert view.cube.payload.pages == len(view.page_ids)
            assert {tier_of[page] for page in view.page_ids} == {view.cube.tier}
            assert 0 <= view.cube.behaviour.interactions <= len(view.page_ids)

    @invariant()
    def learned_memory_rests_on_pages_that_exist(self) -> None:
        for kind in (Kind.FACT, Kind.TRAIT, Kind.PROFILE):
            for cube in self.world.cubes(kind):
                support = {link.target for link in self.world.links(LinkKind.DERIVED_FROM, cube.id)}
                assert support == set(cube.descriptive.provenance)
                assert support
                assert support <= set(self.alive)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.close()
            self.folder.cleanup()


TestMemory = Memory.TestCase
SOME = settings.default.max_examples * 2 // 5  # each takes as long as a test
TestMemory.settings = settings(max_examples=SOME, stateful_step_count=25, suppress_health_check=list(HealthCheck))
