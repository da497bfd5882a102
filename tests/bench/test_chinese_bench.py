"""`memoryos bench chinese`, and the conversation that it asks about."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest

from memoryos.bench import chinese_talk
from memoryos.bench.chinese_talk import FILE
from memoryos.bench.evidence import CATEGORIES
from memoryos.bench.locomo_recall import load_corpus
from memoryos.errors import InvalidInput
from memoryos.models.embedder import load_embedder

HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def corpus():
    return load_corpus(FILE)


def test_two_friends_talk_for_a_year(corpus):
    (conversation,) = corpus.conversations
    turns = [turn for session in conversation.sessions for turn in session.turns]
    assert 120 <= len(turns) <= 160
    assert len({turn.speaker for turn in turns}) == 2
    assert all(before.at < after.at for before, after in pairwise(turns))
    assert turns[-1].at - turns[0].at > timedelta(days=365)
    assert all(HAN.search(turn.text) for turn in turns)


def test_every_question_can_be_asked(corpus):
    questions = corpus.questions
    assert questions.malformed == ()
    assert questions.without_evidence == 0
    assert len({question.text for question in questions.asked}) == len(questions.asked) >= 40
    assert all(HAN.search(question.text) for question in questions.asked)
    assert set(Counter(question.category for question in questions.asked)) == set(CATEGORIES)


def test_most_evidence_says_it_in_other_words(corpus):
    """Of the characters of a question, without those of the names and of asking, few are in its evidence."""
    (conversation,) = corpus.conversations
    texts = {turn.source_id: turn.text for session in conversation.sessions for turn in session.turns}
    common = set("林悦陈浩什么时候的是了吗哪怎为在和有过")
    shares = []
    for question in corpus.questions.asked:
        asked = set(HAN.findall(question.text)) - common
        said = set("".join(texts[name] for name in question.evidence))
        shares.append(len(asked & said) / len(asked))
    assert sum(shares) / len(shares) < 0.5


def test_what_a_program_reads(bench, corpus, tmp_path):
    result = bench("chinese", "--strategy", "hybrid", "--strategy", "bm25", "--embedder", "hashing", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert list(found["results"]) == ["hybrid", "bm25"]
    assert found["dataset"] == {"sha256": corpus.sha256, "conversations": ["chinese-1"]}
    assert found["questions"] == len(corpus.questions.asked)
    assert found["results"]["bm25"]["overall"]["turns"]["50"] > 0
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_a_person_reads(bench, monkeypatch, tmp_path):
    (sample,) = json.loads(FILE.read_text("utf-8"))
    few = {one["category"]: one for one in sample["qa"]}  # one question of each: the table has as many rows
    path = tmp_path / "few.json"
    path.write_text(json.dumps([sample | {"qa": list(few.values())}]), "utf-8")
    monkeypatch.setattr(chinese_talk, "FILE", path)
    result = bench("chinese", "--strategy", "bm25", "--embedder", "hashing")
    assert result.returncode == 0, result.stderr
    for shown in ("4,096", "50 turns", "multi-hop", "open-domain", "hashing-384-v1"):
        assert shown in result.stdout


@pytest.mark.parametrize("name", ["locomo", "chinese", "speed"])
def test_the_help_names_every_embedder(bench, name):
    with pytest.raises(InvalidInput) as refused:
        load_embedder("")
    names = refused.value.fix.removeprefix("Use one of: ").split(", ")
    shown = re.sub(r"[│\s]+", " ", bench(name, "--help").stdout)
    assert f"The embedder: {', '.join(names[:-1])} or {names[-1]} (default" in shown
