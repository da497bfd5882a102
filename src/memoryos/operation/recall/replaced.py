"""Replaced: facts that no longer hold, because others have come in their place, by the pages that tell them.

A turn is told in its own words, which look as if they still held: "I work as a nurse." So a context says behind such
words until when they held, and what holds now if it has room for that and the caller may see it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from memoryos.cube import Fact, MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import State, Trust
from memoryos.language.calendar import spoken
from memoryos.language.quotation import one_line
from memoryos.operation.recall.trust import outside_mark, trust_of

_STEPS = 3  # from a fact to what holds now
_CLEAR = 2  # lengths of a quote: where more words are told, the note says which of them it is about
_LAST = ".。"


@dataclass(frozen=True, slots=True)
class Replaced:
    """A fact that has given way to another."""

    fact: MemCube  #: what no longer holds
    heir: MemCube | None = None  #: what holds now; None where that is not told

    @property
    def brief(self) -> Replaced:
        """The same without what holds now."""
        return replace(self, heir=None)

    def shown(self, shown: Callable[[MemCube], MemCube]) -> Replaced:
        """The same as the caller may see it."""
        return Replaced(shown(self.fact), shown(self.heir) if self.heir else None)

    @property
    def quote(self) -> str:
        """The words of the turn that it rests on."""
        return self.fact.payload.quote if isinstance(self.fact.payload, Fact) else ""

    @property
    def end(self) -> tuple[datetime | None, str | None]:
        """When it gave way, and to what."""
        return self.fact.descriptive.valid_to, self.fact.version.superseded_by

    def note(self, words: str) -> str:
        """What stands behind these words of a turn."""
        about = "" if len(words) <= _CLEAR * len(self.quote) else f"{one_line(self.fact.text).rstrip(_LAST)}: "
        end = self.fact.descriptive.valid_to
        until = f"until {spoken(end)}" if end else ""
        now = f"; now: {outside_mark(self.heir)}{one_line(self.heir.text).rstrip(_LAST)}" if self.heir else ""
        return f"({about}{until}{now})"


def has_given_way(fact: MemCube, now: datetime) -> bool:
    """Whether another fact has replaced it, and it had ended by then."""
    end = fact.descriptive.valid_to
    return fact.version.superseded_by is not None and not fact.is_withdrawn and end is not None and end <= now


def given_way(reader: Reader, pages: Iterable[str], by: datetime) -> list[MemCube]:
    """The facts derived from these pages that had given way by then."""
    derived = {link.source for link in reader.sources(pages, LinkKind.DERIVED_FROM, merged=True)}
    merged = [one for one, state in reader.states(derived).items() if state is State.MERGED]
    return [fact for fact in reader.get(sorted(merged)).values() if has_given_way(fact, by)]


def replaced_in(
    readers: Sequence[Reader], pages: Collection[str], by: datetime, is_told: Callable[[MemCube], bool]
) -> Iterator[Replaced]:
    """What these pages tell that had given way by then; of what holds instead, only what may be told."""
    for reader in readers:
        facts = given_way(reader, pages, by)
        heirs = _Heirs(_with_heirs(reader, facts), by)
        for fact in facts:
            heir = heirs.of(fact)
            yield Replaced(fact, heir if heir and is_told(heir) else None)


def trusted_only(told: Sequence[Replaced], least: Trust, readers: Sequence[Reader]) -> list[Replaced]:
    """Those that this trust is enough for."""
    known = trust_of(readers, [cube for one in told for cube in (one.fact, one.heir) if cube])
    enough = {cube_id for cube_id, trust in known.items() if trust.level >= least.level}
    return [one for one in told if one.fact.id in enough and (one.heir is None or one.heir.id in enough)]


def by_page(replaced: Iterable[Replaced]) -> Mapping[str, tuple[Replaced, ...]]:
    """Each by the pages that tell it; not by one that tells what holds now, too."""
    found: dict[str, tuple[Replaced, ...]] = {}
    for one in replaced:
        after = one.heir.descriptive.provenance if one.heir else ()
        for page in set(one.fact.descriptive.provenance).difference(after):
            found[page] = (*found.get(page, ()), one)
    return found


def _with_heirs(reader: Reader, facts: Iterable[MemCube]) -> dict[str, MemCube]:
    """These facts, what came in their place, and in the place of that, by id.

    A few steps are looked up one by one; of more, all facts of the succession are read at once.
    """
    known = {fact.id: fact for fact in facts}
    found = known
    for step in count():
        wanted = {heir for one in found.values() if (heir := one.version.superseded_by)}.difference(known)
        if not wanted:
            return known
        known |= (found := reader.get(wanted if step < _STEPS else reader.successions(wanted).difference(known)))
    return known


@dataclass(frozen=True, slots=True)
class _Heirs:
    """What held by a moment in the place of facts; each is looked for once, however many facts lead to it."""

    known: Mapping[str, MemCube]
    by: datetime
    found: dict[str, MemCube | None] = field(default_factory=dict)

    def of(self, fact: MemCube) -> MemCube | None:
        """What held in the place of a fact; None if that is over, too, or not to be read."""
        passed: dict[str, None] = {}
        heir: MemCube | None = fact
        while heir and has_given_way(heir, self.by):
            if heir.id in passed or heir.id in self.found:
                heir = self.found.get(heir.id)
                break
            passed[heir.id] = None
            heir = self.known.get(heir.version.superseded_by or "")
        if heir and heir.is_over(self.by):
            heir = None
        self.found.update(dict.fromkeys(passed, heir))
        return heir
