"""Long texts: a fact in the middle of one is found first, by the passage that says it."""

from __future__ import annotations

import random

import pytest

from memoryos import Memory, Role, Turn
from memoryos.language.passages import LONGEST, estimated_tokens
from memoryos.operation.recall.hit import LONG, TurnHit

FACT = "My sister Agatha keeps her passport in the blue drawer of the hall cupboard."
QUESTION = "Where does Agatha keep her passport?"
WORDS = (
    "river mountain garden coffee window music bicycle market teacher winter orange letter kitchen ocean forest paper"
    " silver bread travel theatre doctor yellow camera village summer bridge engine story pocket mirror"
).split()


def filler(chars: int, seed: int = 0) -> str:
    """Paragraphs of some words, about nothing."""
    draw = random.Random(seed)
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) < chars:
        sentences = (f"The {' '.join(draw.choices(WORDS, k=10))} is there." for _ in range(4))
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)[:chars].strip()


def document(chars: int) -> str:
    """A text of about that length with the fact in its middle."""
    return f"{filler(chars // 2)}\n\n{FACT}\n\n{filler(chars // 2, seed=1)}"


def among_thirty(memory: Memory, text: str, role: Role = Role.USER) -> str:
    """Thirty exchanges, and the text as one side of the twelfth; returns its page."""
    home = ""
    for number in range(30):
        said = [Turn(role=Role.USER, text=f"Today I saw the {WORDS[number]} with my friend."), None]
        said[1] = Turn(role=Role.ASSISTANT, text="That sounds nice.")
        if number == 12:
            place = 0 if role is Role.USER else 1
            said[place] = Turn(role=role, text=text, source_id="long")
        ids = memory.add_many(said)
        home = ids[0] if number == 12 else home
    return home


def best(memory: Memory, query: str, **options) -> TurnHit:
    return memory.search(query, **options).turns[0]


@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
@pytest.mark.parametrize("chars", [3_000, 8_000, 100_000])
def test_a_fact_inside_a_long_message_is_found_first_and_its_passage_is_named(open_memory, chars, role):
    memory = open_memory()
    page = among_thirty(memory, document(chars), role)
    hit = best(memory, QUESTION)
    assert (hit.cube.id, hit.index, hit.source_id) == (page, 0 if role is Role.USER else 1, "long")
    assert FACT in hit.text
    assert hit.text == hit.turn.words[hit.start : hit.end]
    assert estimated_tokens(hit.text) <= LONGEST
    assert hit.turn.text == document(chars)
    assert hit.quoted == f"… {hit.text} …"
    assert FACT in memory.context(QUESTION).text
    assert memory.search(QUESTION).hits[0].id == page


