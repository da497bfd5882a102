"""Passages: the turns of a page as search knows them; and the sequence of the log that it follows."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from memoryos.cube import Fact, Governance, Lifespan
from memoryos.infrastructure.vault import statements
from memoryos.infrastructure.vault.records import UNMARKED, Entry, Extent, Facet, Mark, Operation, Passage
from memoryos.kinds import State, Subject, Tier
from memoryos.scope import Scope

ALICE = Scope(user="alice")
STRANGERS = [
    replace(ALICE, tenant="acme"),
    replace(ALICE, user="bob"),
    replace(ALICE, agent="coder"),
    replace(ALICE, namespace=("shared",)),
]
HOSTILE = [
    'AND"x"NEAR(',
    '"',
    '""',
    "words:bees",
    "bees*",
    "-bees",
    "(",
    "%",
    "_",
    "';DROP-TABLE-cubes;--",
    "\\",
    ":name",
    "?",
    "🐝",
    "👩‍👩‍👧",
    "记忆",
    "東京",
    "café",
    "привет",
    "\u202emirrored",
    "a" * 5_000,
]


@pytest.fixture
def passage(clock):
    """passage(word, ...): a passage found under these words."""

    def make(*words, vector=(1.0, 0.0), said_at=None, speaker=None, marks=UNMARKED):
        return Passage(np.array(vector, np.float32), words, said_at or clock(), speaker, marks)

    return make


@pytest.fixture
def insert(vault, page):
    """insert(id, passage, ...): a page with exactly these passages; returns its cube."""

    def make(name, *passages, **fields):
        cube = page(id=name, **fields)
        with vault.write(cube.scope) as writer:
            writer.insert([Entry(cube, passages=passages or None)])
        return cube

    return make


def passages(vault, *pages, scope=ALICE):
    with vault.read(scope) as reader:
        return list(reader.passages(pages or None))


def places(found):
    return [(one.page, one.part) for one in found]


def test_a_passage_comes_back_as_it_was_stored(vault, insert, passage):
    said_at = datetime(2023, 5, 8, 13, 56, 7, 890123, UTC)
    told = passage("bees", "bees", "honey", said_at=said_at, speaker="Ann", marks=Mark.ASKS | Mark.BY_USER)
    insert("page", told, scope=replace(ALICE, session="monday"), tier=Tier.MTM)
    (found,) = passages(vault)
    assert (found.page, found.part, found.tier, found.session) == ("page", 1, Tier.MTM.value, "monday")
    assert found.words == "bees bees honey"
    assert (found.speaker, Mark(found.marks)) == ("Ann", Mark.ASKS | Mark.BY_USER)
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found.said_at) == said_at


@pytest.mark.parametrize("tags", [(), ("work",), ("work", "a b", "蜂蜜", 'quo"te')])
def test_a_passage_comes_with_the_tags_of_its_page(vault, page, passage, tags):
    cube = page(id="page")
    tagged = replace(cube, descriptive=replace(cube.descriptive, tags=tags))
    with vault.write(ALICE) as writer:
        writer.insert([Entry(tagged, passages=[passage("bees")])])
    (found,) = passages(vault)
    assert json.loads(found.tags or "[]") == list(tags)
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube)], Operation.MOVE)
    assert passages(vault)[0].tags is None


def test_a_passage_comes_with_the_end_of_its_page(vault, insert, passage, clock):
    cube = insert("page", passage("bees"))
    ends = replace(cube, governance=Governance(lifespan=Lifespan(expires_at=clock())))
    seen = [passages(vault)[0].expires_at]
    for changed in (ends, replace(ends, state=State.EXPIRED), replace(cube, state=State.EXPIRED)):
        with vault.write(ALICE) as writer:
            writer.update([Entry(changed)], Operation.MOVE)
        seen.append(passages(vault)[0].expires_at)
    assert seen == [None, int(clock().timestamp()) * 10**6, 0, 0]


def test_a_moment_is_the_same_in_any_zone(vault, insert, passage):
    moment = datetime(2023, 5, 8, 1, tzinfo=UTC)
    for hours in (-11, 0, 14):
        insert(f"page{hours}", passage(said_at=moment.astimezone(timezone(timedelta(hours=hours)))))
    assert len({found.said_at for found in passages(vault)}) == 1


def test_a_passage_may_have_no_speaker_no_session_no_mark_and_no_word(vault, insert, passage):
    insert("page", passage())
    (found,) = passages(vault)
    assert (found.session, found.speaker, found.marks, found.words) == (None, None, 0, "")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_word_and_a_speaker_are_opaque(vault, insert, passage, text):
    insert("odd", passage(text, "honey", speaker=text))
    insert("plain", passage("honey"))
    odd, plain = passages(vault)
    assert (odd.words.split(" "), odd.speaker) == ([text, "honey"], text)
    assert plain.words == "honey"


def test_a_passage_tells_where_it_lies_in_its_page(vault, insert, passage):
    extents = [Extent(0, 0, 700), Extent(0, 702, 1_400), Extent(1, 0, 12)]
    insert("page", *(replace(passage("bees"), extent=extent) for extent in extents))
    assert [one.extent for one in passages(vault)] == extents


def test_a_passage_without_an_extent_is_the_turn_of_its_number(vault, insert, passage):
    insert("page", passage("bees"), passage("honey"))
    assert [(one.turn, one.extent) for one in passages(vault)] == [(None, Extent(0)), (None, Extent(1))]


def test_the_passages_of_a_long_page_all_have_its_tier(vault, insert, passage):
    insert("long", *(passage(f"w{number}") for number in range(40)), tier=Tier.MTM)
    insert("bare", tier=Tier.ARCHIVE)
    insert("next", passage("bees"))
    told = [*[Tier.MTM.value] * 40, Tier.ARCHIVE.value, Tier.STM.value]
    assert [one.tier for one in passages(vault)] == told
    assert [one.tier for one in passages(vault, "long", "bare", "next")] == told


@pytest.mark.parametrize("count", [1, 49, 50, 51, 101])
def test_however_many_passages_come_back_as_they_were_stored_and_replaced(vault, insert, passage, count):
    cube = insert("long", *(passage(f"w{number}") for number in range(count)))
    assert [one.words for one in passages(vault)] == [f"w{number}" for number in range(count)]
    told = [passage(f"x{number}") for number in range(count)]
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube, passages=told)], Operation.REFRESH)
    assert [one.words for one in passages(vault)] == [f"x{number}" for number in range(count)]


@pytest.mark.file
def test_many_passages_are_written_with_few_statements(vault, insert, passage):
    """With one for each, an update of a page of a million characters took 34 to 60 ms of CPU under the lock."""
    cube = insert("long", passage("w"))
    said = list[str]()
    with vault.write(ALICE) as writer:
        driver = writer._connection.connection.dbapi_connection
        driver.set_trace_callback(said.append)
        writer.update([Entry(cube, passages=[passage(f"x{number}") for number in range(500)])], Operation.REFRESH)
        driver.set_trace_callback(None)
    assert len([one for one in said if one.startswith("INSERT INTO passages")]) < 20


def test_the_facets_of_pages_are_what_their_passages_tell(vault, insert, passage):
    insert("one", passage("bees"), passage("honey"), tier=Tier.MTM)
    insert("two", passage("wasp"))
    insert("bare")
    told = {one.page: Facet(one.tier, one.tags, one.expires_at, one.segment) for one in passages(vault)}
    with vault.read(ALICE) as reader:
        assert reader.facets(["one", "bare", "nobody"]) == {page: told[page] for page in ("one", "bare")}
        assert reader.facets([]) == {}


def test_a_vector_is_rounded_to_half_precision_and_no_further(vault, insert, passage, hashing):
    told = hashing.embed(["bees in 杭州 🐝", "wasps"])
    insert("page", *(passage(vector=vector) for vector in told))
    for vector, found in zip(told, passages(vault), strict=True):
        stored = np.frombuffer(found.vector, "<f2")
        assert np.array_equal(stored, vector.astype(np.float16))
        assert np.allclose(stored, vector, rtol=2**-11, atol=2**-24)


def test_a_slice_or_a_wider_type_is_stored_by_its_values(vault, insert, clock):
    insert("page", Passage(np.arange(8, dtype=np.float64)[::2], ["bees"], clock()))
    (found,) = passages(vault)
    assert np.frombuffer(found.vector, "<f2").tolist() == [0.0, 2.0, 4.0, 6.0]


def test_passages_come_by_position_and_part(vault, page, passage):
    # The ids sort the other way round.
    names = [f"id-{99 - index:02d}" for index in range(40)]
    with vault.write(ALICE) as writer:
        for start in range(0, 40, 7):
            chunk = names[start : start + 7]
            writer.insert([Entry(page(id=name), passages=[passage(name), passage("second")]) for name in chunk])
    found = passages(vault)
    assert places(found) == [(name, part) for name in names for part in (1, 2)]
    positions = [one.position for one in found]
    assert positions == sorted(positions)
    assert len(set(positions)) == len(names)


def test_more_than_nine_parts_keep_their_order(vault, insert, passage):
    insert("page", *(passage(f"w{number}") for number in range(1, 21)))
    assert [(one.part, one.words) for one in passages(vault)] == [(number, f"w{number}") for number in range(1, 21)]


def test_a_page_without_passages_gives_one_row(vault, insert, passage, clock):
    insert("before", passage("bees"))
    insert("bare", tier=Tier.MTM, scope=replace(ALICE, session="monday"))
    insert("after", passage("bees"))
    found = passages(vault)
    assert places(found) == [("before", 1), ("bare", 0), ("after", 1)]
    assert (found[1].tier, found[1].words, found[1].speaker) == (Tier.MTM.value, "", None)


def test_only_pages_have_passages(vault, insert, cube, passage):
    insert("page", passage("bees"))
    with vault.write(ALICE) as writer:
        writer.insert([Entry(cube(Fact(subject=Subject.USER, text="keeps bees"), id="fact", tier=Tier.LPM))])
    assert places(passages(vault)) == [("page", 1)]
    assert passages(vault, "fact") == []


def test_the_pages_asked_for_and_no_others(vault, insert, passage):
    for name in ("one", "two", "three"):
        insert(name, passage(name))
    insert("bare")
    assert places(passages(vault, "three", "one", "nobody", "one", "bare")) == [("one", 1), ("three", 1), ("bare", 0)]
    with vault.read(ALICE) as reader:
        assert list(reader.passages([])) == []


def test_more_rows_than_are_held_at_once_all_come(vault, page, passage, monkeypatch):
    monkeypatch.setattr(statements, "_ROWS_AT_ONCE", 100)
    with vault.write(ALICE) as writer:
        writer.insert([Entry(page(id=f"{index:04d}"), passages=[passage(str(index))]) for index in range(250)])
    assert [one.words for one in passages(vault)] == [str(index) for index in range(250)]


def test_new_passages_replace_the_old_ones(vault, insert, passage):
    cube = insert("page", passage("bees"), passage("honey"))
    insert("other", passage("bees"))
    for fresh in ([passage("wasp")], [passage("wasp"), passage("nest"), passage("sting")]):
        with vault.write(ALICE) as writer:
            writer.update([Entry(cube, passages=fresh)], Operation.REFRESH)
        found = passages(vault)
        assert [(one.page, one.words) for one in found] == [
            *(("page", " ".join(one.words)) for one in fresh),
            ("other", "bees"),
        ]


@pytest.mark.file
def test_passages_are_replaced_where_they_stand(vault, insert, passage):
    """Each was removed and stored anew, which for a page of 1,000,000 characters took as long again under the lock."""
    cube = insert("page", *(passage("bees") for _ in range(100)))
    before = vault._changed_rows()
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube, passages=[passage("wasps") for _ in range(90)])], Operation.REFRESH)
    assert [one.words for one in passages(vault)] == ["wasps"] * 90
    assert vault._changed_rows() - before < 110


def test_passages_can_be_taken_away(vault, insert, passage):
    cube = insert("page", passage("bees"))
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube, passages=[])], Operation.REFRESH)
    assert places(passages(vault)) == [("page", 0)]


def test_passages_can_be_given_later(vault, insert, passage):
    cube = insert("page")
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube, passages=[passage("bees")])], Operation.REFRESH)
    assert [(one.part, one.words) for one in passages(vault)] == [(1, "bees")]


def test_an_update_without_passages_keeps_them_and_they_follow_the_page(vault, insert, passage):
    cube = insert("page", passage("bees"))
    with vault.write(ALICE) as writer:
        writer.update([Entry(cube.moved(Tier.ARCHIVE))], Operation.MOVE)
    assert [(one.words, one.tier) for one in passages(vault)] == [("bees", Tier.ARCHIVE.value)]


def test_an_update_keeps_the_position(vault, insert, passage):
    first = insert("first", passage("bees"))
    insert("second", passage("honey"))
    before = [one.position for one in passages(vault)]
    with vault.write(ALICE) as writer:
        writer.update([Entry(first, passages=[passage("wasp")])], Operation.REVISE)
    assert [one.position for one in passages(vault)] == before


def test_passages_go_with_their_page(vault, insert, passage):
    insert("doomed", passage("bees"), passage("honey"))
    insert("other", passage("wasp"))
    with vault.write(ALICE) as writer:
        writer.delete(["doomed"])
        assert places(writer.passages()) == [("other", 1)]
    assert passages(vault, "doomed") == []


@pytest.mark.parametrize("stranger", STRANGERS, ids=["tenant", "user", "agent", "namespace"])
def test_a_stranger_sees_none_of_them(vault, insert, passage, stranger):
    insert("secret", passage("bees"))
    insert("theirs", passage("wasp"), scope=stranger)
    assert places(passages(vault, scope=stranger)) == [("theirs", 1)]
    assert passages(vault, "secret", scope=stranger) == []
    assert places(passages(vault)) == [("secret", 1)]


def test_tenants_with_the_same_page_id_keep_their_own(vault, insert, passage):
    acme = replace(ALICE, tenant="acme")
    mine, theirs = insert("same", passage("bees")), insert("same", passage("wasp"), passage("nest"), scope=acme)
    with vault.write(ALICE) as writer:
        writer.update([Entry(mine, passages=[passage("honey")])], Operation.REVISE)
    assert [one.words for one in passages(vault)] == ["honey"]
    assert [one.words for one in passages(vault, scope=theirs.scope)] == ["wasp", "nest"]
    with vault.write(ALICE) as writer:
        writer.delete(["same"])
    assert [one.words for one in passages(vault, scope=theirs.scope)] == ["wasp", "nest"]


# The sequence


def test_the_sequence_is_that_of_the_latest_event(vault, insert, passage):
    with vault.read(ALICE) as reader:
        assert reader.sequence() == 0
    cube = insert("page", passage("bees"))
    seen = []
    for change in (
        lambda writer: writer.update([Entry(cube)], Operation.MOVE),
        lambda writer: writer.update([Entry(cube)], Operation.VISIT),
        lambda writer: writer.delete(["page"]),
    ):
        with vault.write(ALICE) as writer:
            seen.append(writer.sequence())
            change(writer)
        with vault.read(ALICE) as reader:
            assert reader.sequence() == reader.events()[-1].sequence
            seen.append(reader.sequence())
    assert seen[1::2] == seen[2::2] + seen[-1:]
    assert len(set(seen)) == 4
    assert seen == sorted(seen)


def test_the_sequence_outlives_all_that_was_deleted(vault, insert):
    insert("page")
    with vault.write(ALICE) as writer:
        before = writer.sequence()
        writer.delete(["page"])
        assert writer.sequence() > before


@pytest.mark.parametrize("stranger", STRANGERS, ids=["tenant", "user", "agent", "namespace"])
def test_what_others_do_does_not_move_the_sequence(vault, insert, stranger):
    insert("mine")
    with vault.read(ALICE) as reader:
        before = reader.sequence()
    insert("theirs", scope=stranger)
    with vault.read(ALICE) as reader:
        assert reader.sequence() == before
    with vault.read(stranger) as reader:
        assert reader.sequence() > before


def test_who_stops_reading_halfway_may_let_go_when_the_store_is_closed(vault, store):
    pages = [store(f"page {number}").cube.id for number in range(3)]
    with vault.read(Scope(user="alice")) as reader:
        passages = reader.passages(pages)
        next(passages)
    vault.close()
    del passages  # a cursor that it closed now would complain, to nobody: pytest makes that an error
    gc.collect()
