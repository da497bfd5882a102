"""What a turn says that no longer holds has a note: until when it held, and what holds now."""

from __future__ import annotations

import pytest

from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall import replaced
from memoryos.operation.recall.replaced import replaced_in

ENGLISH = ("I work as a nurse.", "I'm a physiotherapist now.", "What do I work as?", "physiotherapist")
CHINESE = ("我住在成都。", "我搬到了广州。", "我住在哪里？", "广州")


def told(memory, *said):
    """Say these sentences in the course of two years, with other talk between them."""
    for number, sentence in enumerate(said):
        memory.add(sentence, "Okay.", at=f"202{3 + number}-02-01")
        for month in range(3, 6):
            memory.add(f"The train was late again, number {month}.", "Sure.", at=f"202{3 + number}-0{month}-01")
    memory.wait()
    memory.consolidate()
    return memory


def line_of(context, words):
    """The lines of the text with these words."""
    return [line for line in context.text.splitlines() if words in line]


@pytest.mark.parametrize(("said", "stm"), [(ENGLISH, 2), (CHINESE, 40)])  # the first turn has left STM, or not
def test_what_no_longer_holds_is_marked_at_every_budget(open_memory, said, stm):
    before, after, query, value = said
    memory = told(open_memory(short_term_capacity=stm), before, after)
    for tokens in (16, 24, 32, 64, 256):
        context = memory.context(query, tokens=tokens)
        assert context.tokens == count_tokens(context.text) <= tokens
        for line in line_of(context, before):
            assert "(until 1 February 2024" in line
            assert tokens < 64 or ("; now: " in line and value in line)
        assert tokens < 64 or line_of(context, before)
    assert not any("(until" in line for line in line_of(memory.context(query, tokens=256), after))


@pytest.mark.once
def test_the_note_tells_the_last_value_and_what_it_is_about(open_memory):
    long = f"{'We talked about many things at the lake. ' * 4}I work as a nurse. {'It rained. ' * 3}"
    memory = told(open_memory(), long, "I'm a florist now.", "I'm a baker now.")
    context = memory.context("What do I work as?", tokens=300)
    [first] = line_of(context, "as a nurse. It")
    assert first.endswith("(User works as a nurse: until 1 February 2024; now: User is a baker now)")
    [second] = line_of(context, "user: I'm a florist now.")
    assert second.endswith("(until 1 February 2025; now: User is a baker now)")
    then = memory.context("What do I work as?", tokens=300, as_of="2024-12-01")
    assert line_of(then, "as a nurse. It")[0].endswith("now: User is a florist now)")
    assert not any("(until" in line for line in line_of(then, "user: I'm a florist now."))


@pytest.mark.once
def test_the_note_tells_nothing_that_the_caller_left_out(open_memory):
    memory = told(open_memory(), *ENGLISH[:2])
    query, value = ENGLISH[2:]
    page = next(hit.id for hit in memory.search(query, pages=50).hits if value in hit.text)
    for only in ({"until": "2023-12-31"}, {"exclude": [page]}):
        context = memory.context(query, tokens=200, **only)
        assert line_of(context, "user: I work as a nurse.")[0].endswith("(until 1 February 2024)"), only
    assert "(until" not in memory.context(query, tokens=200, kinds=["page"]).text
    assert "(until" not in memory.context(query, tokens=200, min_trust="stated").text


@pytest.mark.once
def test_the_note_is_shown_like_other_memories(open_memory):
    said = ("I live in Riga.", "I moved to Porto, write to ann@mail.example.")
    memory = told(open_memory(privacy_on_read="mask"), *said)
    context = memory.context("Where do I live?", tokens=200)
    assert "(until 1 February 2024; now: " in context.text
    assert "ann@mail.example" not in context.text


@pytest.mark.once
def test_a_long_succession_is_looked_through_once(open_memory, monkeypatch):
    jobs = "nurse teacher baker plumber lawyer cook pilot farmer painter welder dentist barber".split()
    memory = open_memory()
    for month, job in enumerate(jobs, 1):
        memory.add(f"I work as a {job} now.", "Okay.", at=f"2024-{month:02}-01")
    memory.wait()
    memory.consolidate()
    context = memory.context("What do I work as?", tokens=600)
    for job in jobs[:-1]:
        assert line_of(context, f"as a {job} now.")[0].endswith("; now: User works as a barber now)")
    then = memory.context("What do I work as?", tokens=600, as_of="2024-09-15")
    assert line_of(then, "as a nurse now.")[0].endswith("; now: User works as a painter now)")

    looked, reads = [], []
    given_way = replaced.has_given_way
    monkeypatch.setattr(replaced, "has_given_way", lambda fact, by: looked.append(fact.id) or given_way(fact, by))
    with memory._engine.vault.read(memory.scope) as reader:
        read = reader.get
        monkeypatch.setattr(reader, "get", lambda ids: reads.append(ids) or read(ids))
        pages = [page.id for page in memory.pages.list(limit=50)]
        oldest = next(page for page in pages if "nurse" in memory.get(page).text)
        now = memory._engine.clock()
        assert len(list(replaced_in([reader], pages, now, lambda _: True))) == len(jobs) - 1
        assert len(looked) <= 4 * len(jobs)  # not once for each later job of each job
        reads.clear()
        [told] = replaced_in([reader], [oldest], now, lambda _: True)
        assert told.heir.text == "User works as a barber now."
        assert len(reads) <= 5  # not one for each step
