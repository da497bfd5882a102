"""TurnIndex and Postings: an index that grew, was corrected and shrank says what a fresh one says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.infrastructure.vault.records import Facet, tags_text
from memoryos.kinds import Tier
from memoryos.language.words import stem
from memoryos.operation.index import column, postings
from memoryos.operation.index.postings import Postings
from memoryos.operation.index.turns import SITTING_PAUSE, TurnIndex

from .picture import SESSIONS, TAGS, Said, Sheet, contents, indexed, occurrences, picture, places, talk

WORDS = ["run", "runs", "running", "tea", "bees", "bee", "8", "蜜蜂", "ああ", "🐝", "zanzibar"]
MINUTE = 60 * 10**6
PAUSE = SITTING_PAUSE // MINUTE

turns = st.builds(
    Said,
    words=st.lists(st.sampled_from(WORDS), max_size=6).map(tuple),
    speaker=st.sampled_from([None, "Ann", "Bob", "安娜"]),
    marks=st.integers(0, 7),
    vector=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
    start=st.sampled_from([None, 0, 0, 100, 200]),
)
sessions = st.sampled_from([None, *SESSIONS])
facets = st.fixed_dictionaries(
    {
        "tier": st.sampled_from(Tier),
        "tags": st.lists(st.sampled_from(TAGS), unique=True).map(tuple),
        "expires_at": st.sampled_from([None, 0, 5, 6]),
    }
)
gaps = st.sampled_from([0, 1, PAUSE - 1, PAUSE, PAUSE + 1, 10_000, -1, -PAUSE - 1])  # minutes
picks = st.integers(0, 10**6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(st.lists(turns, min_size=1, max_size=3), sessions, gaps))),
        st.tuples(st.just("revise"), st.tuples(picks, st.lists(turns, min_size=1, max_size=4))),
        st.tuples(st.just("drop"), picks),
        st.tuples(st.just("note"), st.tuples(picks, facets)),
    ),
    max_size=12,
)


@dataclass(frozen=True)
class Admits:
    """Whoever may read the turns with some labels."""

    admits: Callable[[str | None], bool]
    mark: object = field(default_factory=object)


@dataclass
class Desk:
    """An index, and the pages that it should know."""

    index: TurnIndex = field(default_factory=lambda: TurnIndex(2))
    sheets: dict[str, Sheet] = field(default_factory=dict)
    position: int = 0
    minute: int = 0

    def do(self, step: str, value) -> None:
        getattr(self, step)(value)

    def add(self, told) -> None:
        fresh = [self._sheet(*one) for one in told]
        self.index.put([passage for sheet in fresh for passage in sheet.passages()])
        self.sheets |= {sheet.name: sheet for sheet in fresh}

    def _sheet(self, said, session, gap) -> Sheet:
        self.position += 2  # segments and facts take positions, too
        self.minute += gap
        return Sheet(f"page{self.position}", self.position, self._timed(said, self.minute * MINUTE), session)

    def _timed(self, said, at) -> tuple[Said, ...]:
        """The passages said at that moment; a turn that goes on begins somewhere, and later ones after it."""
        found: list[Said] = []
        for turn in said:
            goes_on = found and found[-1].start is not None and turn.start
            start = found[-1].start + 100 if goes_on else (None if turn.start is None else 0)
            found.append(replace(turn, said_at=at, start=start))
        return tuple(found)

    def revise(self, value) -> None:
        """A page gets new words; the store gives all its passages anew, which may be more or fewer."""
        pick, said = value
        if sheet := self._picked(pick):
            self.sheets[sheet.name] = replace(sheet, turns=self._timed(said, sheet.turns[0].said_at))
            self.index.put(self.sheets[sheet.name].passages())

    def drop(self, pick) -> None:
        if sheet := self._picked(pick):
            del self.sheets[sheet.name]
            self.index.drop(sheet.name)

    def note(self, value) -> None:
        pick, changes = value
        if sheet := self._picked(pick):
            self.sheets[sheet.name] = replace(sheet, **changes)
            facet = Facet(changes["tier"].value, tags_text(changes["tags"]), changes["expires_at"])
            self.index.note({sheet.name: facet})

    def _picked(self, pick) -> Sheet | None:
        return list(self.sheets.values())[pick % len(self.sheets)] if self.sheets else None


@given(steps, st.sampled_from([0, 3, 20, 20_000]), st.sampled_from([1, 3, 1_000]))
def test_an_index_with_a_past_is_the_same_as_a_fresh_one(steps, tail, rows_in_block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_TAIL", tail)
        patch.setattr(column, "_BLOCK_BYTES", rows_in_block * 8)
        desk = Desk()
        for step, value in steps:
            desk.do(step, value)
            assert len(picture(desk.index)["places"]) == sum(len(sheet.turns) for sheet in desk.sheets.values())
        grown = picture(desk.index, WORDS)
    assert grown == picture(indexed(desk.sheets.values()), WORDS)


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=30), st.lists(st.integers(0, 40)))
def test_merging_the_tail_at_any_point_changes_nothing(rows, tails):
    plain, merged = Postings(), Postings()
    for row, words in enumerate(rows):
        plain.add(row, words)
        plain.settle()
        merged.add(row, words)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(postings, "_TAIL", tails[row % len(tails)] if tails else 0)
            patch.setattr(postings, "_TAIL_SHARE", 0)
            merged.settle()
    assert merged.words == plain.words
    for word in WORDS:
        assert merged.number(word) == plain.number(word)
        if (term := plain.number(word)) is not None:
            for left, right in zip(merged.of(term), plain.of(term), strict=True):
                assert left.tolist() == right.tolist()
                assert left.dtype == right.dtype


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=30), st.data())
def test_many_terms_are_found_as_one_by_one(rows, data):
    """Whether all postings lie in the arrays, in the tail, or in both."""
    index, early = Postings(), data.draw(st.integers(0, len(rows)))
    for row, words in enumerate(rows):
        index.add(row, words)
        if row < early:
            index.merge()
    index.settle()
    terms = data.draw(st.lists(st.integers(0, len(index.words) - 1), max_size=8)) if index.words else []
    alone = [index.of(term) for term in terms]
    found = index.of_any(np.array(terms, np.int64))
    told = [
        [row, count, place]
        for place, (own, counts) in enumerate(alone)
        for row, count in zip(own.tolist(), counts.tolist(), strict=True)
    ]
    assert np.transpose(found).tolist() == told
    assert [index.size(term) for term in terms] == [len(own) for own, _ in alone]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=30))
def test_a_term_is_counted_in_all_its_forms(rows):
    index = Postings()
    for row, words in enumerate(rows):
        index.add(row, words)
    index.settle()
    for word in WORDS:
        expected = {row: Counter(map(stem, words))[stem(word)] for row, words in enumerate(rows)}
        expected = {row: count for row, count in expected.items() if count}
        term = index.number(word)
        if term is None:
            assert expected == {}
        else:
            assert dict(zip(*(part.tolist() for part in index.of(term)), strict=True)) == expected


@pytest.mark.parametrize("tail", [0, 20_000])
def test_a_word_that_fills_a_book_is_counted_up_to_a_limit(monkeypatch, tail):
    monkeypatch.setattr(postings, "_TAIL", tail)
    index = Postings()
    index.add(0, ["ああ"] * 70_000)
    index.settle()
    rows, counts = index.of(index.number("ああ"))
    assert (rows.tolist(), counts.tolist()) == ([0], [np.iinfo(np.uint16).max])


def test_an_index_without_words_knows_none():
    index = Postings()
    index.settle()
    assert index.number("tea") is None
    assert list(index.words) == []
    index.add(0, [])
    index.settle()
    assert index.number("tea") is None


def test_the_word_seen_first_stands_for_its_term():
    index = Postings()
    for row, word in enumerate(["running", "tea", "runs", "tea"]):
        index.add(row, [word])
    index.settle()
    assert list(index.words) == ["running", "tea"]
    assert index.number("run") == index.number("runs") == 0


def test_what_is_found_out_while_the_index_changes_is_told():
    """Its size is asked for without the lock, while another thread may let go of what was found out."""
    index = TurnIndex(2)
    assert index.derived("size", lambda: index.drop("nobody") or 7) == 7
    assert index.nbytes == TurnIndex(2).nbytes


def said(*minutes: float) -> tuple[Said, ...]:
    return tuple(Said(("tea",), int(minute * MINUTE)) for minute in minutes)


def before(index: TurnIndex) -> dict[str, str | None]:
    """The page before each page of one turn."""
    return {page: other and other[0] for (page, _), other in picture(index)["before"].items()}


def test_neighbours_are_those_of_the_same_session():
    index = indexed(
        [
            Sheet("a1", 1, said(0), "a"),
            Sheet("b1", 2, said(1), "b"),
            Sheet("a2", 3, said(2), "a"),
            Sheet("b2", 4, said(3), "b"),
            Sheet("n1", 5, said(4), None),
        ]
    )
    assert before(index) == {"a1": None, "b1": None, "a2": "a1", "b2": "b1", "n1": None}


@pytest.mark.parametrize(("gap", "is_one"), [(0, True), (PAUSE, True), (PAUSE + 0.001, False), (-PAUSE - 1, False)])
def test_a_long_silence_ends_a_sitting(gap, is_one):
    index = indexed([Sheet("one", 1, said(0)), Sheet("two", 2, said(gap))])
    assert before(index)["two"] == ("one" if is_one else None)
    after = picture(index)["after"]
    assert after[("one", 0)] == (("two", 0) if is_one else None)


def test_the_turns_of_a_page_are_neighbours_of_each_other():
    index = indexed([Sheet("one", 1, said(0, 1, 2)), Sheet("two", 2, said(3))])
    assert picture(index)["before"] == {
        ("one", 0): None,
        ("one", 1): ("one", 0),
        ("one", 2): ("one", 1),
        ("two", 0): ("one", 2),
    }


def test_those_around_a_page_that_goes_become_neighbours():
    index = indexed([Sheet("one", 1, said(0)), Sheet("two", 2, said(1, 2)), Sheet("three", 3, said(3))])
    index.drop("two")
    assert before(index) == {"one": None, "three": "one"}
    index.drop("three")
    index.put(Sheet("four", 4, said(4)).passages())
    assert before(index) == {"one": None, "four": "one"}


def test_what_was_dropped_leaves_no_words_and_no_vector():
    index = indexed([Sheet("one", 1, (Said(("zanzibar",)),)), Sheet("two", 2, (Said(("tea",)),))])
    index.drop("one")
    assert occurrences(index, "zanzibar") == {}
    assert contents(index.vectors)[0].tolist() == [0, 0]
    assert places(index) == [("two", 0)]
    assert index.rows_of("one") == ()


def test_the_number_of_turns_follows_what_comes_and_goes():
    index = indexed([Sheet("one", 1, said(0, 1)), Sheet("two", 2, said(2))])
    assert index.total == 3
    index.put(Sheet("three", 3, said(3)).passages())
    assert index.total == 4
    index.drop("one")
    assert index.total == 2


def test_dropping_or_moving_a_page_that_is_not_there_is_harmless():
    index = indexed([Sheet("one", 1, said(0))])
    known = picture(index)
    index.drop("nobody")
    index.note({"nobody": Facet(Tier.MTM.value)})
    index.put([])
    assert picture(index) == known


def test_bytes_are_counted_as_they_grow():
    sizes = [indexed(Sheet(f"page{n}", n, said(n)) for n in range(count)).nbytes for count in (0, 100, 1_000, 10_000)]
    assert sizes == sorted(sizes)
    assert 100 * 10_000 < sizes[-1] < 1_000 * 10_000


@pytest.mark.parametrize("tags", [(), ("work",)])
def test_the_index_of_a_caller_stays_as_it_is_when_turns_come_in(tags):
    """With all turns, or without some."""
    index = indexed([*talk("tea", "tea bees"), replace(talk("tea")[0], name="hidden", position=3, tags=tags)])
    told = index.seen(Admits(lambda labels: labels in (None, tags_text(()))))
    there = places(told)
    index.put([passage for sheet in talk(*["tea"] * 7)[3:] for passage in sheet.passages()])
    assert len(index) == 7 and len(told) == 3
    rows, _ = told.having(told.postings.number("tea"))
    assert places(told, rows) == there == places(told)


def test_who_may_read_all_turns_shares_what_is_derived_of_them():
    index = indexed(talk("tea", "bees"))
    around, everything = index.around, index.seen(Admits(lambda _: True))
    assert everything.around is around
    made = everything.derived("made by a caller", list)
    assert index.derived("made by a caller", list) is made
    index.put([passage for sheet in talk("tea", "bees", "parrot")[2:] for passage in sheet.passages()])
    assert everything.around is around and len(index.around.before) == 4
    assert index.seen(Admits(lambda _: True)) is not everything


def test_who_may_read_a_part_shares_nothing():
    index = indexed([*talk("tea"), replace(talk("bees")[0], name="hidden", position=3, tags=("work",))])
    part = index.seen(Admits(lambda labels: labels != tags_text(("work",))))
    assert (index.said, part.said, index.mean_length) == (2, 1, 1)


def test_under_one_mark_each_set_of_labels_is_asked_about_once():
    asked: list[str | None] = []

    def admits(labels: str | None) -> bool:
        asked.append(labels)
        return labels is None

    first = talk("tea")[0]
    index = indexed([first, replace(talk("bees")[0], name="work", position=3, tags=("work",))])
    mine, facets = Admits(admits), index.facets
    for _ in range(3):
        assert facets.admitted(mine).tolist() == [True, False]
    assert asked == [None, tags_text(("work",))]
    index.note({first.name: Facet(Tier.STM.value, tags_text(("home",)))})
    assert facets.admitted(mine).tolist() == [False, False]
    index.note({"work": Facet(Tier.STM.value)})
    assert facets.admitted(mine).tolist() == [False, True]
    assert asked == [None, tags_text(("work",)), tags_text(("home",))]
    assert facets.admitted(Admits(lambda _: True)).tolist() == [True, True]
