"""Correction: a memory that changes or goes takes everything that was made of it along."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest

from memoryos import Kind, Memory, Role, Scope, Strategy, Subject, Tier
from memoryos.errors import InvalidInput, NotFound
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.revised import NewWords

from .world import ANN, START, LineExtractor, World, texts

CODER = Scope(user="ann", agent="coder")
COOK = Scope(user="ann", agent="cook")


def three_pages(world: World, **settings) -> tuple[Memory, list[str]]:
    """A segment of three pages: milk and cup, milk and pot, sugar; and an unrelated page in STM."""
    memory = world.open(short_term_capacity=1, heat_threshold=1000, **settings)
    said = ["🍵 Milk in the cup.", "🍵🐈 Milk in the pot.", "🍵 Sugar for Quetzalcoatl."]
    pages = [memory.add(text, at=START - timedelta(days=9 - day)) for day, text in enumerate(said)]
    memory.add("🚲 bike")
    return memory, pages


def learned(world: World, *said: str) -> tuple[Memory, list[str]]:
    """Pages with these lines, extracted."""
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    pages = [memory.add(f"🍵\n{line}", at=START - timedelta(days=9 - day)) for day, line in enumerate(said)]
    memory.add("🚲 end")
    world.extract()
    return memory, pages


def corrector(world: World, scope: Scope = ANN) -> Corrector:
    return Corrector(world.promoter(LineExtractor()), scope)


def assert_gone(memory: Memory, page: str, word: str) -> None:
    for strategy in Strategy:
        for query in ("🍵", word):
            found = memory.search(query, strategy=strategy, pages=100, archive=True)
            assert page not in [hit.id for hit in found.hits]
            assert page not in [turn.cube.id for turn in found.turns]
    assert page not in [left.id for left in memory.pages.list()]
    for view in memory.segments.list(archive=True):
        assert page not in view.page_ids
        assert word.lower() not in " ".join([view.summary, *view.keywords]).lower()
    assert word not in memory.context("🍵 tea", archive=True).text
    for call in (memory.get, memory.history, memory.delete):
        with pytest.raises(NotFound):
            call(page)


# Deleting a page


def test_a_deleted_page_is_gone_everywhere(world: World):
    memory, pages = three_pages(world)
    assert memory.search("Quetzalcoatl", strategy="bm25").hits
    memory.delete(pages[2])
    assert_gone(memory, pages[2], "Quetzalcoatl")


def test_its_segment_is_described_anew(world: World):
    memory, pages = three_pages(world)
    memory.delete(pages[0])
    (segment,) = memory.segments.list()
    payload = segment.cube.payload
    assert segment.page_ids == tuple(pages[1:])
    assert dict(payload.keywords) == {"milk": 1, "pot": 1, "sugar": 1, "quetzalcoatl": 1}
    assert "cup" not in payload.summary
    assert (payload.pages, payload.first_at) == (2, START - timedelta(days=8))
    mean = np.mean(world.vectors(*segment.page_ids), axis=0)
    assert np.allclose(world.vectors(segment.cube.id)[0], mean, atol=1e-6)


def test_pages_join_a_corrected_segment_as_before(world: World):
    memory, pages = three_pages(world)
    memory.delete(pages[0])
    added = [memory.add("🍵 More milk."), memory.add("end")]
    segment = next(view for view in memory.segments.list() if pages[1] in view.page_ids)
    assert segment.page_ids == (*pages[1:], added[0])
    mean = np.mean(world.vectors(*segment.page_ids), axis=0)
    assert np.allclose(world.vectors(segment.cube.id)[0], mean, atol=1e-6)


def test_the_last_page_takes_its_segment_along(world: World):
    memory, pages = three_pages(world)
    for page in pages:
        memory.delete(page)
    assert memory.segments.list(archive=True) == []
    assert memory.stats().mtm_pages == 0


def test_a_page_in_stm_and_one_in_the_archive_can_be_deleted(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=1)
    archived, _, recent = (memory.add(text) for text in ("🍵 茶壶", "🚲 自行车", "🌙 月亮"))
    for page, tier, word in ((archived, Tier.ARCHIVE, "茶壶"), (recent, Tier.STM, "月亮")):
        assert memory.get(page).tier is tier
        memory.delete(page)
        assert_gone(memory, page, word)
    assert len(memory.pages.list()) == 1


def test_the_summaries_of_its_chain_forget_it(world: World):
    memory = world.open()
    said = ["🍵 I bought a kettle.", "🍵 Grandfather painted it.", "🍵 It whistles loudly."]
    pages = [memory.add(text) for text in said]
    memory.delete(pages[0])
    assert world.chain(pages[1]) == []
    summaries = [memory.get(page).payload.chain_summary for page in pages[1:]]
    assert not any("kettle" in summary for summary in summaries)
    assert "Grandfather" in summaries[1]


def test_facts_with_other_support_stay(world: World):
    memory, pages = learned(world, "fact: likes tea", "fact: owns a cat", "fact: likes tea")
    corrector(world).delete(pages[0])
    support = {fact.text: fact.descriptive.provenance for fact in memory.profile.get().user.facts}
    assert support == {"likes tea": (pages[2],), "owns a cat": (pages[1],)}
    corrector(world).delete(pages[1])
    assert texts(memory.profile.get().user.facts) == ["likes tea"]
    corrector(world).delete(pages[2])
    assert memory.profile.get().user.is_empty


def test_a_field_falls_back_to_what_is_left(world: World):
    memory, pages = learned(world, "city=Rome", "city=Paris")
    assert memory.profile.get().user.fields == {"city": "Paris"}
    corrector(world).delete(pages[1])
    assert memory.profile.get().user.fields == {"city": "Rome"}


def test_a_trait_shrinks_with_its_support(world: World):
    memory, pages = learned(world, "trait: Food", "trait: Food", "trait: Food")
    assert memory.profile.get().user.traits[0].payload.level.value == "medium"
    corrector(world).delete(pages[1])
    (trait,) = memory.profile.get().user.traits
    assert (trait.payload.level.value, trait.descriptive.provenance) == ("low", (pages[0], pages[2]))


def test_what_was_stated_outright_stays(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    memory.facts.add("likes tea")
    memory.profile.set("city", "Rome", subject=Subject.USER)
    world.clock.advance(days=1)
    page = memory.add("🍵\nfact: likes tea\ncity=Rome")
    memory.add("🚲 end")
    world.extract()
    corrector(world).delete(page)
    assert texts(memory.profile.get().user.facts) == ["likes tea"]
    assert memory.profile.get().user.fields == {"city": "Rome"}


@pytest.mark.parametrize("ends", ["deleted", "expired"])
def test_a_page_goes_although_what_was_stated_of_two_facts_is_long_together(world: World, ends: str):
    """The fact that rested on the page joins the other one, and their tags are more than a caller may add to one."""
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    page = memory.add("🍵\nfact: works as a nurse")
    memory.add("🚲 end")
    world.extract()
    (fact,) = memory.profile.get().user.facts
    ours, others = ([f"{name}{number}" + "x" * 40 for number in range(220)] for name in "ab")
    memory.facts.add("likes tea", tags=others)
    memory.update(fact.id, "likes tea", tags=ours)
    if ends == "deleted":
        memory.delete(page)
    else:
        memory.governance.expire(page)
        memory.jobs.run()
    assert page not in {left.id for left in world.cubes(Kind.PAGE)}
    (left,) = memory.profile.get().user.facts
    assert left.descriptive.provenance == ()
    assert set(left.descriptive.tags) == {*ours, *others}


def test_what_was_stated_without_an_end_outlasts_a_page_whose_fact_joined_it(world: World):
    """The fact that rested on the page handed its end on when the page expired, and the stated one went with it."""
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    memory.add("🍵 tea\nfact: works as a nurse", ttl=60)
    memory.add("🚲 end")
    world.extract()
    (fact,) = memory.profile.get().user.facts
    memory.facts.add("likes tea")
    memory.update(fact.id, "likes tea")
    world.clock.advance(seconds=61)
    memory.jobs.run()
    assert texts(memory.profile.get().user.facts) == ["likes tea"]


@pytest.mark.parametrize("stated_first", [True, False])
def test_a_stated_value_comes_back_when_a_page_that_contradicts_it_goes(world: World, stated_first):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    if stated_first:
        memory.profile.set("city", "Rome", subject=Subject.USER)
        world.clock.advance(days=1)
    page = memory.add("🍵\ncity=Paris\nfact: lives in Paris")
    memory.add("🚲 end")
    world.extract()
    assert memory.profile.get().user.fields == {"city": "Paris"}
    if not stated_first:
        world.clock.advance(days=1)
        memory.profile.set("city", "Rome", subject=Subject.USER)
    corrector(world).delete(page)
    assert memory.profile.get().user.fields == {"city": "Rome"}
    assert memory.profile.get().user.facts == ()


def test_a_shared_fact_keeps_the_support_of_another_agent(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000, persona_sharing="user")
    pages = {}
    for scope in (CODER, COOK):
        pages[scope] = memory.of(scope).add("🍵\nfact: likes tea")
        memory.of(scope).add("🚲 end")
        world.extract(scope=scope)
    corrector(world, CODER).delete(pages[CODER])
    (fact,) = memory.of(COOK).profile.get().user.facts
    assert (fact.text, fact.descriptive.provenance) == ("likes tea", (pages[COOK],))
    corrector(world, COOK).delete(pages[COOK])
    assert memory.of(COOK).profile.get().user.is_empty


def deleted(world, page, _monkeypatch):
    corrector(world, CODER).delete(page)


def deleted_in_part(world, page, monkeypatch):
    """What was derived is gone, the page is not: the process died, or has not come so far."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Corrector, "_remove", interrupt)
        corrector(world, CODER).delete(page)


