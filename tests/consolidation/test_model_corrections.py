"""What a model found follows its pages when they are corrected or deleted, without asking it while others wait."""

from __future__ import annotations

import pytest

from memoryos import Memory


@pytest.fixture
def memory(opened) -> Memory:
    return opened()


def said(memory: Memory, *texts: str) -> list[str]:
    """The ids of pages with these texts, read by the model."""
    ids = [memory.add(text, "Noted.") for text in texts]
    memory.add("Good night.", "Good night!")
    memory.consolidate()
    return ids


def facts(memory: Memory) -> dict[str, tuple[str, ...]]:
    return {fact.text: fact.descriptive.provenance for fact in memory.profile.get().user.facts}


def test_a_deleted_page_takes_along_what_rests_on_it_alone(memory, model):
    cats, _ = said(memory, "I have two cats called Miso and Nori.", "I work as a nurse in Porto.")
    assert len(facts(memory)) == 2
    asked = len(model.requests)
    memory.delete(cats)
    [left] = facts(memory)
    assert "nurse" in left
    assert len(model.requests) == asked


def test_what_another_page_says_too_stays_with_that_support(memory):
    first, second = said(memory, "I work as a nurse in Porto.", "I work as a nurse in Porto.")
    [(text, pages)] = facts(memory).items()
    assert set(pages) == {first, second}
    memory.delete(first)
    assert facts(memory) == {text: (second,)}


def test_new_words_are_read_by_the_model_and_the_old_fact_goes_at_once(memory, model):
    page, other = said(memory, "I work as a nurse in Porto.", "I grow tulips in my garden.")
    asked = len(model.requests)
    memory.update(page, "I work as a baker in Porto.")
    assert not [text for text in facts(memory) if "nurse" in text]
    memory.wait()
    assert len(model.requests) > asked
    assert "baker" in str(model.requests[asked]["messages"])
    assert "tulips" not in str(model.requests[asked]["messages"])
    found = facts(memory)
    assert [pages for text, pages in found.items() if "baker" in text] == [(page,)]
    assert [pages for text, pages in found.items() if "tulips" in text] == [(other,)]


def test_a_correction_that_keeps_the_quoted_words_keeps_the_fact(memory):
    [page] = said(memory, "I work as a nurse in Porto.")
    before = facts(memory)
    memory.update(page, "By the way: I work as a nurse in Porto.")
    assert facts(memory) == before


def test_a_document_is_not_read_for_facts_and_costs_nothing(memory, model):
    memory.add("I have two cats called Miso and Nori.", "I work as a nurse in Porto.", title="A novel")
    memory.add("Good night.", "Good night!", source="a.txt")
    memory.consolidate()
    assert memory.profile.get().user.is_empty
    tasks = {request["messages"][0]["content"].split()[0] for request in model.requests}
    assert tasks <= {"Update"}  # summaries
