"""Laws of ranking, whatever is stored and asked."""

from __future__ import annotations

import os
import signal
from dataclasses import fields, replace
from datetime import timedelta
from itertools import product

import numpy as np
import pytest
import sqlalchemy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import memoryos
from contract.back_ends import copy_store, opening_on
from forked import fork
from memoryos import Role, Scope, Strategy, Tier, Turn, load_settings
from memoryos.operation.index import column
from memoryos.operation.recall import fusion
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, Scores
from memoryos.operation.recall.ranking import _highest
from score_parts import PARTS

from .conftest import (
    ANN,
    NOW,
    QUESTIONS,
    SETTINGS,
    TURNS,
    answers,
    assert_same,
    assert_same_by_each,
    by_strategy,
    dialogue,
    pages_in,
    results,
    turns_in,
)

RANKED = [strategy for strategy in Strategy if strategy is not Strategy.TWO_STAGE]
COMPOUND = "When did we talk about bees and honey? And where is the old piano?"
EVERYTHING = {"pages": TURNS, "archive": True, "explain": True}
OTHERS = [
    Scope(user="bob", agent="default"),
    Scope(user="ann", agent="default", tenant="acme"),
    Scope(user="ann", agent="coder"),
    Scope(user="ann", agent="default", namespace=("shared",)),
]


@pytest.fixture(scope="module")
def talk(template, tmp_path_factory, back_end):
    """A memory of the talk for all tests that only search; however often they do, nothing in it becomes hot."""
    path = tmp_path_factory.mktemp("shared") / "talk.db"
    copy_store(template, path)
    knobs = load_settings(**SETTINGS | {"heat_threshold": 10**9})
    with opening_on(back_end):
        memory = memoryos.open(path, user=ANN.user, agent=ANN.agent, settings=knobs, clock=lambda: NOW)
    with memory:
        yield memory


def test_the_same_question_gives_the_same_answer(path, open_memory):
    memory = open_memory(path)
    first = by_strategy(memory)
    assert all(any(found) for found in first.values())
    assert by_strategy(memory) == first
    memory.close()
    assert_same_by_each(by_strategy(open_memory(path)), first)


def test_what_others_store_changes_nothing(path, open_memory):
    memory = open_memory(path)
    before = by_strategy(memory)
    for number, scope in enumerate(OTHERS):
        memory.of(scope).add_many(dialogue(40, seed=number + 2))
        for strategy in Strategy:
            memory.of(scope).search(QUESTIONS[0], strategy=strategy)
    assert by_strategy(memory) == before
    memory.close()
    assert_same_by_each(by_strategy(open_memory(path)), before)


