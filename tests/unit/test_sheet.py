"""Sheets: all the words of pages, in order, in prompts of a bounded size."""

from __future__ import annotations

import pytest

from memoryos.models.tokenizer import count_tokens
from memoryos.operation.consolidation.sheet import SHEET_TOKENS, sheets


def words_of(count):
    return [f"word{number}" for number in range(count)]


def test_no_page_is_no_sheet():
    assert list(sheets([])) == []


def test_pages_are_numbered_dated_and_in_order(page):
    pages = [page(text) for text in ("I like tea.", "我喜欢茶。", "Good night.")]
    [sheet] = sheets(pages)
    assert sheet.pages == {number: one.id for number, one in enumerate(pages, 1)}
    places = [sheet.text.index(f"[{number}] 2026-06-01 Mon\n{one.text}") for number, one in enumerate(pages, 1)]
    assert places == sorted(places)


@pytest.mark.parametrize("count", [10, 3_000])
def test_every_word_of_every_page_is_on_one_sheet(page, count):
    words = words_of(count)
    pages = [page(" ".join(words)), page("short one"), page(" ".join(reversed(words)))]
    made = list(sheets(pages))
    read = [word for sheet in made for word in sheet.text.split() if word.startswith("word")]
    assert read == [*words, *reversed(words)]
    assert {one for sheet in made for one in sheet.pages.values()} == {one.id for one in pages}


def test_no_sheet_is_much_longer_than_a_prompt_may_be(page):
    pages = [page(" ".join(words_of(2_000))), *(page(f"I like tea number {number}.") for number in range(500))]
    made = list(sheets(pages))
    assert len(made) > 3
    for sheet in made:
        assert sum(count_tokens(one.text) for one in sheet.cubes) <= SHEET_TOKENS * 1.1


def test_a_long_page_in_chinese_loses_no_character(page):
    text = "".join(chr(0x4E00 + number % 5_000) for number in range(9_000))
    read = "".join(sheet.cubes[0].payload.turns[0].text for sheet in sheets([page(text)]))
    assert read == text
