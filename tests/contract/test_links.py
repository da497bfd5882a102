from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memoryos.cube import Fact
from memoryos.errors import StorageError
from memoryos.infrastructure.vault import statements
from memoryos.infrastructure.vault.records import RESTING, Entry, Link, LinkKind
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.lifecycle import CubeMark
from memoryos.scope import Scope

ALICE = Scope(user="alice")
PROPOSED = (None, CubeMark.PROPOSED, None)


@pytest.fixture
def pages(store):
    return [store(id=name).cube.id for name in ("zoe", "mia", "ann")]


def test_links_are_found_from_both_ends(vault, pages):
    zoe, mia, _ = pages
    link = Link(zoe, LinkKind.CHAIN, mia)
    with vault.write(ALICE) as writer:
        writer.link([link])
    with vault.read(ALICE) as reader:
        assert reader.targets([zoe], LinkKind.CHAIN) == [link]
        assert reader.sources([mia], LinkKind.CHAIN) == [link]
        assert reader.targets([mia], LinkKind.CHAIN) == []


def test_kinds_are_kept_apart(vault, pages):
    zoe, mia, _ = pages
    with vault.write(ALICE) as writer:
        writer.link([Link(zoe, LinkKind.CHAIN, mia), Link(zoe, LinkKind.SUPERSEDES, mia)])
        assert writer.targets([zoe], LinkKind.SUPERSEDES) == [Link(zoe, LinkKind.SUPERSEDES, mia)]
        assert writer.targets([zoe], LinkKind.MENTIONS) == []


def test_members_come_in_the_order_in_which_the_pages_were_inserted(vault, store, pages):
    segment = store().cube.id
    with vault.write(ALICE) as writer:
        for name in reversed(pages):
            writer.link([Link(name, LinkKind.MEMBER_OF, segment)])
        assert [link.source for link in writer.sources([segment], LinkKind.MEMBER_OF)] == pages


def test_the_pages_of_a_segment_that_were_not_extracted_are_unread(vault, store, pages):
    segment, other = store().cube.id, store().cube.id
    elsewhere = store(id="eve").cube.id
    zoe, mia, ann = pages
    with vault.write(ALICE) as writer:
        writer.link([Link(page, LinkKind.MEMBER_OF, segment) for page in reversed(pages)])
        writer.link([Link(elsewhere, LinkKind.MEMBER_OF, other), Link(zoe, LinkKind.READ, zoe)])
        assert writer.unread(segment) == pages
        writer.link([Link(mia, LinkKind.EXTRACTED, mia)])
        assert writer.unread(segment) == [zoe, ann]
    with vault.read(ALICE) as reader:
        assert reader.unread(other) == [elsewhere]
        assert reader.unread("nobody") == []
    with vault.read(Scope(user="bob")) as reader:
        assert reader.unread(segment) == []


def test_a_repeated_link_is_ignored(vault, pages):
    zoe, mia, ann = pages
    link = Link(zoe, LinkKind.MEMBER_OF, mia)
    with vault.write(ALICE) as writer:
        writer.link([link])
        writer.link([link, Link(zoe, LinkKind.CHAIN, ann)])
        assert writer.targets([zoe], LinkKind.MEMBER_OF) == [link]
        assert len(writer.targets([zoe], LinkKind.CHAIN)) == 1


def test_a_second_membership_of_a_page_is_refused(vault, pages):
    zoe, mia, ann = pages
    with vault.write(ALICE) as writer:
        writer.link([Link(zoe, LinkKind.MEMBER_OF, mia)])
    with pytest.raises(StorageError), vault.write(ALICE) as writer:
        writer.link([Link(zoe, LinkKind.MEMBER_OF, ann)])
    with vault.read(ALICE) as reader:
        assert reader.targets([zoe], LinkKind.MEMBER_OF) == [Link(zoe, LinkKind.MEMBER_OF, mia)]


def test_only_membership_is_limited_to_one(vault, pages):
    zoe, mia, ann = pages
    with vault.write(ALICE) as writer:
        writer.link([Link(zoe, LinkKind.DERIVED_FROM, mia), Link(zoe, LinkKind.DERIVED_FROM, ann)])
        assert len(writer.targets([zoe], LinkKind.DERIVED_FROM)) == 2


def test_a_page_can_move_to_another_segment(vault, pages):
    zoe, mia, ann = pages
    with vault.write(ALICE) as writer:
        writer.link([Link(zoe, LinkKind.MEMBER_OF, mia)])
        writer.unlink([Link(zoe, LinkKind.MEMBER_OF, mia)])
        writer.link([Link(zoe, LinkKind.MEMBER_OF, ann)])
        assert writer.targets([zoe], LinkKind.MEMBER_OF) == [Link(zoe, LinkKind.MEMBER_OF, ann)]


def test_unlinking_what_is_not_linked_is_harmless(vault, pages):
    zoe, mia, ann = pages
    kept = Link(zoe, LinkKind.CHAIN, mia)
    with vault.write(ALICE) as writer:
        writer.link([kept])
        writer.unlink(
            [Link(zoe, LinkKind.CHAIN, ann), Link(mia, LinkKind.CHAIN, zoe), Link(zoe, LinkKind.MENTIONS, mia)]
        )
        assert writer.targets([zoe], LinkKind.CHAIN) == [kept]


