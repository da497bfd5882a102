"""Stretches: new pages that follow each other in a dialogue chain, and what a model writes of the chain up to them.

That is the chain's meta (MemoryOS paper, equation 1), brought up to date: the model is shown the meta of the page
before the stretch, and the stretch. Its words go to the stretch's last page and forward, never back. So a page can be
quoted by itself and by those that follow it, and these are described anew when it changes or goes
(`hierarchy.redescribe`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind
from memoryos.operation.hierarchy.mid_term import page_of
from memoryos.operation.hierarchy.redescribe import rewrite_chain


@dataclass(frozen=True, slots=True)
class Stretch:
    """New pages that follow each other in a chain."""

    known: str  #: the meta of the chain before them
    pages: tuple[MemCube, ...]  #: in the order of the chain

    @property
    def last(self) -> str:
        """The page whose meta tells of all of it."""
        return self.pages[-1].id

    @property
    def words(self) -> tuple[str, tuple[str, ...]]:
        """The prompt for a model: the summary so far, and the pages."""
        return self.known, tuple(page.id for page in self.pages)


def stretches(reader: Reader, pages: Sequence[MemCube]) -> list[Stretch]:
    """The stretches of these pages, the longest first.

    A page that continues none and is continued by none of them is left out: its own sentences tell all of it.
    """
    new = {page.id: page for page in pages if page.kind is Kind.PAGE}
    previous = {link.source: link.target for link in reader.targets(new, LinkKind.CHAIN)}
    following = {target: source for source, target in previous.items()}
    before = reader.get(target for target in previous.values() if target not in new)
    found = []
    for first in (page for page in new if previous.get(page) not in new):
        earlier = before.get(previous.get(first, ""))
        known = page_of(earlier).chain_summary if earlier else ""
        found.append(Stretch(known, tuple(new[page] for page in _from(first, following))))
    return sorted((one for one in found if one.known or len(one.pages) > 1), key=lambda one: -len(one.pages))


def have_changed(reader: Reader, seen: Sequence[Stretch]) -> bool:
    """Whether a model was shown other words than the chains have now: a page was corrected or deleted."""
    pages = [page for one in seen for page in one.pages]
    return {one.words for one in stretches(reader, pages)} != {one.words for one in seen}


def write_metas(writer: Writer, seen: Sequence[Stretch], metas: Mapping[str, str]) -> None:
    """Give the chains the meta that a model wrote, by the last page of the stretch; others keep the one they have."""
    for page in (one.last for one in seen if one.last in metas):
        rewrite_chain(writer, page, metas[page])


def _from(first: str, following: Mapping[str, str]) -> Iterator[str]:
    page: str | None = first
    while page is not None:
        yield page
        page = following.get(page)