@pytest.mark.parametrize("strategy", RANKED)
def test_as_many_pages_as_asked_for_while_there_are_that_many(talk, strategy):
    for question in QUESTIONS:
        everything = talk.search(question, strategy=strategy, **EVERYTHING).hits
        assert strategy is Strategy.BM25 or len(everything) == TURNS // 2
        for pages in (1, 7, TURNS // 2, TURNS):
            found = talk.search(question, strategy=strategy, pages=pages, archive=True)
            assert len(found.hits) == min(pages, len(everything))
            assert {turn.cube.id for turn in found.turns} == {hit.id for hit in found.hits}


@pytest.mark.parametrize("strategy", RANKED)
def test_fewer_pages_are_the_first_of_more(talk, strategy):
    for question in QUESTIONS:
        whole = talk.search(question, strategy=strategy, **EVERYTHING)
        for pages in (1, 5, 10):
            found = talk.search(question, strategy=strategy, **EVERYTHING | {"pages": pages})
            assert pages_in(found) == pages_in(whole)[: len(found.hits)]
            assert turns_in(found) == turns_in(whole)[: len(found.turns)]


@pytest.mark.parametrize("strategy", RANKED)
def test_turns_come_best_first_and_each_once_and_pages_as_their_best_turn(talk, strategy):
    for question in QUESTIONS:
        found = talk.search(question, strategy=strategy, **EVERYTHING)
        scores = np.array([turn.score for turn in found.turns])
        assert (np.diff(scores) < 2e-5).all()
        assert [sum(turn.parts.values()) for turn in found.turns] == pytest.approx(scores, abs=1e-6)
        assert len({(turn.cube.id, turn.index) for turn in found.turns}) == len(found.turns)
        best = {}
        for turn in found.turns:
            best.setdefault(turn.cube.id, turn.score)
        assert [(hit.id, hit.score) for hit in found.hits] == list(best.items())


@pytest.mark.parametrize("strategy", Strategy)
def test_parts_are_told_on_demand_and_change_nothing_else(path, open_memory, strategy):
    memory = open_memory(path)
    for question in QUESTIONS:
        plain = memory.search(question, strategy=strategy)
        told = memory.search(question, strategy=strategy, explain=True)
        lists = [(recall.hits, recall.turns, recall.recent, recall.user_facts) for recall in (plain, told)]
        for bare, explained in zip(*lists, strict=True):
            assert not any(hit.parts for hit in bare)
            assert all(hit.parts for hit in explained)
            assert list(bare) == [replace(hit, parts={}) for hit in explained]
            assert [sum(hit.parts.values()) for hit in explained] == pytest.approx(
                [hit.score for hit in bare], abs=2e-5
            )


def test_archived_pages_are_found_with_archive_only(path, open_memory):
    memory = open_memory(path, recall_segments=TURNS)
    archived = {page.id for page in memory.pages.list(tier=Tier.ARCHIVE)}
    assert 0 < len(archived) < TURNS // 2
    for strategy, question in product(Strategy, QUESTIONS[:3]):
        without = {page for page, *_ in results(memory, question, strategy=strategy, pages=TURNS, archive=False)}
        found = {page for page, *_ in results(memory, question, strategy=strategy, **EVERYTHING)}
        assert without, strategy
        assert not without & archived, strategy
        assert found & archived, strategy
        assert without <= found, strategy


def test_whether_the_archive_is_searched_changes_no_score(talk):
    for question in QUESTIONS:
        whole = {(page, turn): score for page, turn, score in results(talk, question, **EVERYTHING)}
        for page, turn, score in results(talk, question, pages=TURNS, archive=False):
            assert whole[page, turn] == score


def test_of_equal_turns_the_later_one_comes_first(open_memory):
    memory = open_memory()
    ids = [memory.add("a red teapot", at=NOW) for _ in range(12)]
    for strategy in (Strategy.DENSE, Strategy.BM25, Strategy.LINEAR):
        assert [page for page, *_ in results(memory, "teapot", strategy=strategy, pages=7)] == ids[:-8:-1]


@given(arrays.arrays(np.float32, (3, 6), elements=st.floats(-2, 2, width=32)), st.data())
def test_a_turn_whose_part_is_raised_does_not_fall(values, data):
    part, row = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 5))
    raised = values.copy()
    raised[part, row] += np.float32(data.draw(st.floats(0, 2, width=32)))
    before, after = (Scores.of(a=one[0], b=one[1], c=one[2]).total for one in (values, raised))
    assert after[row] >= before[row]
    others = np.arange(6) != row
    assert np.array_equal(after[others], before[others])


levels = st.lists(st.sampled_from([-np.inf, 0.0, 0.1, 0.25, 0.5, 1.0]) | st.floats(0, 1, width=32), max_size=300)


@pytest.mark.once
@given(levels, st.integers(1, 50))
def test_the_highest_are_those_that_sorting_gives_with_all_that_tie_with_the_last(values, wanted):
    scores = np.array(values, np.float32)
    last = sorted(values, reverse=True)[:wanted][-1] if values else 0.0
    assert _highest(scores, wanted).tolist() == np.flatnonzero(scores >= np.float32(last)).tolist()


def test_a_large_memory_is_ranked_like_a_small_one(talk, monkeypatch):
    """There another thread computes the cosines and compares words; a question of two clauses has several."""
    asked = [*QUESTIONS, COMPOUND]
    small = [talk.search(question, **EVERYTHING).turns for question in asked]
    monkeypatch.setattr(fusion, "MANY", 1)
    monkeypatch.setattr(column, "_SHARED", 16)
    assert [talk.search(question, **EVERYTHING).turns for question in asked] == small


def test_without_clauses_a_compound_question_is_scored_whole(talk):
    whole = replace(DEFAULT_WEIGHTS, clauses=False)
    single = QUESTIONS[0]
    assert talk.search(single, weights=whole, **EVERYTHING).turns == talk.search(single, **EVERYTHING).turns
    assert talk.search(COMPOUND, weights=whole, **EVERYTHING).turns != talk.search(COMPOUND, **EVERYTHING).turns


