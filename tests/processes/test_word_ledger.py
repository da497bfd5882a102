"""The ledger notices what must not be: it is fed with histories that are broken, and with some that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.bench.word_ledger import (
    AnswerFault,
    PageWord,
    Violation,
    WordLedger,
    WordState,
    disordered,
    told,
    words_in,
)

numbers = st.integers(0, 10**6)
words = st.builds(PageWord, numbers, numbers, numbers, numbers)

OURS = PageWord(0, 1, 5, 0)
OTHER = PageWord(1, 1, 6, 0)


def ledger(*lines: tuple[WordState, PageWord]) -> WordLedger:
    made = WordLedger()
    made.hear(told(state, word) for state, word in lines)
    return made


def faults(violations) -> list[tuple[AnswerFault, PageWord]]:
    return [(violation.fault, violation.word) for violation in violations]


@given(st.lists(words))
def test_words_are_found_again_in_any_text(wanted):
    text = "He said: " + ", ".join(f"I have a boat called {word}." for word in wanted)
    assert words_in(text) == words_in(text.upper()) == set(wanted)


def test_a_stored_page_that_is_not_found_is_missing():
    known = ledger((WordState.THERE, OURS))
    assert faults(known.absent([OURS], set(), "hits")) == [(AnswerFault.MISSING, OURS)]
    assert faults(known.absent([OURS], {OURS}, "hits")) == []


@pytest.mark.parametrize("state", [WordState.LEAVING, WordState.GONE])
def test_what_is_being_taken_away_may_be_there_or_not(state):
    known = ledger((WordState.THERE, OURS))
    before = known.moment
    known.hear([told(state, OURS)])
    assert faults(known.absent([OURS], set(), "hits")) == []
    assert faults(known.misplaced({OURS}, OURS.scope, before, "hits")) == []


def test_what_was_gone_before_the_question_is_a_ghost():
    known = ledger((WordState.THERE, OURS), (WordState.LEAVING, OURS), (WordState.GONE, OURS))
    assert faults(known.misplaced({OURS}, OURS.scope, known.moment, "facts")) == [(AnswerFault.GHOST, OURS)]


def test_the_old_words_of_a_corrected_page_are_ghosts_and_the_new_ones_are_wanted():
    new = OURS._replace(version=1)
    known = ledger((WordState.THERE, OURS), (WordState.LEAVING, OURS), (WordState.GONE, OURS), (WordState.THERE, new))
    assert faults(known.misplaced({OURS, new}, OURS.scope, known.moment, "hits")) == [(AnswerFault.GHOST, OURS)]
    assert faults(known.absent(known.there(0), {OURS}, "pages")) == [(AnswerFault.MISSING, new)]


def test_words_of_another_scope_are_foreign():
    known = ledger((WordState.THERE, OURS), (WordState.THERE, OTHER))
    assert faults(known.misplaced({OURS, OTHER}, OURS.scope, known.moment, "segments")) == [
        (AnswerFault.FOREIGN, OTHER)
    ]


def test_what_nobody_stored_is_unknown_in_the_end():
    known = ledger((WordState.THERE, OURS), (WordState.LEAVING, OTHER))
    stranger = PageWord(0, 9, 9, 9)
    assert faults(known.invented([OURS, OTHER, stranger], "pages")) == [(AnswerFault.UNKNOWN, stranger)]


def page(writer: int, number: int) -> PageWord:
    return PageWord(0, writer, number, 0)


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ([], []),
        ([page(1, 0), page(2, 0), page(1, 3), page(2, 1)], []),
        ([page(1, 3), page(2, 0), page(1, 0)], [(AnswerFault.ORDER, page(1, 0))]),
        ([page(1, 0), page(1, 3), page(1, 0)], [(AnswerFault.TWICE, page(1, 0))]),
        ([page(1, 0), page(1, 0)._replace(version=1)], [(AnswerFault.TWICE, page(1, 0)._replace(version=1))]),
    ],
)
def test_pages_of_a_writer_stand_in_its_order_and_once(pages, expected):
    assert faults(disordered(pages, "pages")) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), unique=True))
def test_any_order_but_the_writers_own_is_noticed(told_pages):
    pages = [page(*one) for one in told_pages]
    in_order = all(
        [word.number for word in pages if word.writer == writer]
        == sorted(word.number for word in pages if word.writer == writer)
        for writer in range(4)
    )
    assert (not faults(disordered(pages, "pages"))) == in_order


def test_the_latest_are_those_that_stay_and_the_departed_those_that_went_last():
    pages = [page(0, number) for number in range(5)]
    known = ledger(*((WordState.THERE, word) for word in pages))
    known.hear([told(WordState.LEAVING, pages[4]), told(WordState.GONE, pages[4]), told(WordState.LEAVING, pages[3])])
    assert known.latest(2) == [pages[2], pages[1]]
    assert known.departed(9) == [pages[4]]
    assert known.there(0) == pages[:3]
    assert known.there(1) == []


def test_a_violation_names_what_where_and_whose():
    assert str(Violation(AnswerFault.GHOST, OURS, "hits")) == "ghost: zq0x1x5x0z in hits"
