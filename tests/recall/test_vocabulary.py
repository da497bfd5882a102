"""Kin: which of an owner's words stand for a word of the question, and how much they count."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, degrees, radians, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memoryos.models.embedder import load_embedder
from memoryos.operation.index import vocabulary
from memoryos.operation.index.vocabulary import CLOSE, MOST, SHARE, Kin, Vocabulary, shares


class Compass:
    """Each word points somewhere; words that are not on it point west."""

    name = "compass"
    dim = 2

    def __init__(self, **angles: float) -> None:
        self._angles = angles

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = [radians(self._angles.get(text, 180)) for text in texts]
        return np.array([(cos(angle), sin(angle)) for angle in angles], np.float32).reshape(-1, 2)


def word(number: int) -> str:
    """A word of Latin letters for each number."""
    return "w" + "".join("abcdefghij"[int(digit)] for digit in str(number))


def kin(vocabulary: Vocabulary, words: Sequence[str], known: Sequence[str]) -> dict[str, dict[str, float]]:
    """For each word, its kin by name."""
    found = vocabulary.kin(words, known).items()
    return {
        asked: {
            known[term]: round(share, 5)
            for term, share in zip(near.terms, shares(near.closeness).tolist(), strict=True)
        }
        for asked, near in found
    }


def test_words_close_in_meaning_are_kin_by_their_cosine():
    lexicon = Compass(city=0, rome=30, paris=60, tea=90, cat=-180)
    found = kin(Vocabulary(lexicon), ["city"], ["rome", "paris", "tea", "cat"])
    assert list(found) == ["city"]
    assert dict(found["city"]) == pytest.approx({"rome": SHARE * cos(radians(30)), "paris": SHARE * cos(radians(60))})


@pytest.mark.parametrize("term", [2, 3, 5, 8])
def test_kin_without_a_term(term):
    known = Kin((2, 5, 8), (0.5, 1.0, 0.75))
    others = known.without_one(term)
    assert [*zip(others.terms, others.closeness, strict=True)] == [
        pair for pair in zip(known.terms, known.closeness, strict=True) if pair[0] != term
    ]
    assert known.without({term}) == others


def test_what_is_just_not_close_is_no_kin():
    edge = degrees(np.arccos(CLOSE))
    lexicon = Compass(city=0, near=edge - 0.1, far=edge + 0.1)
    assert set(kin(Vocabulary(lexicon), ["city"], ["near", "far"])["city"]) == {"near"}


def test_numbers_single_letters_and_other_scripts_have_no_kin_and_are_none():
    lexicon = Compass(**dict.fromkeys(["city", "8", "x", "城市", "naïve", "rock2", "rome"], 0))
    odd = ["8", "x", "城市", "naïve", "rock2"]
    assert kin(Vocabulary(lexicon), odd, ["rome"]) == {}
    assert set(kin(Vocabulary(lexicon), ["city"], [*odd, "rome"])["city"]) == {"rome"}


def test_arabic_words_have_kin():
    lexicon = Compass(مدينة=0, روما=30, city=40, شاي=90, город=0)
    known = ["روما", "city", "شاي", "город"]
    assert set(kin(Vocabulary(lexicon), ["مدينة"], known)["مدينة"]) == {"روما", "city"}


def test_nothing_asked_or_nothing_known():
    lexicon = Compass(city=0)
    assert kin(Vocabulary(lexicon), [], ["rome"]) == {}
    assert kin(Vocabulary(lexicon), ["city"], []) == {"city": {}}


def test_at_most_so_many_and_the_closest(monkeypatch):
    monkeypatch.setattr(vocabulary, "MOST", 3)
    lexicon = Compass(city=0, far=50, middle=30, twin=30, near=10, same=0)
    known = ["far", "middle", "twin", "near", "same"]
    assert set(kin(Vocabulary(lexicon), ["city"], known)["city"]) == {"middle", "near", "same"}
    assert (
        len(kin(Vocabulary(Compass(city=0, **{word(n): 1 for n in range(99)})), ["city"], map_words(99))["city"]) == 3
    )


def map_words(count: int) -> list[str]:
    return [word(number) for number in range(count)]


angles = st.lists(st.integers(-12, 12).map(lambda step: 15.0 * step), max_size=25)


@given(angles, st.lists(st.integers(0, 25), max_size=6), st.integers(1, 5), st.integers(1, 3))
def test_a_vocabulary_that_grew_says_what_a_fresh_one_says(angles, looks, most, remembered):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "MOST", most)
        patch.setattr(vocabulary, "REMEMBERED", remembered)
        lexicon = Compass(city=0, town=20, tea=90, **{word(n): angle for n, angle in enumerate(angles)})
        known, grown = map_words(len(angles)), Vocabulary(lexicon)
        for number, upto in enumerate(sorted(looks)):
            grown.kin([("city", "town", "tea")[number % 3]], known[:upto])
        asked = ["tea", "city", "town", "city"]
        assert kin(grown, asked, known) == kin(Vocabulary(lexicon), asked, known)


@given(angles, st.integers(1, 5))
def test_kin_are_the_closest_of_all_words(angles, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "MOST", most)
        lexicon = Compass(city=0, **{word(n): angle for n, angle in enumerate(angles)})
        found = kin(Vocabulary(lexicon), ["city"], map_words(len(angles)))["city"]
    closeness = sorted((cos(radians(angle)) for angle in angles), reverse=True)
    expected = [SHARE * one for one in closeness if one >= CLOSE][:most]
    assert sorted(found.values(), reverse=True) == pytest.approx(expected, abs=1e-5)


def test_the_lexicon_of_a_memory_knows_english():
    known = ["violin", "oven", "rome", "kettle", "bees"]
    found = kin(Vocabulary(load_embedder("static")), ["instruments", "city", "teapot"], known)
    assert {asked: max(near, key=near.get, default=None) for asked, near in found.items()} == {
        "instruments": "violin",
        "city": "rome",
        "teapot": "kettle",
    }
    assert all(0 < share < 1 for near in found.values() for share in near.values())
    assert all(len(near) <= MOST for near in found.values())


def test_bytes_are_counted_as_it_grows():
    made = Vocabulary(Compass())
    sizes = []
    for count in (0, 10, 1_000):
        made.kin(["city"], map_words(count))
        sizes.append(made.nbytes)
    assert sizes == sorted(set(sizes))