def test_those_of_merged_cubes_are_found_alone(vault, page):
    made = [replace(page(id=f"page-{state}"), state=state) for state in State]
    with vault.write(ALICE) as writer:
        writer.insert([Entry(cube) for cube in made])
        writer.link([Link(cube.id, LinkKind.DERIVED_FROM, made[0].id) for cube in made[1:]])
    with vault.read(ALICE) as reader:
        assert len(reader.sources([made[0].id], LinkKind.DERIVED_FROM)) == len(made) - 1
        found = reader.sources([made[0].id], LinkKind.DERIVED_FROM, merged=True)
    assert [link.source for link in found] == [f"page-{State.MERGED}"]


@pytest.mark.parametrize("link", [Link("zoe", LinkKind.CHAIN, "nobody"), Link("nobody", LinkKind.CHAIN, "zoe")])
def test_a_link_needs_both_its_cubes(vault, pages, link):
    with pytest.raises(StorageError), vault.write(ALICE) as writer:
        writer.link([link])
    with vault.read(ALICE) as reader:
        assert reader.targets(["zoe", "nobody"], LinkKind.CHAIN) == []


def test_thousands_of_links_fit_into_one_call(vault, page):
    made = [page(id=f"page-{index}") for index in range(80)]
    ids, absent = [cube.id for cube in made], [f"absent-{index}" for index in range(6_000)]
    links = {Link(source, LinkKind.DERIVED_FROM, target) for source in ids for target in ids}
    with vault.write(ALICE) as writer:
        writer.insert([Entry(cube) for cube in made])
        writer.link(list(links))
        for found in (
            writer.targets([*absent, *ids], LinkKind.DERIVED_FROM),
            writer.sources([*absent, *ids], LinkKind.DERIVED_FROM),
        ):
            assert len(found) == len(links)
            assert set(found) == links
        writer.unlink(list(links))
        assert writer.sources(ids, LinkKind.DERIVED_FROM) == []
        assert writer.census().of(Kind.PAGE) == len(made)


def test_of_the_links_of_a_memory_those_go_that_are_told(vault, page):
    made = [page(id=f"page-{index}") for index in range(130)]
    first, second, *others = [cube.id for cube in made]
    links = [Link(one, kind, other) for one in (first, second) for kind in RESTING for other in others]
    going = [link for link in links if link.source == first and link.kind is LinkKind.DERIVED_FROM][:100]
    with vault.write(ALICE) as writer:
        writer.insert([Entry(cube) for cube in made])
        writer.link(links)
        writer.unlink([*going, links[-1], *going[:3], Link(first, LinkKind.DERIVED_FROM, "nobody")])
        left = {link for kind in RESTING for link in writer.targets([first, second], kind)}
    assert left == {*links} - {*going, links[-1]}


def test_a_succession_is_found_from_each_of_its_facts(vault, cube):
    facts = [cube(Fact(subject=Subject.USER, text=f"fact {number}"), tier=Tier.LPM) for number in range(5)]
    first, second, sibling, third, other = [fact.id for fact in facts]
    with vault.write(ALICE) as writer:
        writer.insert([Entry(fact) for fact in facts])
        links = [(second, first), (second, sibling), (third, second)]
        writer.link([Link(source, LinkKind.SUPERSEDES, target) for source, target in links])
        for one in (first, second, sibling, third):
            assert writer.successions([one]) == {first, second, sibling, third}
        assert writer.successions([other]) == {other}
        assert writer.successions([first, other]) == {first, second, sibling, third, other}
        assert writer.successions([]) == set()


def test_a_proposal_joins_no_succession(vault, cube):
    facts = [cube(Fact(subject=Subject.USER, text=f"fact {number}"), tier=Tier.LPM) for number in range(3)]
    known, proposed, other = [replace(fact, mark=mark) for fact, mark in zip(facts, PROPOSED, strict=True)]
    with vault.write(ALICE) as writer:
        writer.insert([Entry(fact) for fact in (known, proposed, other)])
        writer.link([Link(proposed.id, LinkKind.SUPERSEDES, fact.id) for fact in (known, other)])
        assert writer.successions([known.id]) == {known.id}
        assert writer.successions([proposed.id]) == {known.id, proposed.id, other.id}


def test_a_succession_of_somebody_else_is_not_found(vault, cube):
    bob = Scope(user="bob")
    mine, theirs = (cube(Fact(subject=Subject.USER, text="x"), scope=scope) for scope in (ALICE, bob))
    for fact in (mine, theirs):
        with vault.write(fact.scope) as writer:
            writer.insert([Entry(fact)])
    with vault.write(ALICE) as writer:
        writer.link([Link(mine.id, LinkKind.SUPERSEDES, theirs.id)])
        assert writer.successions([mine.id, theirs.id]) == {mine.id}


class Telling:
    """A cursor that notes its parameters."""

    def __init__(self, cursor: Any, told: list[object]) -> None:
        self.cursor, self.told = cursor, told

    def execute(self, text: str, values: object) -> None:
        self.told.append(values)
        self.cursor.execute(text, values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.cursor)


@pytest.mark.file
def test_thousands_of_ids_are_told_to_sqlite_by_their_order(vault, pages, monkeypatch):
    """By their names, it looked for each of them among all: with 5,000 that took more than twice as long."""
    told, cursor = list[object](), statements._cursor
    monkeypatch.setattr(statements, "_cursor", lambda connection: Telling(cursor(connection), told))
    with vault.read(ALICE) as reader:
        assert reader.kinds([f"absent-{index}" for index in range(6_000)] + pages).keys() == {*pages}
    assert len(told) == 2
    assert not any(isinstance(one, dict) for one in told)
