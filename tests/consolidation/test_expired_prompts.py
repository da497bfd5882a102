"""Between the end of a page and its removal, which a hold puts off, no model is shown its words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from consolidation.conftest import until_done
from consolidation.test_chain_meta import ENGLISH, page, says_of_chains, summaries
from memoryos import Memory

HOUR = timedelta(hours=1)
WORD = "Quetzalina"


def with_end(memory: Memory, *texts: str) -> list[str]:
    """The ids of pages of one chain; the one with the word ends in an hour, and is on hold."""
    pages = [memory.add(text, ttl=HOUR if WORD in text else None) for text in texts]
    memory.governance.hold(reason="a case", memory=next(one for one in pages if WORD in str(page(memory, one).turns)))
    return pages


@pytest.mark.parametrize("theta", [0.6, 1.9], ids=["one segment", "a segment for each page"])
def test_a_page_that_ends_before_it_is_read_is_shown_to_no_model(opened, model, clock, theta):
    memory = opened(segment_threshold=theta)
    *_, third, _ = with_end(memory, *ENGLISH[:4])
    clock.now += 2 * HOUR
    memory.consolidate()
    until_done(memory, clock)
    assert summaries(model)
    assert WORD not in repr(model.requests)
    assert WORD not in str(page(memory, third))


def test_what_was_written_of_it_before_is_shown_to_no_model(opened, model, clock):
    memory = opened()
    model.otherwise = says_of_chains("Quetzalina says that the old kettle leaks.", segments=True)
    _, _, third, _ = with_end(memory, *ENGLISH[:4])
    memory.consolidate()
    assert WORD in page(memory, third).chain_written, "its page has not ended yet"
    assert WORD in memory.segments.list()[0].cube.payload.written
    clock.now += 2 * HOUR
    before = len(model.requests)
    *_, last = [memory.add(text) for text in ENGLISH[4:]]
    memory.consolidate()
    until_done(memory, clock)
    assert len(model.requests) > before
    assert WORD not in repr(model.requests[before:])
    assert page(memory, last).chain_summary == ""
