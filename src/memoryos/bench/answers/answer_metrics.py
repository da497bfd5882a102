"""Metrics of an answer against a gold answer, by the definitions of the papers and with their libraries.

- `f1`: LoCoMo's own (task_eval/evaluation.py): lower case, no punctuation, no articles nor "and", Porter's stems,
  counted tokens; of category 1 the mean over the gold answer's parts of the best part of the answer.
- `f1_set`: of the public MemoryOS code (eval/evalution_loco.py): sets of words, neither stemmed nor cleaned.
- `bleu1`, `bleu4`: sentence BLEU of NLTK with smoothing method 1, as A-Mem and Mem0 take it. Words are cut by NLTK's
  tokenizer without Punkt, whose data would have to be downloaded: a full stop within an answer stays at its word.
- `rouge_l`: F of rouge-score with stems; its words may have letters of any script, not only a to z.
- `meteor`: NLTK's, on words cut at blanks, as Mem0 takes it, without its third stage: synonyms need WordNet, which
  would have to be downloaded. It is never above the METEOR with synonyms of the same alignment.

Chinese and Japanese characters count as words of their own, as in CMRC 2018: F1 is by characters there.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable
from functools import cache
from statistics import fmean
from typing import Any

from memoryos.bench.answers.question import Gold, ScoringRule
from memoryos.errors import MissingExtra
from memoryos.regex import regex

TEXT_METRICS = ("f1", "bleu1", "f1_set", "bleu4", "rouge_l", "meteor")

ABSTENTIONS = ("no information available", "not mentioned")  # LoCoMo's rule for category 5

_CHARACTER = regex(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。！？、；：（）《》「」『』")
_ARTICLES = regex(r"\b(a|an|the|and)\b")
_WORD = regex(r"\b\w+\b")
_LETTERS = regex(r"[^\W_]+")
_ROUGE_SHORT = 3  # letters: rouge-score does not stem such a word


class _RougeWords:
    """Cuts and stems as rouge-score does, which drops every letter but a to z."""

    def tokenize(self, text: str) -> list[str]:
        """The stems of the text's words; short words stay as they are."""
        words = _LETTERS.findall(text.lower())
        return [_porter().stem(word) if len(word) > _ROUGE_SHORT else word for word in words]


class _NoWordNet:
    """Knows no synonyms."""

    def synsets(self, _word: str) -> list[Any]:
        return []


def check_metrics() -> None:
    """Check before a long run that the metrics can be computed. Raises MissingExtra."""
    try:
        import nltk  # noqa: F401 - is it there?
        import rouge_score  # noqa: F401
    except ImportError:
        raise MissingExtra("memoryos bench answers", "bench") from None


def text_scores(answer: str, gold: Gold) -> dict[str, float]:
    """The metrics of one answer, each from 0 to 1, by name; of one that has to abstain, only `f1`, which is 0 or 1."""
    if gold.rule is ScoringRule.ABSTAIN:
        return {"f1": float(has_abstained(answer))}
    said, wanted = _spaced(answer), _spaced(gold.answer)
    return {
        "f1": list_f1(said, wanted) if gold.rule is ScoringRule.LIST else stemmed_f1(said, wanted),
        "bleu1": bleu(said, wanted, 1),
        "f1_set": set_f1(said, wanted),
        "bleu4": bleu(said, wanted, 4),
        "rouge_l": rouge_l(said, wanted),
        "meteor": meteor(said, wanted),
    }


def has_abstained(answer: str) -> bool:
    """Whether an answer says that the dialogue does not tell, by LoCoMo's rule."""
    return any(phrase in answer.lower() for phrase in ABSTENTIONS)


def stemmed_f1(answer: str, gold: str) -> float:
    """F1 of counted, stemmed tokens."""
    said, wanted = _stems(answer), _stems(gold)
    return _f1((Counter(said) & Counter(wanted)).total(), len(said), len(wanted))


def list_f1(answer: str, gold: str) -> float:
    """The mean over the parts of the gold answer of the best F1 that a part of the answer has with it."""
    said = answer.split(",")
    return fmean(max(stemmed_f1(one, wanted) for one in said) for wanted in gold.split(","))


def set_f1(answer: str, gold: str) -> float:
    """F1 of sets of words."""
    said, wanted = set(_WORD.findall(answer.lower())), set(_WORD.findall(gold.lower()))
    return _f1(len(said & wanted), len(said), len(wanted))


def bleu(answer: str, gold: str, order: int) -> float:
    """Sentence BLEU up to n-grams of that order, all weighed alike."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    words = _words()
    weights = [1 / order] * order
    score = sentence_bleu([words(gold.lower())], words(answer.lower()), weights, SmoothingFunction().method1)
    return float(score)


def rouge_l(answer: str, gold: str) -> float:
    """F of the longest common subsequence of stems."""
    return float(_rouge().score(gold, answer)["rougeL"].fmeasure)


def meteor(answer: str, gold: str) -> float:
    """METEOR by equal words and equal stems."""
    from nltk.translate.meteor_score import single_meteor_score

    return float(single_meteor_score(gold.split(), answer.split(), stemmer=_porter(), wordnet=_NoWordNet()))


def normalised(text: str) -> str:
    """The text in lower case, without punctuation, articles and "and"."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _f1(common: int, said: int, wanted: int) -> float:
    return 2 * common / (said + wanted) if common else 0.0


def _spaced(text: str) -> str:
    """The text with each Chinese or Japanese character as a word."""
    return _CHARACTER.sub(r" \1 ", text)


def _stems(text: str) -> list[str]:
    porter = _porter()
    return [porter.stem(word) for word in normalised(text).split()]


@cache
def _porter() -> Any:
    from nltk.stem import PorterStemmer

    return PorterStemmer()


@cache
def _words() -> Callable[[str], list[str]]:
    from nltk.tokenize import NLTKWordTokenizer

    cut: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return cut


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_RougeWords())
