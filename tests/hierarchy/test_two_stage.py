"""Two-stage search: top segments, then their top pages, STM whole; and what every strategy returns beside pages."""

from __future__ import annotations

import pytest

from memoryos import Hit, Memory, Recall, Role, Tier, Turn

from .world import AXES, World


def filled(world: World, **settings) -> Memory:
    """Eight topics of four pages each, and two pages in STM."""
    memory = world.open(short_term_capacity=2, heat_threshold=1000, **settings)
    pages = [f"{symbol} {'x' * number} topic{index}" for index, symbol in enumerate(AXES[:8]) for number in range(4)]
    memory.add_many([Turn(role=Role.USER, text=text, source_id=f"D{index}") for index, text in enumerate(pages)])
    memory.add("📐 last but one")
    memory.add("📐 last")
    return memory


def two_stage(memory: Memory, query: str, **options) -> Recall:
    return memory.search(query, strategy="two_stage", **options)


def mtm(recall: Recall) -> list[Hit]:
    return [hit for hit in recall.hits if hit.cube.tier is not Tier.STM]


def test_at_most_five_segments_and_ten_pages(world: World):
    memory = filled(world)
    found = mtm(two_stage(memory, AXES[:8]))
    assert len(found) == 10
    assert len({hit.segment for hit in mtm(two_stage(memory, AXES[:8], pages=100))}) == 5
    assert len(mtm(two_stage(memory, AXES[:8], pages=100))) == 20
    assert len(mtm(two_stage(memory, AXES[:8], pages=3))) == 3


def test_the_limits_are_settings(world: World):
    memory = filled(world, recall_segments=2, recall_pages=5)
    found = mtm(two_stage(memory, AXES[:8]))
    assert len(found) == 5
    assert len({hit.segment for hit in found}) == 2


def test_stm_comes_whole_and_in_order(world: World):
    memory = filled(world)
    recent = two_stage(memory, "🍵").recent
    assert [hit.text for hit in recent] == ["user: 📐 last but one", "user: 📐 last"]
    assert {hit.id for hit in recent} <= {hit.id for hit in two_stage(memory, "🍵", pages=1).hits}


def test_hits_are_best_first_and_distinct(world: World):
    memory = filled(world)
    hits = two_stage(memory, "🍵🍵🚲").hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.id for hit in hits}) == len(hits)
    assert [("🍵" in hit.text) for hit in hits[:4]] == [True] * 4


def test_segments_are_chosen_by_words_as_well(world: World):
    memory = filled(world, recall_segments=1)
    assert "🌙" in mtm(two_stage(memory, "🍵🍵🍵🍵🌙🌙🌙 topic2"))[0].text  # 0.6 + Jaccard against 0.8


def test_a_hit_explains_its_score(world: World):
    memory = filled(world)
    hit = mtm(two_stage(memory, "🍵🍵🍵🚲🚲🚲🚲 topic1", pages=1, explain=True))[0]
    assert hit.parts["cosine"] == pytest.approx(0.8)
    assert hit.score == hit.parts["cosine"]
    assert "topic1" in hit.topic
    segment = next(view for view in memory.segments.list() if view.cube.id == hit.segment)
    assert hit.id in segment.page_ids


def test_source_ids_are_kept(world: World):
    memory = filled(world)
    found = mtm(two_stage(memory, "🚲", pages=4))
    assert sorted(source for hit in found for source in hit.source_ids) == ["D4", "D5", "D6", "D7"]


def test_the_same_search_gives_the_same_answer(world: World):
    memory = filled(world)
    assert two_stage(memory, "🍵🚲") == two_stage(memory, "🍵🚲")


def test_search_in_an_empty_memory_finds_nothing(world: World):
    found = world.open().search("🍵 anything")
    assert (found.hits, found.recent, found.user_facts, found.profile) == ((), (), (), ())


def test_facts_are_ranked_by_similarity_and_limited(world: World):
    memory = world.open(recall_facts=2)
    for text in ("🚲 rides", "🍵 tea", "🍵🚲 both", "🌙 sleeps"):
        memory.facts.add(text)
    assert [hit.text for hit in memory.search("🍵").user_facts] == ["🍵 tea", "🍵🚲 both"]


@pytest.mark.parametrize("question", ["北京", "天气", "北京的天气怎么样？"])
def test_bm25_search_knows_chinese_words(world: World, question):
    memory = world.open(short_term_capacity=1)
    page = memory.add("🌧 今天北京天气很好")
    memory.add("🌙 我买了一本书")
    hits = memory.search(question, strategy="bm25", explain=True).hits
    assert [hit.id for hit in hits] == [page]
    assert hits[0].parts["bm25"] == hits[0].score


def test_bm25_search_finds_exact_words_in_any_tier(world: World):
    memory = filled(world)
    assert [hit.text for hit in memory.search("topic3 xx", strategy="bm25", pages=1).hits] == ["user: 🍞 xx topic3"]
    assert [hit.cube.tier for hit in memory.search("last", strategy="bm25").hits] == [Tier.STM] * 2
    assert memory.search("absentword", strategy="bm25").hits == ()
    assert memory.search("?!", strategy="bm25").hits == ()