def revised(world, page, _monkeypatch):
    corrector(world, CODER).revise(page, NewWords("🍵\nfact: likes coffee"))


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("change", [deleted, deleted_in_part, revised])
def test_a_shared_persona_learns_nothing_of_a_page_that_changed_while_it_was_read(world: World, monkeypatch, change):
    memory = world.open(short_term_capacity=1, heat_threshold=1000, persona_sharing="user")
    page = memory.of(CODER).add("🍵\nfact: likes tea")
    memory.of(CODER).add("🚲 end")

    class Slow(LineExtractor):
        def extract(self, pages):
            found = super().extract(pages)
            change(world, page, monkeypatch)
            return found

    world.extract(Slow(), scope=CODER)
    assert memory.of(COOK).profile.get().user.is_empty


def test_deletion_reaches_a_shared_persona(world: World):
    memory = world.open(scope=CODER, short_term_capacity=1, persona_sharing="user")
    page = memory.add("I have a dog called Rex.")
    memory.add("🚲 end")
    memory.consolidate()
    assert memory.of(COOK).profile.get().user.facts
    memory.delete(page)
    assert memory.of(COOK).profile.get().user.facts == ()


# Deleting something else


def test_a_segment_goes_with_its_pages(world: World):
    memory, pages = three_pages(world)
    memory.delete(memory.segments.list()[0].cube.id)
    assert memory.segments.list() == []
    assert texts(memory.pages.list()) == ["🚲 bike"]
    assert_gone(memory, pages[2], "Quetzalcoatl")


