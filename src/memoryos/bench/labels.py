"""The labelled pages: what was said, and what should be learned from it."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from importlib import resources

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from memoryos.cube import Turn
from memoryos.kinds import Subject

_PACKAGE = "memoryos.bench.labelled"
_VALUE = ConfigDict(extra="forbid")


class Language(StrEnum):
    """A language with labelled pages; the value names the file."""

    ENGLISH = "english"
    CHINESE = "chinese"


class Collection(StrEnum):
    """A set of labelled pages."""

    PAGES = "pages"  #: exchanges in whole sentences
    MESSY = "messy"  #: messages as people type them: run-ons, typos, sarcasm, quotes, pets, corrections

    def file(self, language: Language) -> str:
        """The name of the file with its pages in that language."""
        return f"{language}.jsonl" if self is Collection.PAGES else f"{self}_{language}.jsonl"


class Split(StrEnum):
    """Which half of the labelled pages."""

    DEV = "dev"  #: rules may be made for its mistakes
    HELD_OUT = "held_out"  #: written before anything was measured on it


@dataclass(frozen=True, slots=True, config=_VALUE)
class FactLabel:
    """A fact that should be found."""

    subject: Subject
    quote: str  #: words of the page that only this fact has


@dataclass(frozen=True, slots=True, config=_VALUE)
class ProfileLabel:
    """A profile field that should be found."""

    subject: Subject
    field: str
    value: str


@dataclass(frozen=True, slots=True, config=_VALUE)
class LabelledPage:
    """A page and everything that should be learned from it."""

    id: str
    split: Split
    kind: str  #: what sort of talk it is, such as "travel", "order" or "hypothetical"
    turns: tuple[Turn, ...]
    facts: tuple[FactLabel, ...]
    profile: tuple[ProfileLabel, ...]
    traits: tuple[str, ...] = field(default=())  #: dimensions of the built-in persona schema, of the user

    @property
    def is_empty(self) -> bool:
        """Whether neither a fact nor a profile field should be found."""
        return not self.facts and not self.profile


_PAGE = TypeAdapter(LabelledPage)


def load(language: Language, collection: Collection = Collection.PAGES) -> list[LabelledPage]:
    """All labelled pages of a language."""
    content = resources.files(_PACKAGE).joinpath(collection.file(language)).read_text(encoding="utf-8")
    return [_PAGE.validate_json(line) for line in content.splitlines()]
