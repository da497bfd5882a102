"""What a turn gives away without a question at hand, and the passage that is made of it."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memoryos.opening
from memoryos.cube import Attachment, Page, Turn
from memoryos.infrastructure.vault.records import Mark
from memoryos.kinds import Role
from memoryos.language import marks as marks_module
from memoryos.language.calendar import spoken
from memoryos.language.marked import Marked
from memoryos.language.marks import asks, asks_assistant, ends_asking, mentions_time
from memoryos.models.static import Static
from memoryos.operation.hierarchy.page_entries import page_entries, page_vectors


@pytest.mark.parametrize(
    ("text", "contains", "ends"),
    [
        ("Where is the teapot?", True, True),
        ("Where is it? I need it.", True, False),
        ("It is here.", False, False),
        ("Really?!", True, False),
        ('She asked: "Why?"', True, True),
        ("(is it?) ", True, True),
        ("*What?*", True, True),
        ("茶壶在哪里？", True, True),
        ("茶壶在哪里？我要用。", True, False),
        ("她问：“为什么？”", True, True),
        ("（是吗？）", True, True),
        ("茶壶在这里。", False, False),
        ("أين الإبريق؟", True, True),
        ("", False, False),
        ("🤔", False, False),
        ("?", True, True),
    ],
)
def test_questions(text, contains, ends):
    assert asks(text) is contains
    assert ends_asking(text) is ends


@pytest.mark.parametrize(
    "text",
    [
        "We met yesterday.",
        "LAST week",
        "I go on Friday",
        "since May 2023",
        "in 1999",
        "two weeks ago",
        "我们昨天见面了",
        "上周末我去了北京",
        "去年的音乐会",
        "三天前",
        "2023年的春天",
        "5月8号",
        "星期五",
    ],
)
def test_a_time_is_mentioned(text):
    assert mentions_time(text)


@pytest.mark.parametrize(
    "text",
    ["", "Hello there", "I like tea", "a blast", "lasting", "number 12345", "Fridays", "我喜欢茶", "天气很好"],
)
def test_no_time_is_mentioned(text):
    assert not mentions_time(text)


def test_a_date_is_spoken_as_people_write_it_in_any_locale():
    assert spoken(datetime(2023, 5, 8, tzinfo=UTC)) == "8 May 2023"
    assert spoken(datetime(2024, 12, 31, tzinfo=UTC)) == "31 December 2024"


def passages(cube, hashing, *turns):
    (entry,) = page_entries([cube(Page(turns=turns))], hashing)
    return entry.passages


AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("I like tea.", Mark(0)),
        ("Do you like tea?", Mark.ASKS | Mark.ENDS_ASKING),
        ("Do you like tea? I do.", Mark.ASKS),
        ("We met yesterday.", Mark(0)),
        ("Did we meet yesterday?", Mark.ASKS | Mark.ENDS_ASKING),
        ("我们昨天见面了吗？", Mark.ASKS | Mark.ENDS_ASKING),
    ],
)
def test_a_passage_carries_the_marks_of_its_turn(cube, hashing, text, marks):
    (passage,) = passages(cube, hashing, Turn(role=Role.USER, text=text, at=AT))
    assert passage.marks == marks | Mark.BY_USER


@pytest.mark.parametrize(
    ("role", "speaker", "marks"),
    [
        (Role.USER, None, Mark.BY_USER),
        (Role.ASSISTANT, "Assistant", Mark.BY_ASSISTANT),
        (Role.ASSISTANT, "Melanie", Mark(0)),
        (Role.TOOL, None, Mark(0)),
    ],
)
def test_a_passage_says_whose_words_it_is_when_nobody_has_a_name(cube, hashing, role, speaker, marks):
    (passage,) = passages(cube, hashing, Turn(role=role, text="the bees", speaker=speaker, at=AT))
    assert passage.marks == marks


@pytest.mark.parametrize(
    "text",
    [
        "What did you recommend for my knee?",
        "Which book was your suggestion?",
        "你之前建议了什么？",
        "What had you told me?",
        "Welches Hotel hast du mir empfohlen?",
        "Das Buch, das du mir empfohlen hast?",
        "¿Qué hotel me recomendaste?",
        "¿Qué me has dicho de Roma?",
        "Que hotel você me indicou?",
        "Quel hôtel m'as-tu recommandé ?",
        "Qu'est-ce que tu m'as proposé ?",
        "Quale albergo mi hai consigliato?",
        "Welk hotel heb je me aangeraden?",
        "Jaki hotel mi poleciłeś?",
        "Какой отель ты мне посоветовал?",
        "Hangi oteli önerdin?",
        "どのホテルを勧めてくれましたか？",
        "네가 추천한 호텔이 뭐야?",
        "ما الفندق الذي نصحتني به؟",
    ],
)
def test_a_question_about_the_assistants_words(text):
    assert asks_assistant(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Can you tell me where I live?", "Did I mention a dog?", "你能告诉我我住哪里吗？", ""),
        *(
            "Kannst du mir sagen, wo ich wohne?",
            "Was habe ich dir erzählt?",
            "¿Qué te dije de mi perro?",
            "Où est-ce que j'habite ?",
        ),
        *(
            "Cosa ti ho detto?",
            "Wat heb ik gezegd?",
            "Что я тебе сказал?",
            "Köpeğim hakkında ne dedim?",
            "私は犬について何と言いましたか？",
        ),
        *("내가 뭐라고 말했지?", "ماذا قلت عن كلبي؟", "Gdzie mieszkam?", "Onde eu moro?"),
    ],
)
def test_a_question_about_somebody_else(text):
    assert not asks_assistant(text)


ASKING = (marks_module._ASSISTANTS_WORDS, marks_module._ASSISTANTS_WORDS_ELSEWHERE)


@pytest.mark.parametrize("words", ASKING, ids=["here", "elsewhere"])
@given(data=st.data())
def test_whatever_asks_for_the_assistants_words_in_ascii_has_a_mark(words: Marked, data: st.DataObject) -> None:
    pattern = re.compile(words.pattern.pattern, re.VERBOSE | re.IGNORECASE)
    found = data.draw(st.from_regex(pattern, alphabet=st.characters(codec="ascii")))
    assert words.may_match(found.lower())
    assert asks_assistant(found)


def test_a_passage_is_found_by_what_was_said_by_whom_and_when(cube, hashing):
    turn = Turn(role=Role.USER, text="The bees and the bees", speaker="Ann Lee", at=AT)
    (passage,) = passages(cube, hashing, turn)
    assert Counter(passage.words) >= Counter(["ann", "lee", "bees", "bees", "8", "2023"])
    assert not {"the", "and"} & set(passage.words)
    assert (passage.speaker, passage.said_at) == ("Ann Lee", AT)


def test_its_vector_stands_for_the_words_alone(cube, hashing):
    said = [Turn(role=Role.USER, text="the bees", speaker=name, at=AT) for name in ("Ann", "Bob")]
    for passage in passages(cube, hashing, *said):
        assert np.array_equal(passage.vector, hashing.embed(["the bees"])[0])


def test_a_caption_belongs_to_what_was_said(cube, hashing):
    photo = Attachment(caption="a zanzibarquux in 1999")
    (passage,) = passages(cube, hashing, Turn(role=Role.USER, text="Nice?", at=AT, attachments=(photo,)))
    assert "zanzibarquux" in passage.words
    assert passage.marks == Mark.ASKS | Mark.ENDS_ASKING | Mark.BY_USER


def test_a_turn_without_a_time_has_that_of_its_page(cube, hashing, clock):
    (passage,) = passages(cube, hashing, Turn(role=Role.USER, text="the bees"))
    assert passage.said_at == clock()


def test_chinese_is_found_by_its_words_and_characters(cube, hashing):
    (passage,) = passages(cube, hashing, Turn(role=Role.USER, text="蜜蜂在杭州", at=AT))
    assert {"杭州", "蜜蜂", "蜜", "蜂"} <= set(passage.words)
    assert "在" not in passage.words


def test_a_page_has_the_mean_direction_of_its_turns_weighed_by_their_words(cube, hashing, vault):
    texts = ["the bees", "a red teapot", "蜜蜂"]
    made = cube(Page(turns=tuple(Turn(role=Role.USER, text=text, at=AT) for text in texts)))
    (found,) = directions(vault, hashing, made)
    mean = np.array([1, 2, 3]) @ hashing.embed(texts)  # bees; red, teapot; the word and its two characters
    assert np.allclose(found, mean / np.linalg.norm(mean), atol=1e-3)


@pytest.fixture
def vault(tmp_path, clock):
    made = memoryos.opening.open_vault(tmp_path / "memory.db", embedder="any", clock=clock, busy_timeout_seconds=1)
    yield made
    made.close()


def directions(vault, embedder, *pages):
    """What the store gives for these pages."""
    with vault.write(pages[0].scope) as writer:
        writer.insert(page_entries(pages, embedder))
        found = page_vectors(writer, [one.id for one in pages])
    return [found[one.id] for one in pages]


def test_a_stock_reply_does_not_make_pages_alike(cube, vault):
    pages = [
        cube(Page(turns=(Turn(role=Role.USER, text=text, at=AT), Turn(role=Role.ASSISTANT, text="I see.", at=AT))))
        for text in (
            "The landlord wants to raise the rent of our flat by two hundred euros from October.",
            "My daughter learned to ride her bicycle without training wheels in the park.",
        )
    ]
    first, second = directions(vault, Static(), *pages)
    assert first @ second < 0.5


def test_vectors_that_cancel_each_other_still_give_a_direction(cube, vault):
    class Opposites:
        name, dim = "opposites", 2

        def embed(self, texts):
            return np.array([(1.0, 0.0) if text == "yes" else (-1.0, 0.0) for text in texts], np.float32)

    turns = tuple(Turn(role=Role.USER, text=text, at=AT) for text in ("yes", "no"))
    (found,) = directions(vault, Opposites(), cube(Page(turns=turns)))
    assert found.tolist() == [1.0, 0.0]


def test_many_pages_at_once_are_each_as_they_are_alone(page, hashing):
    pages = [page(text) for text in ("bees", "red teapot", "蜜蜂", "bees")]
    together = page_entries(pages, hashing)
    for one, made in zip(pages, together, strict=True):
        (alone,) = page_entries([one], hashing)
        assert made.cube == one
        for here, there in zip(made.passages, alone.passages, strict=True):
            assert np.array_equal(here.vector, there.vector)
            assert here.words == there.words
    assert page_entries([], hashing) == []