def test_a_process_forked_after_a_search_of_a_large_memory_searches(talk, monkeypatch, tmp_path):
    """It has none of the threads that computed the cosines."""
    monkeypatch.setattr(fusion, "MANY", 1)
    talk.search(QUESTIONS[0])
    if not (child := fork()):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it hangs, and ends
        signal.alarm(20)
        with memoryos.open(tmp_path / "child.db", user="ann") as memory:
            memory.add("I keep bees in Ghent.")
            os._exit(0 if memory.search("bees").hits else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_was_told_late_of_early_days_is_ranked_by_its_day(open_memory):
    """The days lie in order in the one memory, and not in the other."""
    turns, pages = dialogue(60, seed=9), []
    for order in (turns, [*turns[30:], *turns[:30]]):
        memory = open_memory(scope=OTHERS[len(pages)])
        memory.add_many(order[:30])
        memory.add_many(order[30:])
        found = memory.search("honey piano", pages=60, archive=True, explain=True).turns
        pages.append({turn.text: turn.parts.get("day", 0.0) for turn in found})
    assert pages[0] == pytest.approx(pages[1], abs=1e-5)
    assert len(set(pages[0].values())) > 1


def test_each_number_among_the_weights_is_a_part():
    assert [field.name for field in fields(DEFAULT_WEIGHTS) if field.type != "bool"] == PARTS


@pytest.mark.once
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("more", [0.1, 3.0])
def test_a_turn_that_has_most_of_a_part_does_not_fall_when_it_counts_more(talk, part, more):
    weight = getattr(DEFAULT_WEIGHTS, part)
    raised = replace(DEFAULT_WEIGHTS, **{part: weight + more})
    for question in (*QUESTIONS[:3], "Who was in a museum last month?"):
        turns = talk.search(question, **EVERYTHING).turns
        held = {(turn.cube.id, turn.index): turn.parts.get(part, 0) / weight for turn in turns}
        after = [found[:2] for found in results(talk, question, weights=raised, **EVERYTHING)]
        for rank, place in enumerate(held):
            if held[place] == max(held.values()):
                assert after.index(place) <= rank


@pytest.mark.once
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_counts_nothing_is_no_part(talk, part):
    for question in QUESTIONS:
        turns = talk.search(question, weights=replace(DEFAULT_WEIGHTS, **{part: 0.0}), explain=True).turns
        assert all(turn.parts for turn in turns)
        assert not any(turn.parts.get(part) for turn in turns)


# What the parts say


def parts(memory, question):
    """By what was said."""
    return {turn.turn.text: turn.parts for turn in memory.search(question, **EVERYTHING).turns}


def exchange(memory, *said, minutes=0):
    """Ann and Bob in turn, all in the same minute."""
    roles, names = (Role.USER, Role.ASSISTANT), ("Ann Lee", "Bob")
    memory.add_many(
        [
            Turn(role=roles[index % 2], text=text, speaker=names[index % 2], at=NOW.replace(hour=1, minute=minutes))
            for index, text in enumerate(said)
        ]
    )


@pytest.mark.once
def test_who_asks_loses(open_memory):
    memory = open_memory()
    exchange(memory, "Where is the teapot?", "It is in the oven.", "Why is it there? Odd.", "No idea")
    found = parts(memory, "teapot")
    assert found["Where is the teapot?"]["asks"] == pytest.approx(DEFAULT_WEIGHTS.asks)
    assert found["Why is it there? Odd."]["asks"] == 0, "its last sentence is no question"


@pytest.mark.once
def test_an_answer_gains_between_two_people(open_memory):
    memory = open_memory()
    exchange(memory, "Where is the teapot?", "It is in the oven.", "Why is it there? Odd.", "No idea")
    found = parts(memory, "teapot")
    assert found["It is in the oven."]["answers"] == pytest.approx(DEFAULT_WEIGHTS.answers)
    assert found["No idea"]["answers"] > 0, "the turn before contains a question"
    assert found["Where is the teapot?"]["answers"] == 0


@pytest.mark.once
def test_an_assistant_gains_nothing_by_answering(open_memory):
    memory = open_memory()
    memory.add("Where is the teapot?", "It is in the oven.", at=NOW)
    assert not any("answers" in found for found in parts(memory, "teapot").values())


@pytest.mark.once
def test_the_first_turn_of_a_sitting_gains(open_memory):
    memory = open_memory()
    exchange(memory, "We baked a cake yesterday.", "Nice", "Indeed", "Yes")
    found = parts(memory, "cake")
    assert found["We baked a cake yesterday."]["opens"] == pytest.approx(DEFAULT_WEIGHTS.opens)
    assert found["Nice"]["opens"] == 0


@pytest.mark.once
def test_a_user_is_asked_about_before_an_assistant_unless_the_question_is_about_its_words(open_memory):
    memory = open_memory()
    memory.add("The oven is new", "Clean the oven weekly", at=NOW)
    own = pytest.approx(DEFAULT_WEIGHTS.own)
    found = parts(memory, "What about the oven?")
    assert (found["The oven is new"]["own"], -found["Clean the oven weekly"]["own"]) == (own, own)
    found = parts(memory, "What did you recommend about the oven?")
    assert found["The oven is new"]["own"] < 0 < found["Clean the oven weekly"]["own"]


@pytest.mark.once
def test_priors_count_less_where_words_and_meaning_say_little(open_memory):
    memory = open_memory()
    memory.add("The oven is new", at=NOW)
    memory.add("Hm", at=NOW - timedelta(hours=9))
    found = parts(memory, "Which oven is new?")
    assert found["Hm"]["own"] < found["The oven is new"]["own"]


@pytest.mark.once
def test_roles_say_nothing_among_people_with_names(open_memory):
    memory = open_memory()
    exchange(memory, "I like cake", "I prefer honey")
    assert not any("own" in found for found in parts(memory, "cake").values())


@pytest.mark.once
def test_what_was_said_on_the_day_of_the_best_turn_gains(open_memory):
    memory = open_memory()
    for hour, text in ((1, "A kettle, at last"), (40, "Another day"), (9, "The rest of that day")):
        memory.add(text, at=NOW + timedelta(hours=hour - 60))
    found = parts(memory, "Which kettle?")
    assert found["A kettle, at last"]["day"] == pytest.approx(DEFAULT_WEIGHTS.day)
    assert found["The rest of that day"]["day"] == pytest.approx(DEFAULT_WEIGHTS.day)
    assert found["Another day"]["day"] == 0


@pytest.mark.once
def test_a_shorter_turn_gains(open_memory):
    memory = open_memory()
    exchange(memory, "A kettle", "A kettle " + "rome museum bees honey garden " * 4)
    found = list(parts(memory, "kettle").values())
    assert found[0]["length"] > 0 > found[1]["length"]


@pytest.mark.once
def test_the_first_passage_of_a_long_turn_gains(open_memory):
    memory = open_memory()
    memory.add("We met in Rome. " * 200, at=NOW)
    turns = memory.search("Rome", **EVERYTHING).turns
    assert len(turns) > 1
    gains = {turn.start: turn.parts["first"] for turn in turns}
    assert gains.pop(0) == pytest.approx(DEFAULT_WEIGHTS.first)
    assert not any(gains.values())


@pytest.mark.once
def test_who_is_named_gains_and_who_is_not_loses(open_memory):
    memory = open_memory()
    exchange(memory, "I like cake", "I prefer honey")
    memory.add("and bees", at=NOW)
    found = parts(memory, "What does Lee like?")
    weight = pytest.approx(DEFAULT_WEIGHTS.speaker)
    assert found["I like cake"]["speaker"] == weight
    assert -found["I prefer honey"]["speaker"] == weight
    assert found["and bees"]["speaker"] == 0
    for question in ("What do Ann and Bob like?", "What do they like?"):
        assert not any("speaker" in found for found in parts(memory, question).values())


@pytest.mark.once
def test_among_many_speakers_the_named_part_of_a_name_counts_and_nobody_loses(open_memory):
    memory = open_memory()
    names = ("Ann Lee", "Bookstore", "Bob")
    memory.add_many([Turn(role=Role.USER, text=f"I am {name}", speaker=name, at=NOW) for name in names])
    found = parts(memory, "What did Ann say?")
    assert found["I am Ann Lee"]["speaker"] == pytest.approx(0.5 * 0.6 * DEFAULT_WEIGHTS.speaker)
    assert found["I am Bob"]["speaker"] == 0


@pytest.mark.once
def test_a_question_is_matched_by_its_topic_not_by_names(open_memory):
    memory = open_memory()
    exchange(memory, "Bob and Ann Lee: Bob, Bob!", "I prefer honey")
    found = parts(memory, "Does Bob like honey?")
    assert found["I prefer honey"]["words"] > found["Bob and Ann Lee: Bob, Bob!"]["words"]


@pytest.mark.once
def test_an_answer_is_found_by_the_words_around_it(open_memory):
    memory = open_memory()
    exchange(memory, "Where did you buy the teapot", "At the corner shop", "I see", "Yes", "Fine", "Hm")
    assert parts(memory, "teapot")["At the corner shop"]["words"] > 0
    alone = replace(DEFAULT_WEIGHTS, context=False)
    turns = memory.search("teapot", weights=alone, **EVERYTHING).turns
    assert [turn.turn.text for turn in turns if turn.parts.get("words")] == ["Where did you buy the teapot"]


@pytest.mark.once
@pytest.mark.parametrize("kin", [True, False])
def test_a_word_is_found_by_its_kin_unless_that_is_left_out(open_memory, kin):
    memory = open_memory()
    for hour, text in enumerate(("the oven is hot", "my violin is old", "nobody knows")):
        memory.add(text, at=NOW - timedelta(hours=9 - 3 * hour))
    turns = memory.search("Which instruments?", weights=replace(DEFAULT_WEIGHTS, kin=kin), explain=True).turns
    assert [turn.turn.text for turn in turns if turn.parts.get("words")] == ["my violin is old"] * kin


# What was deleted or corrected


def changed(memory):
    """Delete some pages of each tier and revise some."""
    pages = [page.id for page in memory.pages.list()]
    for page in pages[::4]:
        memory.delete(page)
    for page in pages[1::6]:
        if page not in pages[::4]:
            memory.update(page, "a violin lesson in Rome", role=Role.USER)


def test_what_was_deleted_or_corrected_leaves_no_trace(path, open_memory):
    memory = open_memory(path)
    by_strategy(memory)
    changed(memory)
    after = by_strategy(memory)
    assert_same_by_each(by_strategy(open_memory(path)), after)


def test_a_turn_that_is_gone_has_no_part_in_the_scale(open_memory):
    def found(memory):
        return {strategy: [results(memory, "red car garage", strategy=strategy)] for strategy in Strategy}

    memory = open_memory()
    pages = [memory.add(f"the red car number {number} in the garage", at=NOW) for number in range(5)]
    memory.add("a cat in the garage", at=NOW)
    found(memory)
    memory.delete(pages[1])
    after = found(memory)
    assert_same_by_each(found(open_memory()), after)


def test_a_speaker_of_whom_nothing_is_left_is_no_speaker(open_memory):
    memory = open_memory()
    gone, _ = memory.add_many([Turn(role=Role.USER, text="cake", speaker=name, at=NOW) for name in ("Bob", "Ann")])
    results(memory, "Does Ann like cake?")
    memory.delete(gone)
    after = results(memory, "Does Ann like cake?")
    assert_same([results(open_memory(), "Does Ann like cake?")], [after])


def test_what_was_said_once_is_not_found_once_it_is_gone(open_memory):
    def finds_it(strategy, question, **options):
        return page in [found for found, *_ in results(memory, question, strategy=strategy, **options)]

    memory = open_memory()
    memory.add_many(dialogue(10))
    page = memory.add("The plimpsofrag is under the mat.")
    assert [strategy for strategy in Strategy if not finds_it(strategy, "plimpsofrag")] == []
    memory.update(page, "It is nowhere.")
    assert results(memory, "plimpsofrag", strategy="bm25") == []
    memory.delete(page)
    assert [strategy for strategy in Strategy if finds_it(strategy, "It is nowhere.", **EVERYTHING)] == []


# Half an index


def test_pages_without_passages_are_indexed_by_the_first_search(path, open_memory):
    with open_memory(path) as memory:
        expected = answers(memory)
        some = "SELECT id FROM cubes WHERE position % 3 <> 0"
        with memory._engine.vault.change() as connection:
            connection.execute(sqlalchemy.text(f"DELETE FROM passages WHERE cube_id IN ({some})"))
    assert_same(answers(open_memory(path)), expected)
