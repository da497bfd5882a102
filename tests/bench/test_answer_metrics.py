"""The metrics of answers, against values worked out by the definitions they come from."""

from __future__ import annotations

import math

import pytest

from memoryos.bench.answers.answer_metrics import bleu, list_f1, meteor, rouge_l, set_f1, stemmed_f1, text_scores
from memoryos.bench.answers.question import Gold, ScoringRule


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("The 7th of May, 2023.", "7 May 2023", 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3)),
        ("She was researching adoption agencies", "Adoption agencies", 2 * (2 / 5) / (2 / 5 + 1)),
        ("adopt agency", "Adopted agencies", 1),  # stems
        ("a cat and the dog", "cat, dog", 1),  # articles, "and" and commas are nothing
        ("dog dog", "dog", 2 * 0.5 / 1.5),  # tokens are counted
        ("", "dog", 0),
        ("blue", "red", 0),
    ],
)
def test_f1_is_locomos(answer, gold, expected):
    assert stemmed_f1(answer, gold) == pytest.approx(expected)


def test_f1_of_several_answers_is_the_mean_of_each_ones_best():
    assert list_f1("pottery, running", "running, pottery, camping") == pytest.approx(2 / 3)
    assert list_f1("running and pottery", "running, pottery") == pytest.approx(2 / 3)  # one part against each


def test_f1_of_sets_is_the_public_codes():
    assert set_f1("the the cat", "The cat") == 1
    assert set_f1("adopted", "adopt") == 0
    assert set_f1("in May 2023", "May 2023") == pytest.approx(2 * (2 / 3) / (2 / 3 + 1))


def test_bleu_counts_ngrams_and_punishes_shortness():
    assert bleu("7 may 2023", "7 May 2023", 1) == pytest.approx(1)
    assert bleu("7 may", "7 May 2023", 1) == pytest.approx(math.exp(1 - 3 / 2))
    assert bleu("on 7 may 2023", "7 May 2023", 1) == pytest.approx(3 / 4)
    assert bleu("may may may", "may", 1) == pytest.approx(1 / 3)  # clipped
    assert bleu("the cat sat on a mat", "the cat sat on the mat", 4) == pytest.approx(
        (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    )
    assert bleu("", "dog", 1) == 0


@pytest.mark.parametrize(
    ("answer", "gold"),
    [("Police killed the gunman.", "The police kill the gunman"), ("running, camping!", "She's camping; ran")],
)
def test_rouge_l_is_rouge_scores_own_in_english(answer, gold):
    from rouge_score.rouge_scorer import RougeScorer  # with nltk: not in every worker that collects the tests

    theirs = RougeScorer(["rougeL"], use_stemmer=True).score(gold, answer)["rougeL"].fmeasure
    assert rouge_l(answer, gold) == pytest.approx(theirs)
    assert theirs > 0


def test_rouge_l_reads_other_scripts():
    assert rouge_l("ä ö", "ä ö") == 1


def test_meteor_matches_words_and_stems_but_no_synonyms():
    same = "the cat sat on the mat"
    assert meteor(same, same) == pytest.approx(1 - 0.5 * (1 / 6) ** 3)  # one chunk of six words
    assert meteor("cats", "cat") == meteor("cat", "cat") == pytest.approx(0.5)  # one chunk of one word
    assert meteor("feline", "cat") == 0
    assert meteor("", "cat") == 0


def test_an_adversarial_question_wants_an_abstention():
    gold = Gold("5", ScoringRule.ABSTAIN)
    assert text_scores("No information available.", gold) == {"f1": 1}
    assert text_scores("It is not mentioned in the notes", gold) == {"f1": 1}
    assert text_scores("self-care is important", gold) == {"f1": 0}


def test_chinese_is_scored_by_characters():
    scores = text_scores("他去了北京。", Gold("zh", ScoringRule.WHOLE, "北京"))
    assert scores["f1"] == scores["f1_set"] == pytest.approx(2 * (2 / 5) / (2 / 5 + 1))
    assert scores["rouge_l"] == pytest.approx(scores["f1"])
