"""BM25, held against the formula as the textbook writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryos.language.words import stem
from memoryos.operation.index.turns import SITTING_PAUSE, TurnIndex
from memoryos.operation.index.vocabulary import SHARE, Kin
from memoryos.operation.recall.lexical import WordGroup, bm25, bm25_in_context

from .conftest import dialogue
from .picture import Said, Sheet, by_place, indexed, places, talk

WORDS = ["run", "runs", "running", "tea", "bees", "rome", "蜜蜂", "8"]
K1, B = 1.2, 0.75
WEIGHTS = {0: 1.0, 1: 0.6, 2: 0.4}  # of a turn by its distance

Document = Sequence[str]
Values = Sequence[float]


def idf(frequency: int, documents: int) -> float:
    return log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def frequency(word: str, documents: Sequence[Document]) -> int:
    return sum(stem(word) in map(stem, document) for document in documents)


def count(word: str, document: Document) -> int:
    return list(map(stem, document)).count(stem(word))


def alone(values: Values) -> list[float]:
    return list(values)


def windows(sittings: Sequence[int]) -> Callable[[Values], list[float]]:
    """The sum over each turn's window, when turn number i belongs to the sitting with that number."""

    def spread(values: Values) -> list[float]:
        turns = range(len(values))
        return [
            sum(
                WEIGHTS[abs(one - other)] * values[other]
                for other in turns
                if abs(one - other) in WEIGHTS and sittings[one] == sittings[other]
            )
            for one in turns
        ]

    return spread


def reference(groups: Sequence[tuple[str, Mapping[str, float]]], documents, spread=alone) -> list[float]:
    """Σ idf(w) · f·(k1 + 1) / (f + k1·(1 - b + b·L/avg L)); kin count for w as much as they tell."""
    lengths = spread([len(document) for document in documents])
    average = max(sum(lengths) / len(lengths), 1e-9)
    total = np.zeros(len(documents))
    for asked_word, near in groups:
        weight = idf(frequency(asked_word, documents), len(documents))
        shares = {stem(asked_word): 1.0}
        for kin, share in near.items():
            tells = idf(frequency(kin, documents), len(documents)) / weight
            shares.setdefault(stem(kin), share * tells)
        counts = spread([sum(share * count(word, one) for word, share in shares.items()) for one in documents])
        for place, (found, length) in enumerate(zip(counts, lengths, strict=True)):
            total[place] += weight * found * (K1 + 1) / (found + K1 * (1 - B + B * length / average))
    return total.tolist()


def scores(index: TurnIndex, values: np.ndarray) -> list[float]:
    """By place in the talk, the living only."""
    found = by_place(index, values)
    return [float(found[place]) for place in places(index)]


documents = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=1, max_size=12)
questions = st.lists(st.sampled_from([*WORDS, "absent"]), max_size=4, unique_by=stem)
drops = st.lists(st.integers(0, 11))
shares = st.tuples(st.sampled_from([*WORDS, "unheard"]), st.floats(0.01, 0.4))
kin = st.lists(shares, max_size=3, unique_by=lambda share: stem(share[0])).map(dict)  # one word for each stem
asked = st.lists(
    st.tuples(st.sampled_from([*WORDS, "absent"]), kin),
    max_size=3,
    unique_by=lambda one: stem(one[0]),
)


def group(index: TurnIndex, word: str, kin: Mapping[str, float]) -> WordGroup:
    """A word with its kin, as far as anybody said them."""
    terms = {index.postings.number(other): share for other, share in kin.items()}
    terms.pop(None, None)
    return WordGroup(word, Kin(list(terms), [share / SHARE for share in terms.values()]))


def known(documents: Sequence[Document], gaps: Sequence[bool] = (), doomed: Sequence[int] = ()):
    """An index of these turns, less the doomed ones; the turns that are left, and the sitting of each."""
    hours, sheets, sittings = 0, [], []
    for number, document in enumerate(documents):
        hours += 2 if number < len(gaps) and gaps[number] else 0
        sheets.append(Sheet(f"page{number}", number, (Said(tuple(document), hours * SITTING_PAUSE),)))
        sittings.append(hours)
    index = indexed(sheets)
    gone = {number for number in doomed if number < len(documents)}
    for number in gone:
        index.drop(f"page{number}")
    left = [number for number in range(len(documents)) if number not in gone]
    return index, [documents[number] for number in left], [sittings[number] for number in left]


@given(documents, questions, drops)
def test_plain_bm25_is_the_textbook_formula(documents, question, doomed):
    index, left, _ = known(documents, doomed=doomed)
    found = bm25(index, question)
    assert found.dtype == np.float32
    assert found.shape == (len(documents),)
    if left:
        expected = reference([(word, {}) for word in question], left)
        assert scores(index, found) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(documents, asked, st.lists(st.booleans(), max_size=12), drops)
def test_bm25_in_context_is_the_formula_over_windows(documents, asked, gaps, doomed):
    index, left, sittings = known(documents, gaps, doomed)
    found = bm25_in_context(index, [group(index, word, kin) for word, kin in asked])
    if left:
        expected = reference(asked, left, windows(sittings))
        assert scores(index, found) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(documents, questions, drops)
