"""An update in the mode "merge": what a memory does not say yet is added; of a fact, the later value counts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import MemoryOS
from memoryos.caller import Caller
from memoryos.errors import CubeProtected, InvalidInput, PermissionDenied, PrivacyRefused, StaleVersion
from memoryos.kinds import Kind
from memoryos.models.hashing import Hashing

DAY = timedelta(days=1)


def said(memory, cube_id):
    """The words of a memory without speakers and names of fields."""
    payload = memory.get(cube_id).payload
    return payload.turns[-1].text if payload.type is Kind.PAGE else getattr(payload, "value", payload.text)


def test_a_page_gets_the_lines_that_it_does_not_have(open_memory):
    memory = open_memory()
    page = memory.add("Buy milk.\nCall Ann.")
    memory.update(page, "call ann\n\n  Buy bread. \nbuy bread", mode="merge")
    assert said(memory, page) == "Buy milk.\nCall Ann.\nBuy bread."
    assert [hit.id for hit in memory.search("bread").hits] == [page]
    assert [one.version.number for one in memory.history(page)] == [1, 2]


@pytest.mark.parametrize("expected", [None, 1])
def test_what_adds_nothing_makes_no_version(open_memory, expected):
    memory = open_memory()
    page, fact = memory.add("Buy milk."), memory.facts.add("lives in Rome")
    for one, words in ((page, "buy milk"), (fact, "lives in rome")):
        assert memory.update(one, words, mode="merge", expected_version=expected).version.number == 1
        assert len(memory.history(one)) == 1


@pytest.mark.parametrize("mode", ["overwrite", "merge"])
def test_the_text_of_a_page_as_it_was_read_keeps_its_turns(open_memory, mode):
    memory = open_memory()
    page, field = memory.add("Buy milk.", "Fine."), memory.profile.set("name", "Ann")
    for one in (page, field):
        before = memory.get(one)
        assert memory.update(one, before.text, mode=mode) == before
        after = memory.update(one, before.text, mode=mode, tags=["shop"], metadata={"by": "ann"})
        assert (after.payload, after.tags, after.version.number) == (before.payload, ("shop",), 2)


def test_tags_and_metadata_are_added_without_a_text(open_memory):
    memory = open_memory()
    page, fact = memory.add("Buy milk.", "Fine.", tags=["home"]), memory.facts.add("lives in Rome")
    for one, known in ((page, ("home",)), (fact, ())):
        before = memory.get(one)
        after = memory.update(one, tags=["shop"], metadata={"by": "ann"}, expected_version=1)
        assert (after.payload, after.tags, after.metadata) == (before.payload, (*known, "shop"), {"by": "ann"})
        assert memory.update(one, tags=["shop"]) == after
        with pytest.raises(StaleVersion):
            memory.update(one, tags=["late"], expected_version=1)
    assert {hit.id for hit in memory.tagged("shop")} == {page, fact}
    with pytest.raises(InvalidInput, match=r"text: is missing.*Pass"):
        memory.update(page)


def test_a_fact_takes_the_value_that_was_said_later(open_memory, clock):
    memory = open_memory()
    fact = memory.facts.add("lives in Rome")
    said_at = clock()
    clock.advance(seconds=8)
    assert memory.update(fact, "works as a baker", mode="merge", at=said_at - DAY).version.number == 1
    assert said(memory, fact) == "lives in Rome"
    for seconds, city in ((1, "Oslo"), (3, "Bergen"), (2, "Turku")):
        memory.update(fact, f"lives in {city}", mode="merge", at=said_at + timedelta(seconds=seconds))
    assert said(memory, fact) == "lives in Bergen"
    memory.update(fact, "lives in Paris")
    memory.update(fact, "lives in Lyon", mode="merge", at=said_at + timedelta(seconds=4))
    assert said(memory, fact) == "lives in Paris"
    memory.update(fact, "lives in Lyon", mode="merge")
    assert said(memory, fact) == "lives in Lyon"


def test_another_wording_of_a_fact_is_kept_beside_it_whenever_it_was_said(open_memory, clock):
    memory = open_memory()
    fact = memory.facts.add("likes to cook Thai food at home")
    memory.update(fact, "likes to cook Thai food", mode="merge", at=clock() - DAY)
    known = memory.get(fact).payload
    assert (known.text, known.wordings) == ("likes to cook Thai food at home", ("likes to cook Thai food",))


def test_a_profile_field_has_one_value(open_memory, clock):
    memory = open_memory()
    field = memory.profile.set("motto", "carpe diem")
    memory.update(field, "festina lente", mode="merge", at=clock() - DAY)
    assert said(memory, field) == "carpe diem"
    memory.update(field, "festina lente", mode="merge")
    assert said(memory, field) == "festina lente"


@pytest.mark.parametrize("mode", ["overwrite", "append", "merge"])
def test_labels_join_those_of_the_memory_in_every_mode(open_memory, mode):
    memory = open_memory()
    page = memory.add("Buy milk.", tags=["home"], metadata={"by": "tom", "shop": "a"})
    memory.update(page, "Buy milk.", mode=mode, tags=["shopping", "home"], metadata={"shop": "b"})
    cube = memory.get(page)
    assert (cube.tags, cube.metadata, cube.version.number) == (("home", "shopping"), {"by": "tom", "shop": "b"}, 2)
    assert [hit.id for hit in memory.tagged("shopping")] == [page]


@pytest.mark.parametrize("mode", ["overwrite", "append", "merge"])
def test_an_expected_version_is_compared_in_every_mode(open_memory, mode):
    memory = open_memory()
    page = memory.add("Buy milk.")
    memory.update(page, "Buy bread.", mode=mode, expected_version=1)
    with pytest.raises(StaleVersion):
        memory.update(page, "Buy milk.", mode=mode, expected_version=1)
    assert memory.get(page).version.number == 2


@pytest.mark.once
def test_a_merge_is_refused_as_other_updates_are(open_memory):
    memory = open_memory(privacy_on_write="refuse", max_text_chars=1_000)
    page = memory.add("x" * 600)
    with pytest.raises(InvalidInput, match="text: has 1,201 characters"):
        memory.update(page, "y" * 600, mode="merge")
    with pytest.raises(PrivacyRefused):
        memory.update(page, "a.b@mailbox.org", mode="merge")
    with pytest.raises(PrivacyRefused):
        memory.update(page, "y", mode="merge", metadata={"mail": "a.b@mailbox.org"})
    with pytest.raises(InvalidInput, match="at: has no meaning with the mode 'append'"):
        memory.update(page, "y", mode="append", at="2020-01-01")
    memory.governance.freeze(page)
    with pytest.raises(CubeProtected):
        memory.update(page, "y", mode="merge")
    assert said(memory, page) == "x" * 600


@pytest.mark.once
def test_a_caller_adds_only_labels_with_which_it_may_store(place, tmp_path, clock):
    policy = tmp_path / "policies.cedar"
    policy.write_text(
        "permit(principal, action, resource);\n"
        'forbid(principal == User::"clerk", action == Action::"write", resource)'
        ' when { resource.tags.contains("public") };\n'
    )
    with MemoryOS.open(place, embedder=Hashing(), clock=clock, policies=policy) as store:
        page = store.memory("tom").add("Buy milk.")
        clerk = store.memory("tom", caller=Caller("clerk"))
        clerk.update(page, "Buy bread.", mode="merge", tags=["home"])
        with pytest.raises(PermissionDenied):
            clerk.update(page, "Buy tea.", mode="merge", tags=["public"])
        assert store.memory("tom").get(page).tags == ("home",)
