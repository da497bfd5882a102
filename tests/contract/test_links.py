from __future__ import annotations

import pytest

from memoryos.cube import Kind
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.contract import Entry, Link, LinkKind
from memoryos.scope import Scope

ALICE = Scope(user="alice")


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
