"""How right an extractor is, on pages that are labelled by hand (`labelled/`).

What is found is right when a label says the same: a fact when it rests on the labelled words and has the labelled
subject, a profile field when subject, field and value agree, a trait when its dimension is labelled. Everything else
that is found is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from memoryos.bench.labels import Collection, FactLabel, LabelledPage, Language, ProfileLabel, Split, load
from memoryos.cube import Behaviour, Descriptive, Fact, MemCube, Page, ProfileField, Trait
from memoryos.kinds import Origin, SemanticType, Tier
from memoryos.operation.consolidation.extractor import Extractor
from memoryos.scope import Scope

SAID_AT = datetime(2024, 5, 6, 12, 0, tzinfo=UTC)  # a Monday; birth years are labelled as ages seen from here
_SCOPE = Scope(user="labelled")

_Found = TypeVar("_Found", bound=Fact | ProfileField | Trait)
_Label = TypeVar("_Label", bound=FactLabel | ProfileLabel | str)


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of found and wanted items."""

    found: int = 0
    right: int = 0  #: of the found
    labelled: int = 0
    recalled: int = 0  #: of the labelled

    @property
    def precision(self) -> float:
        """The part of the found that is right; 1 when nothing was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The part of the labelled that was found; 1 when nothing is labelled."""
        return self.recalled / self.labelled if self.labelled else 1.0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.found + other.found,
            self.right + other.right,
            self.labelled + other.labelled,
            self.recalled + other.recalled,
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """One page, or several together: the counts, and what they count as wrong or missed."""

    facts: Count = Count()
    profile: Count = Count()
    traits: Count = Count()
    wrong: tuple[str, ...] = ()  #: `page id: what was found`, for reading
    missed: tuple[str, ...] = ()  #: `page id: what was labelled`, for reading

    @property
    def together(self) -> Count:
        """Facts and profile fields: what is told back to the user as known."""
        return self.facts + self.profile

    def __add__(self, other: Judgement) -> Judgement:
        return Judgement(
            self.facts + other.facts,
            self.profile + other.profile,
            self.traits + other.traits,
            self.wrong + other.wrong,
            self.missed + other.missed,
        )


@dataclass(frozen=True, slots=True)
class MeasuredExtraction:
    """The results of an extractor in one language."""

    extractor: str
    language: Language
    pages: tuple[tuple[Split, int], ...]
    halves: tuple[tuple[Split, Judgement], ...]

    def half(self, split: Split) -> Judgement:
        """The results on one half of the pages."""
        return dict(self.halves)[split]

    @property
    def total(self) -> Judgement:
        """Both halves."""
        return sum((judgement for _, judgement in self.halves), Judgement())


def measure(extractor: Extractor, language: Language, collection: Collection = Collection.PAGES) -> MeasuredExtraction:
    """Run the extractor on each labelled page of a language, and count."""
    pages = load(language, collection)
    by_split = [(split, [page for page in pages if page.split is split]) for split in Split]
    return MeasuredExtraction(
        extractor.name,
        language,
        tuple((split, len(half)) for split, half in by_split),
        tuple((split, sum((judge(extractor, page) for page in half), Judgement())) for split, half in by_split),
    )


def judge(extractor: Extractor, page: LabelledPage) -> Judgement:
    """Compare what the extractor finds in a page with its labels."""
    found = [finding.payload for finding in extractor.extract([_cube(page)]) if not finding.is_over]
    facts = _compared(page.id, [item for item in found if isinstance(item, Fact)], page.facts, _is_fact)
    profile = _compared(page.id, [item for item in found if isinstance(item, ProfileField)], page.profile, _is_field)
    traits = _compared(page.id, [item for item in found if isinstance(item, Trait)], page.traits, _is_trait)
    return Judgement(
        facts.count,
        profile.count,
        traits.count,
        facts.wrong + profile.wrong + traits.wrong,
        facts.missed + profile.missed + traits.missed,
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    count: Count
    wrong: tuple[str, ...]
    missed: tuple[str, ...]


def _compared(
    page: str, found: Sequence[_Found], labels: Sequence[_Label], agree: Callable[[_Found, _Label], bool]
) -> _Compared:
    wrong = [item for item in found if not any(agree(item, label) for label in labels)]
    missed = [label for label in labels if not any(agree(item, label) for item in found)]
    count = Count(len(found), len(found) - len(wrong), len(labels), len(labels) - len(missed))
    return _Compared(
        count,
        tuple(f"{page}: {item.type} {item.text}" for item in wrong),
        tuple(f"{page}: {_described(label)}" for label in missed),
    )


def _is_fact(found: Fact, label: FactLabel) -> bool:
    """Whether the words it rests on hold the labelled ones, or are more than half of them, or one of their clauses."""
    quote, wanted = _plain(found.quote).rstrip(" .!"), _plain(label.quote).rstrip(" .!")
    is_part = quote in wanted and (2 * len(quote) > len(wanted) or _is_clause(quote, wanted))
    return (wanted in quote or is_part) and found.subject is label.subject


def _is_clause(quote: str, wanted: str) -> bool:
    """Whether it is one of the statements that the words make one after the other."""
    before, behind = r"(?:^|, (?:and )?|\band |\bbut |[，；])", r"(?:$|,|\.| and\b| but\b|[，；。])"
    return re.search(f"{before}{re.escape(quote)}{behind}", wanted) is not None


def _is_field(found: ProfileField, label: ProfileLabel) -> bool:
    return (found.subject, found.field, _plain(found.value)) == (label.subject, label.field, _plain(label.value))


def _is_trait(found: Trait, label: str) -> bool:
    return found.dimension == label


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


def _described(label: FactLabel | ProfileLabel | str) -> str:
    if isinstance(label, FactLabel):
        return f"fact {label.subject} {label.quote}"
    if isinstance(label, ProfileLabel):
        return f"profile {label.subject} {label.field} {label.value}"
    return f"trait {label}"


def _cube(page: LabelledPage) -> MemCube:
    return MemCube(
        id=page.id,
        scope=_SCOPE,
        tier=Tier.STM,
        payload=Page(turns=page.turns),
        descriptive=Descriptive(
            event_at=SAID_AT,
            recorded_at=SAID_AT,
            updated_at=SAID_AT,
            origin=Origin.IMPORT,
            semantic_type=SemanticType.DIALOGUE,
        ),
        behaviour=Behaviour(last_access=SAID_AT),
    )
