from __future__ import annotations

import pytest

from memoryos.cube import Fact, Kind, Subject, Tier
from memoryos.infrastructure.vault.contract import Entry, Operation
from memoryos.scope import Scope

ALICE = Scope(user="alice")
HOSTILE = [
    'AND "x" NEAR(',
    "AND",
    "OR NOT",
    "NEAR(a b, 2)",
    '"',
    '""',
    "terms:bees",
    "terms : {bees}",
    "bees*",
    "^bees",
    "-bees",
    "(",
    "%",
    "_",
    "';DROP TABLE cubes;--",
    "🐝",
    "a" * 5_000,
    "",
    " ",
    "\\",
]


def find(reader, *terms, kind=Kind.PAGE, tiers=tuple(Tier), limit=10):
    return reader.find_terms(terms, kind=kind, tiers=tiers, limit=limit)


@pytest.fixture
def insert(vault, page):
    """insert(id, *terms): a page that is found by exactly these terms."""

    def make(name, *terms, **fields):
        with vault.write(ALICE) as writer:
            writer.insert([Entry(page(id=name, **fields), terms=terms)])

    return make


def test_a_cube_is_found_by_any_of_its_terms(vault, insert):
    insert("garden", "bee", "honey")
    with vault.read(ALICE) as reader:
        assert set(find(reader, "honey", "car")) == {"garden"}
        assert find(reader, "car") == {}


def test_more_and_rarer_terms_rank_higher(vault, insert):
    insert("both", "bee", "honey")
    insert("rare", "honey", "wasp")
    for index in range(5):
        insert(f"common-{index}", "bee", "wasp")
    with vault.read(ALICE) as reader:
        scores = find(reader, "bee", "honey")
    assert list(scores)[:2] == ["both", "rare"]
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


def test_the_limit_keeps_the_best(vault, insert):
    insert("weak", "honey", *["filler"] * 50)
    insert("strong", "honey", "honey")
    with vault.read(ALICE) as reader:
        assert list(find(reader, "honey", limit=1)) == ["strong"]


def test_the_limit_counts_only_what_is_asked_for(vault, insert):
    for index in range(5):
        insert(f"archived-{index}", "honey", "honey", tier=Tier.ARCHIVE)
    insert("wanted", "honey", *["filler"] * 50, tier=Tier.MTM)
    with vault.read(ALICE) as reader:
        assert list(find(reader, "honey", tiers=[Tier.MTM], limit=1)) == ["wanted"]


def test_kind_is_respected(vault, insert, cube):
    insert("page", "tea")
    with vault.write(ALICE) as writer:
        fact = cube(Fact(subject=Subject.USER, text="likes tea"), id="fact", tier=Tier.LPM)
        writer.insert([Entry(fact, terms=["tea"])])
        assert set(find(writer, "tea", kind=Kind.FACT)) == {"fact"}
        assert set(find(writer, "tea", kind=Kind.PAGE)) == {"page"}


def test_new_terms_replace_the_old_ones(vault, store):
    stored = store("bees")
    with vault.write(ALICE) as writer:
        writer.update([Entry(stored.cube, terms=["wasp"])], Operation.REVISE)
        assert find(writer, *stored.terms) == {}
        assert set(find(writer, "wasp")) == {stored.cube.id}


def test_an_update_without_terms_keeps_them(vault, store):
    stored = store("bees")
    with vault.write(ALICE) as writer:
        writer.update([Entry(stored.cube.moved(Tier.MTM))], Operation.MOVE)
        assert set(find(writer, *stored.terms, tiers=[Tier.MTM])) == {stored.cube.id}


def test_a_cube_may_have_no_terms_at_all(vault, insert):
    insert("silent")
    with vault.write(ALICE) as writer:
        assert set(writer.get(["silent"])) == {"silent"}
        writer.delete(["silent"])
        assert writer.get(["silent"]) == {}


@pytest.mark.parametrize("term", ["东京", "café", "éclair", "snake_case", "3d", "привет"])
def test_a_term_is_found_as_it_was_given(vault, insert, term):
    insert("there", term)
    insert("other", "cafe", "eclair", "snake", "case")
    with vault.read(ALICE) as reader:
        assert set(find(reader, term)) == {"there"}


@pytest.mark.parametrize("term", HOSTILE)
def test_a_term_is_never_query_syntax(vault, insert, term):
    insert("plain", "honey")
    with vault.read(ALICE) as reader:
        assert find(reader, term) == {}
        assert set(find(reader, term, "honey")) == {"plain"}


@pytest.mark.parametrize("term", HOSTILE)
def test_a_hostile_term_can_be_stored(vault, insert, term):
    insert("odd", term, "honey")
    with vault.read(ALICE) as reader:
        assert set(find(reader, "honey")) == {"odd"}