@pytest.mark.parametrize("chars", [300_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_fact_inside_a_very_long_text_is_found_first(open_memory, chars):
    memory = open_memory()
    page = among_thirty(memory, document(chars))
    memory.wait()
    for strategy in ("hybrid", "bm25"):
        hit = best(memory, QUESTION, strategy=strategy)
        assert (hit.cube.id, FACT in hit.text) == (page, True)
    assert FACT in memory.context(QUESTION, tokens=1_000).text


def test_several_facts_of_one_text_are_hits_of_their_own(open_memory):
    memory = open_memory()
    other = "The ferry to Inishmore leaves from Rossaveel at half past ten."
    memory.add(f"{filler(4_000)}\n\n{FACT}\n\n{filler(4_000, 1)}\n\n{other}\n\n{filler(4_000, 2)}")
    both = memory.search("Agatha's passport, and the ferry to Inishmore?").turns[:2]
    assert {FACT in hit.text for hit in both} == {other in hit.text for hit in both} == {True, False}
    assert len({hit.cube.id for hit in both}) == 1
    assert len(memory.search(QUESTION).hits) == 1


def test_a_book_does_not_keep_other_pages_out(open_memory):
    memory = open_memory()
    memory.add("\n\n".join(f"The bees of hive {number} like lavender. {filler(500, number)}" for number in range(200)))
    chats = [memory.add(f"The bees in garden {number} sleep.") for number in range(9)]
    found = memory.search("bees")
    assert {hit.id for hit in found.hits} >= set(chats)
    assert max(sum(turn.cube.id == hit.id for turn in found.turns) for hit in found.hits) == 32


@pytest.mark.once
@pytest.mark.parametrize("chars", [50_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_document_fills_a_large_context(open_memory, chars):
    memory = open_memory()
    memory.add(document(chars))
    memory.add("The weather is fine.", "It is.")
    context = memory.context(QUESTION, tokens=4096)
    assert FACT in context.text
    assert 3_900 <= context.tokens <= 4_096


def test_a_short_turn_is_one_passage_and_is_whole(open_memory):
    memory = open_memory()
    memory.add("The bees like lavender.", "I see.")
    hit = best(memory, "lavender")
    assert (hit.start, hit.text, hit.quoted, hit.is_part) == (0, hit.turn.words, hit.turn.words, False)


def test_new_words_of_a_long_turn_take_the_place_of_all_its_passages(open_memory):
    memory = open_memory()
    before, page, after = memory.add("Bread?", "Yes."), memory.add(document(8_000), "Noted."), memory.add("Tea?", "No.")
    assert FACT in best(memory, QUESTION).text
    for text in ("Agatha is away.", document(3_000), document(9_000).replace("blue", "green")):
        memory.update(page, text)
        with_past = [(hit.cube.id, hit.index, hit.text) for hit in memory.search(QUESTION).turns]
        assert with_past[0][2] in text
        again = open_memory()
        assert [(hit.cube.id, hit.index, hit.text) for hit in again.search(QUESTION).turns] == with_past
    assert not memory.search("passport blue drawer", strategy="bm25").turns[0].text.count("blue")
    memory.delete(page)
    assert {hit.id for hit in memory.search("bread tea").hits} == {before, after}


def test_only_the_first_passage_of_a_turn_answers_the_question_before(open_memory):
    memory = open_memory()
    asks = Turn(role=Role.USER, text="How is the weather, please?", speaker="Ann")
    memory.add_many([asks, Turn(role=Role.ASSISTANT, text=filler(3_000), speaker="Bob")])
    answers = [hit for hit in memory.search("river mountain", explain=True).turns if hit.index == 1]
    assert len(answers) > 3
    assert [hit.start for hit in answers if hit.parts.get("answers")] == [0]


def test_a_digest_counts_turns_and_tells_passages(open_memory):
    memory = open_memory()
    memory.add(document(6_000), "Noted.")
    told = memory.digest(tokens=200)
    assert told.turns == 2
    assert sum(line.turns for line in told.lines) >= 2
    assert FACT in memory.digest(query=QUESTION, tokens=700).text


def test_a_rebuild_makes_the_same_passages(open_memory):
    memory = open_memory()
    page = memory.add(document(8_000), "Noted.")
    extents = stored_extents(memory, page)
    assert len(extents) > 10
    memory.upkeep.rebuild()
    memory.wait()
    assert stored_extents(memory, page) == extents


def stored_extents(memory: Memory, page: str) -> list[tuple[int, int, int | None]]:
    with memory._engine.vault.read(memory._scope) as reader:
        return [tuple(passage.extent) for passage in reader.passages([page])]


def of_functions(fact: str, around: int = 150) -> str:
    """An assistant's answer of some thousand characters of code, with a line about something else in its middle."""
    before, behind = (
        "\n".join(f"def {name}{number}(x):\n    return x + {number}\n" for number in range(around)) for name in "fg"
    )
    return f"Here is the code:\n\n```python\n{before}\n{fact}\n\n{behind}```\n\nThat is all."


@pytest.mark.parametrize("among", ["questions", "answers"])
def test_a_text_that_alone_has_the_words_of_a_question_is_found_and_not_refused(open_memory, among):
    memory, subjects = open_memory(), "server client queue worker thread lock table index vector page model".split()
    for number in range(30):
        subject = subjects[number % len(subjects)]
        memory.add(f"Question {number}: how does the {subject} work?", filler(300, seed=number))
    fact = "PASSWORD_ROTATION_DAYS = 47  # staging database password, Henrike keeps the schedule"
    memory.add(
        "Explain please.", of_functions(fact) if among == "questions" else f"{filler(1500)} {fact} {filler(1500)}"
    )
    query = "How often does the password of the staging database rotate?"
    recalled = memory.search(query, explain=True)
    assert "Henrike" in "".join(turn.text for turn in recalled.turns[:2])
    assert recalled.confidence > 0.5
    for tokens in (256, 512, 1024):
        context = memory.context(query, tokens=tokens)
        assert context.found
        assert "47" in context.text


def test_a_text_that_has_the_words_of_a_question_as_much_as_the_best_keeps_its_place(open_memory):
    memory = open_memory()
    for number in range(12):
        memory.add(f"The staging database got its password number {number} today.", filler(300, seed=number))
    memory.add("Explain please.", of_functions("# the staging database password rotates"))
    hits = memory.search("When did the staging database get its password?", explain=True).turns
    assert not any("literal" in hit.parts for hit in hits)


def test_the_data_of_a_search_have_the_passages_of_a_long_turn_and_where_they_are(open_memory):
    memory = open_memory()
    page = among_thirty(memory, document(100_000))
    recalled = memory.search(QUESTION)
    assert len(recalled.to_json()) < 80_000
    told = {hit["id"]: hit for hit in recalled.to_dict()["hits"]}
    assert all("is_whole" not in hit for name, hit in told.items() if name != page)
    hit, words = told[page], memory.get(page).payload.turns[0].words
    assert hit["is_whole"] is False
    assert FACT in hit["text"]
    turn = hit["turns"][0]
    assert FACT in "".join(words[start:end] for start, end in turn["spans"])
    assert all(words[start:end].strip() in turn["text"] for start, end in turn["spans"])
    assert sum(end - start for start, end in turn["spans"]) <= LONG
    assert recalled.hits[0].text == memory.get(page).text  # the value itself has it whole