def test_a_deleted_segments_facts_go_with_it(world: World):
    memory, _ = learned(world, "fact: likes tea", "fact: owns a cat")
    corrector(world).delete(memory.segments.list()[0].cube.id)
    assert memory.profile.get().user.is_empty


def test_a_fact_goes_alone(world: World):
    memory, pages = learned(world, "fact: likes tea", "fact: owns a cat")
    memory.delete(memory.profile.get().user.facts[0].id)
    assert texts(memory.profile.get().user.facts) == ["owns a cat"]
    assert [page.id for page in memory.pages.list()][:2] == pages


# Updating


def test_an_updated_page_keeps_its_history(world: World):
    memory, pages = three_pages(world)
    world.clock.advance(days=1)
    revised = memory.update(pages[2], "🐈 喂猫 Xolotl")
    assert revised == memory.get(pages[2])
    versions = memory.history(pages[2])
    assert texts(versions) == ["🍵 Sugar for Quetzalcoatl.", "🐈 喂猫 Xolotl"]
    assert [version.version.number for version in versions] == [1, 2]
    assert revised.descriptive.updated_at == world.clock()
    assert revised.descriptive.event_at == versions[0].descriptive.event_at


def test_an_updated_page_is_found_by_its_new_words_only(world: World):
    memory, pages = three_pages(world)
    memory.update(pages[2], "🐈 喂猫 Xolotl")
    for word in ("喂猫", "Xolotl"):
        assert [hit.id for hit in memory.search(word, strategy="bm25").hits] == [pages[2]]
    assert memory.search("Quetzalcoatl", strategy="bm25").hits == ()
    assert memory.search("🐈").hits[0].id == pages[2]
    assert memory.search("🐈", strategy="dense").hits[0].score == pytest.approx(1)


