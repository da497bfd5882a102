"""What was said in the time that a question asks about, or speaks of it, comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memoryos
from memoryos import Memory, MemoryOS, load_settings
from memoryos.language.words import index_words
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, ablations

from .conftest import turns_in

NOW = datetime(2023, 8, 30, 12, tzinfo=UTC)  # a Wednesday

Talk = Callable[..., MemoryOS]


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    """talk(day=text, ...) or talk({day: text}): a memory of these texts, each said on its day."""
    opened: list[Memory] = []

    def of(said: dict[str, str]) -> Memory:
        settings = load_settings(embedder="hashing")
        memory = memoryos.open(
            tmp_path / f"{len(opened)}.db", user="ann", settings=settings, clock=lambda: NOW, session="s"
        )
        opened.append(memory)
        for day, text in said.items():
            memory.add(text, at=f"{day}T10:00Z")
        return memory

    yield of
    for memory in opened:
        memory.close()


def days(memory: Memory, question: str, **options) -> list[str]:
    return [f"{hit.at:%Y-%m-%d}" for hit in memory.search(question, **options).hits]


SAME = "We baked bread"
EACH_MONTH = {f"2023-{month:02d}-08": SAME for month in range(1, 9)}


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did we bake in May 2023?", "2023-05-08"),
        ("What did we bake on 8 May 2023?", "2023-05-08"),
        ("What did we bake on March 8th, 2023?", "2023-03-08"),
        ("What did we bake on 8.5.2023?", "2023-05-08"),
        ("What did we bake on 08.05.2023?", "2023-05-08"),
        ("What did we bake last month?", "2023-07-08"),
        ("What did we bake three weeks ago?", "2023-08-08"),
        ("What did we bake the week before 9 June 2023?", "2023-06-08"),
        ("2023年5月我们 baked 什么？", "2023-05-08"),
        ("上个月我们 baked 什么？", "2023-07-08"),
    ],
)
def test_the_time_asked_about_comes_first(talk: Talk, question: str, day: str) -> None:
    assert days(talk(EACH_MONTH), question)[0] == day


EACH_YEAR = {f"20{year}-{month:02d}-10": SAME for year in range(18, 23) for month in (1, 5, 9)}


@pytest.mark.once
@pytest.mark.parametrize("strategy", ["hybrid", "bm25"])
@pytest.mark.parametrize(
    ("question", "excluded"),
    [
        ("What did we bake before 2020?", "2020"),
        ("What did we bake after 2020?", "2020"),
        ("2020年之前我们 baked 什么？", "2020"),
        ("What did we bake before May 2020?", "2020-05"),
        ("What did we bake before 10 May 2020?", "2020-05"),
    ],
)
def test_a_time_that_is_excluded_is_not_found_by_its_words(
    talk: Talk, question: str, excluded: str, strategy: str
) -> None:
    found = talk(EACH_YEAR).search(question, strategy=strategy, pages=99)
    scores = {f"{turn.turn.at:%Y-%m-%d}": turn.score for turn in found.turns}
    assert len(scores) == len(EACH_YEAR)
    worst = min(score for day, score in scores.items() if day.startswith(excluded))
    assert worst <= min(scores.values()) + 1e-6
    if strategy == "hybrid":
        meant = [day for day in scores if (day > f"{excluded}~" if "after" in question else day < excluded)]
        assert sorted(list(scores)[: len(meant)]) == sorted(meant)


@pytest.mark.once
@pytest.mark.parametrize("question", ["When did we bake before May?", "五月之前我们 baked 什么？"])
def test_before_a_month_is_not_in_it(talk: Talk, question: str) -> None:
    found = days(talk(EACH_MONTH), question)
    assert sorted(found[:4]) == [f"2023-{month:02d}-08" for month in range(1, 5)]


@pytest.mark.once
def test_people_are_found_by_the_excluded_time_that_they_name(talk: Talk) -> None:
    memory = talk({"2023-01-02": "Before 2020 we lived in Rome", "2023-01-09": "We lived by the sea in Genoa"})
    found = memory.search("Where did we live before 2020?", strategy="bm25").turns
    assert [f"{turn.turn.at:%d}" for turn in found] == ["02", "09"]


@pytest.mark.once
@pytest.mark.parametrize("question", ["In May", "8 May", "5月", "5月8日", "May 8th", "五月"])
@pytest.mark.parametrize("strategy", ["hybrid", "bm25"])
def test_a_month_without_a_year_is_found_by_its_name_in_both_languages(
    talk: Talk, question: str, strategy: str
) -> None:
    assert days(talk(EACH_MONTH), question, strategy=strategy)[0] == "2023-05-08"


@pytest.mark.once
@pytest.mark.parametrize(
    "question", ["What did we bake in May?", "5月8日我们 baked 什么？", "What did we bake in mid-May?"]
)
def test_a_month_without_a_year_ranks_like_other_times(talk: Talk, question: str) -> None:
    found = talk(EACH_MONTH).search(question, explain=True).turns
    assert f"{found[0].turn.at:%m}" == "05"
    assert found[0].parts["when"] >= 0.74 * DEFAULT_WEIGHTS.when
    assert not any(turn.parts["when"] for turn in found[1:])


@pytest.mark.parametrize("text", ["I was in Rome last May", "去年五月我在罗马"])
@pytest.mark.parametrize("question", ["What happened in May 2022?", "2022年5月怎么了？"])
def test_a_turn_is_found_by_the_time_it_speaks_of(talk: Talk, text: str, question: str) -> None:
    memory = talk({"2023-03-01": "I like bread", "2023-05-02": text, "2023-07-01": "I like tea"})
    found = memory.search(question, explain=True).turns
    assert found[0].turn.text == text
    assert found[0].parts["when"] == pytest.approx(DEFAULT_WEIGHTS.when)
    assert "when" not in {name for turn in found[1:] for name, value in turn.parts.items() if value}


def test_what_lies_partly_in_the_time_asked_about_counts_in_part(talk: Talk) -> None:
    memory = talk({"2023-07-01": "I was there in 2022", "2023-07-02": "I was there in May 2022"})
    shares = {
        f"{turn.turn.at:%d}": turn.parts["when"] / DEFAULT_WEIGHTS.when
        for turn in memory.search("Where was I in May 2022?", explain=True).turns
    }
    assert shares == pytest.approx({"01": 31 / 365, "02": 1})


@pytest.mark.once
@pytest.mark.parametrize("question", ["What did we bake?", "May we bake?", "我们吃什么？", "What did we bake in 1999?"])
def test_a_question_without_a_time_of_ours_has_no_such_part(talk: Talk, question: str) -> None:
    memory = talk(EACH_MONTH)
    found = memory.search(question, explain=True)
    assert all("when" not in turn.parts for turn in found.turns)
    without = memory.search(question, weights=ablations(DEFAULT_WEIGHTS)["when"], explain=True)
    assert turns_in(found) == turns_in(without)


SPOKEN_OF = {
    "2023-07-25": "I planned a week of sailing and a month of rest for a year, two weeks each.",
    "2023-08-16": "I started bouldering at the hall.",
    "2023-08-23": "We dropped the old parser.",
    "2023-08-28": "我每周写周报，每个月写月报。",
}


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did I do last week?", "2023-08-23"),
        ("What did I say the week before last?", "2023-08-16"),
        ("What did I do two weeks ago?", "2023-08-16"),
        ("What did I do last month?", "2023-07-25"),
        ("上周我做了什么？", "2023-08-23"),
        ("两周前我做了什么？", "2023-08-16"),
        ("上个月我做了什么？", "2023-07-25"),
    ],
)
def test_the_words_for_a_time_that_counts_from_today_are_no_words_to_look_for(
    talk: Talk, question: str, day: str
) -> None:
    memory = talk(SPOKEN_OF)
    found = memory.search(question, explain=True)
    assert found.hits[0].at.strftime("%Y-%m-%d") == day
    assert not any(turn.parts.get("words", 0.0) + turn.parts.get("day", 0.0) for turn in found.turns)
    assert SPOKEN_OF[day] in memory.context(question, tokens=32).text


@pytest.mark.once
@pytest.mark.parametrize(
    "question", ["What did I get last Christmas?", "What did I do last Friday?", "去年圣诞节怎么样？"]
)
def test_names_of_days_are_words_to_look_for(talk: Talk, question: str) -> None:
    memory = talk(
        {"2023-08-01": "Christmas was cold.", "2023-08-02": "That Friday was hot.", "2023-08-03": "圣诞节很冷。"}
    )
    assert memory.search(question, explain=True).turns[0].parts["words"] > 0


def test_the_time_is_no_filter(talk: Talk) -> None:
    assert len(days(talk(EACH_MONTH), "What did we bake in May 2023?")) == len(EACH_MONTH)


def test_a_corrected_turn_speaks_of_other_times(talk: Talk) -> None:
    memory = talk({"2023-07-01": "I was in Rome last year"})
    (page,) = memory.pages.list()
    memory.update(page.id, "I was in Rome in 2020")
    assert "when" not in memory.search("Where was I in 2022?", explain=True).turns[0].parts
    assert "when" in memory.search("Where was I in 2020?", explain=True).turns[0].parts


@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "words", "absent"),
    [
        ("May I come?", [], ["may"]),
        ("It may rain, maybe.", ["rain"], ["may"]),
        ("We met in May.", ["may"], []),
        ("we met last may", ["may"], []),
        ("May 8th was fine", ["may", "8"], ["8th"]),
        ("The 3rd of May", ["may", "3"], ["3rd"]),
        ("It was mid-May", ["may"], []),
        ("on Dec. 4, 2023", ["december", "4", "2023"], ["dec"]),
        ("2023-05-08", ["2023", "may", "8"], ["05"]),
        ("2023年5月8日", ["2023", "may", "8"], ["月"]),
        ("十二月", ["december"], ["月"]),
        ("三个月", ["月"], ["march"]),
        ("99月", ["99"], []),
        ("中秋节吃月饼", ["月饼"], []),
    ],
)
def test_the_words_that_a_date_is_found_by(text: str, words: list[str], absent: list[str]) -> None:
    found = index_words(text)
    assert set(words) <= set(found)
    assert not set(absent) & set(found)
