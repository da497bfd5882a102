from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from memoryos.bench.made_up_dialogue import NAME_SHARE, QUESTION_WORDS, TURN_WORDS, Dialogue
from memoryos.kinds import Role
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.intake.ingest import paginate


def test_a_seed_always_says_the_same():
    assert Dialogue(1).session(20) == Dialogue(1).session(20)
    assert Dialogue(1).session(20) != Dialogue(2).session(20)


def test_a_page_is_an_exchange_and_time_goes_on_from_session_to_session():
    dialogue = Dialogue(1)
    turns = [*dialogue.session(30), *dialogue.session(12)]
    assert len(paginate(turns)) == 42
    assert [turn.role for turn in turns[:2]] == [Role.USER, Role.ASSISTANT]
    assert all(after.at > before.at for before, after in pairwise(turns))


def test_a_hundred_thousand_pages_are_not_in_the_future():
    first, second = Dialogue(1).session(1)
    assert first.at + 200_000 * (second.at - first.at) < datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=1)


def test_turns_are_as_long_as_spoken_ones_for_a_reader_and_for_the_embedder():
    texts = [turn.text for turn in Dialogue(1).session(200)]
    lengths = [len(text.split()) for text in texts]
    assert (min(lengths), max(lengths)) == TURN_WORDS
    assert sum(map(count_tokens, texts)) / sum(lengths) < 1.4  # English has about 1.3 word pieces a word


def test_some_sentences_name_somebody_who_is_hardly_named_again():
    texts = [turn.text for turn in Dialogue(1).session(500)]
    names = [word.strip(".") for text in texts for word in text.split()[1:] if word[0].isupper()]
    assert 0.7 * NAME_SHARE < len(names) / len(texts) < NAME_SHARE  # one may be the first word
    assert len(set(names)) > 0.9 * len(names)


def test_questions_are_all_different():
    questions = Dialogue(1).questions(500)
    assert len(set(questions)) == 500
    assert all(QUESTION_WORDS[0] <= len(question.split()) <= QUESTION_WORDS[1] for question in questions)