def test_the_segment_follows_an_updated_page(world: World):
    memory, pages = three_pages(world)
    memory.update(pages[2], "🐈 喂猫 Xolotl")
    (segment,) = memory.segments.list()
    assert "quetzalcoatl" not in dict(segment.cube.payload.keywords)
    assert {"喂", "猫", "喂猫", "xolotl"} & set(dict(segment.cube.payload.keywords))
    mean = np.mean(world.vectors(*segment.page_ids), axis=0)
    assert np.allclose(world.vectors(segment.cube.id)[0], mean, atol=1e-6)


def test_the_chain_follows_an_updated_page(world: World):
    memory = world.open()
    pages = [memory.add(text) for text in ("🍵 I bought a kettle.", "🍵 It whistles.")]
    memory.update(pages[0], "🍵 I bought a samovar.")
    assert "samovar" in memory.get(pages[1]).payload.chain_summary
    assert "kettle" not in memory.get(pages[1]).payload.chain_summary


def test_derived_memory_follows_an_updated_page(world: World):
    memory, pages = learned(world, "fact: likes tea\ncity=Rome", "fact: owns a cat")
    corrector(world).revise(pages[0], NewWords("🍵\nfact: likes coffee\ncity=Paris"))
    assert sorted(texts(memory.profile.get().user.facts)) == ["likes coffee", "owns a cat"]
    assert memory.profile.get().user.fields == {"city": "Paris"}


def test_derived_memory_follows_into_a_shared_persona(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000, persona_sharing="user")
    page = memory.of(CODER).add("🍵\nfact: likes tea", "fact: brewed it")
    memory.of(CODER).add("🚲 end")
    world.extract(scope=CODER)
    corrector(world, CODER).revise(page, NewWords("🍵\nfact: likes coffee"))
    for scope in (CODER, COOK):
        assert texts(memory.of(scope).profile.get().user.facts) == ["likes coffee"]
        assert memory.of(scope).profile.get().agent.is_empty is (scope is COOK)
    assert texts(memory.of(CODER).profile.get().agent.facts) == ["brewed it"]


def test_a_page_is_updated_turn_by_turn(world: World):
    memory = world.open()
    page = memory.add("🍵 question", "🍵 answer")
    memory.update(page, "🍵 better answer", role=Role.ASSISTANT)
    assert [turn.text for turn in memory.get(page).payload.turns] == ["🍵 question", "🍵 better answer"]