def test_a_dead_turn_scores_nothing(documents, question, doomed):
    index, _, _ = known(documents, doomed=doomed)
    for found in (bm25(index, question), bm25_in_context(index, [WordGroup(word) for word in question])):
        assert not found[~index.alive].any()


def test_an_answer_is_found_by_the_words_of_its_question():
    index = indexed(talk("rome colosseum", "tea bees", "rome", "what lovely", "yes", "so tea"))
    context = scores(index, bm25_in_context(index, [WordGroup("colosseum")]))
    assert context[0] > context[1] > context[2] > 0
    assert context[3:] == [0, 0, 0]
    assert scores(index, bm25(index, ["colosseum"]))[1:] == [0] * 5


def test_a_window_ends_with_its_sitting():
    first, second = talk("rome", "tea", session="monday"), talk("tea", "tea", session="tuesday")
    later = [Sheet(f"later{sheet.name}", sheet.position + 9, sheet.turns, sheet.session) for sheet in second]
    index = indexed([*first, *later])
    assert scores(index, bm25_in_context(index, [WordGroup("rome")]))[2:] == [0, 0]


def test_a_word_asked_twice_or_in_two_forms_counts_once():
    index = indexed(talk("run fast", "tea"))
    assert scores(index, bm25(index, ["run", "runs", "run"])) == scores(index, bm25(index, ["running"]))


def test_kin_is_found_and_counts_less_than_the_word_itself():
    index, _, _ = known([["rome"], ["city"], ["tea"]], [True] * 3)
    kin, word, other = scores(index, bm25_in_context(index, [group(index, "city", {"rome": 0.4})]))
    assert word > kin > 0
    assert other == 0


def kin_scores(index: TurnIndex, word: str, kin: dict[str, float]) -> tuple[float, float]:
    """Of the first turn and of the last; long silences between the turns keep windows apart."""
    found = scores(index, bm25_in_context(index, [group(index, word, kin)]))
    return found[0], found[-1]


def test_a_word_that_nobody_said_is_found_by_its_kin():
    index, _, _ = known([["rome"], ["tea"], ["bees"]], [True] * 3)
    first, last = kin_scores(index, "city", {"rome": 0.4})
    assert first > 0 == last
    assert not bm25_in_context(index, [WordGroup("city")]).any()


def test_a_rarer_kin_tells_more():
    index, _, _ = known([["rome"], *[["paris"]] * 5], [True] * 6)
    rare, frequent = kin_scores(index, "city", {"rome": 0.4, "paris": 0.4})
    assert rare > frequent > 0


def test_the_word_itself_is_not_its_own_kin():
    index, _, _ = known([["city"], ["tea"]], [True] * 2)
    assert kin_scores(index, "city", {"city": 0.4, "cities": 0.4}) == kin_scores(index, "city", {})


def test_nothing_said_or_nothing_asked_scores_nothing():
    assert bm25(TurnIndex(2), ["tea"]).shape == (0,)
    assert bm25_in_context(TurnIndex(2), [WordGroup("tea")]).shape == (0,)
    index = indexed(talk("tea", ""))
    assert not bm25(index, []).any()
    assert not bm25(index, ["absent"]).any()
    assert not bm25(indexed(talk("", "")), ["tea"]).any()


def interleaved(documents: Sequence[Document], sessions: Sequence[int]) -> TurnIndex:
    """Turns of several sessions that run at the same time."""
    return indexed(
        [
            Sheet(f"page{number}", number, (Said(tuple(document), number),), session=f"session{session}")
            for number, (document, session) in enumerate(zip(documents, sessions, strict=True))
        ]
    )


@settings(max_examples=30)
@given(st.data(), st.sampled_from([1, 3, 30]))
def test_rare_words_of_talks_that_run_side_by_side_are_scored_by_the_formula(data, count):
    sessions = data.draw(st.lists(st.integers(0, count - 1), min_size=150, max_size=150))
    said = data.draw(st.dictionaries(st.integers(0, 149), st.lists(st.sampled_from(WORDS), max_size=4), max_size=6))
    documents = [["filler", "filler", *said.get(number, [])] for number in range(150)]
    index = interleaved(documents, sessions)
    question = [("tea", {"bees": 0.3}), ("rome", {}), ("filler", {})]
    found = bm25_in_context(index, [group(index, word, kin) for word, kin in question])
    order = sorted(range(150), key=lambda number: sessions[number])  # a stable sort: each talk in its own order
    talk = reference(question, [documents[number] for number in order], windows([sessions[one] for one in order]))
    assert found[order].tolist() == pytest.approx(talk, rel=1e-4, abs=1e-6)


def test_an_identifier_is_found_where_it_stands(open_memory):
    """In the middle of a long message, among short ones that each have one of their own."""
    memory, talk = open_memory(), dialogue(400, seed=3)
    said = [turn.text for turn in talk]
    for number in range(40):
        ticket = f"ZB-{4700 + 3 * number}"
        long = f"{' '.join(said[:40])} For ticket {ticket} the owner is Ottokar. {' '.join(said[40:80])}"
        memory.add(f"Ticket {ticket}: {said[number]}" if number % 4 else long)
    for number in range(0, 40, 4):
        ticket = f"ZB-{4700 + 3 * number}"
        for question in (f"Who is the owner of ticket {ticket}?", f"What is in ticket {ticket}?"):
            assert ticket in memory.search(question).turns[0].text
