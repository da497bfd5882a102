"""Many rows in one statement: each value arrives as it is, and in its row."""

from __future__ import annotations

import memoryos
from contract import server
from memoryos import Role, Turn, load_settings, stores
from memoryos.infrastructure.vault import statements, tables, whole_lists

AWKWARD = ["NULL", "null", 'a,"b"', "{x}", "back\\slash", "it's", "%(tenant)s", "二"]


def test_values_that_mean_something_in_a_list_are_stored_as_they_are(tmp_path):
    place = server.store_of(tmp_path).render_as_string(hide_password=False)
    turns = [Turn(role=Role.USER, text=f"{word} is what I said", speaker=word) for word in AWKWARD]
    with memoryos.open(place, user="ann", settings=load_settings(embedder="hashing", short_term_capacity=1)) as memory:
        memory.add_many(turns)
        memory.wait()
        said = [turn for page in memory.pages.list() for turn in page.payload.turns]
        assert [(turn.text, turn.speaker) for turn in said] == [(turn.text, turn.speaker) for turn in turns]
        sequences = [event.sequence for event in memory.log.events()]
        assert sequences == sorted(sequences)
    assert stores.verify(place).is_sound


def test_the_statement_takes_a_list_for_each_column():
    one = statements._insertion_of_new("postgresql", tables.links)
    text, names = whole_lists.insertion(tables.links, one)
    assert names == ("tenant", "source", "kind", "target")
    assert "SELECT * FROM unnest(%(tenant)b::text[]," in text
    assert text.endswith("DO NOTHING") and "VALUES" not in text
    numbers, columns = whole_lists.insertion(tables.events, statements._insertion("postgresql", tables.events))
    assert "sequence" not in columns and "%(at)b::bigint[]" in numbers