def test_an_updated_fact_is_embedded_anew(world: World):
    memory = world.open()
    memory.facts.add("🍵 likes tea")
    (fact,) = memory.profile.get().user.facts
    memory.update(fact.id, "🚲 likes bikes")
    (hit,) = memory.search("🚲").user_facts
    assert (hit.text, hit.score) == ("🚲 likes bikes", pytest.approx(1))
    assert texts(memory.history(fact.id)) == ["🍵 likes tea", "🚲 likes bikes"]


def test_an_updated_field_keeps_its_old_value(world: World):
    memory = world.open()
    memory.profile.set("city", "罗马", subject=Subject.USER)
    (city,) = memory.profile.get().user.profile
    memory.update(city.id, "巴黎")
    assert memory.profile.get().user.fields == {"city": "巴黎"}
    assert texts(memory.history(city.id)) == ["city: 罗马", "city: 巴黎"]


def test_what_cannot_be_edited_says_so(world: World):
    memory, pages = three_pages(world)
    with pytest.raises(InvalidInput) as caught:
        memory.update(pages[0], "new", role=Role.TOOL)
    assert caught.value.field == "role"
    with pytest.raises(InvalidInput) as caught:
        memory.update(memory.segments.list()[0].cube.id, tags=["new"])
    assert caught.value.field == "id"
    with pytest.raises(InvalidInput) as caught:
        memory.update(pages[0], " ")
    assert caught.value.field == "text"
    assert [len(memory.history(page)) for page in pages] == [1, 1, 1]


@pytest.mark.parametrize("stranger", [Scope(user="bob"), COOK, Scope(user="ann", tenant="other")])
def test_a_stranger_finds_no_memory_to_change(world: World, stranger):
    memory, pages = three_pages(world)
    memory.facts.add("likes tea")
    ids = [pages[0], memory.segments.list()[0].cube.id, memory.profile.get().user.facts[0].id]
    other = memory.of(stranger)
    for cube_id in ids:
        for call in (other.get, other.history, other.delete, lambda some: other.update(some, "new")):
            with pytest.raises(NotFound):
                call(cube_id)
    assert [memory.get(cube_id).version.number for cube_id in ids] == [1, 1, 1]


def test_corrections_survive_a_restart(world: World):
    memory, pages = three_pages(world)
    memory.delete(pages[0])
    memory.update(pages[1], "🍵 茶")
    memory.close()
    again = world.open()
    assert texts(again.pages.list()) == ["🍵 茶", "🍵 Sugar for Quetzalcoatl.", "🚲 bike"]
    assert texts(again.history(pages[1])) == ["🍵🐈 Milk in the pot.", "🍵 茶"]


UPDATE = """
import sys
from sqlalchemy import Engine, event
import memoryos
from memoryos import load_settings

RULES = "memoryos.operation.consolidation.rules"
told = []
look = lambda statement: told.append(RULES in sys.modules) if statement.startswith("BEGIN IMMEDIATE") else None
event.listen(Engine, "checkout", lambda connection, *_: connection.set_trace_callback(look))
with memoryos.open("memory.db", user="ann", settings=load_settings(recent_within_seconds=None)) as memory:
    page = memory.add("I live in Rome.")
    memory.wait()
    told.clear()
    print(RULES in sys.modules)
    getattr(memory, sys.argv[1])(page, *sys.argv[2:])
    print(all(told), len(told) > 0)
"""


@pytest.mark.file
@pytest.mark.parametrize("change", [["update", "I live in Oslo."], ["delete"]])
def test_rules_are_loaded_before_a_change_locks_others_out(tmp_path, change):
    ended = subprocess.run([sys.executable, "-c", UPDATE, *change], cwd=tmp_path, capture_output=True, text=True)
    assert ended.stdout.split() == ["False", "True", "True"], ended.stderr
