"""Lessons: what was learned, on its way into LPM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.about import NOTHING, About, about_of
from memoryos.cube import Fact, MemCube, ProfileField, Trait
from memoryos.infrastructure.vault.records import Vector
from memoryos.kinds import AccessMode, Origin, SemanticType
from memoryos.privacy.protection import OwnerProtection
from memoryos.text_cache import text_cache

Learned = Fact | Trait | ProfileField
Identity = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something learned from pages, with its vector when it is a fact."""

    payload: Learned
    pages: tuple[str, ...]
    event_at: datetime  #: when it was last said
    semantic_type: SemanticType
    origin: Origin
    derived_by: str | None = None
    vector: Vector | None = None
    moments: tuple[datetime, ...] = ()  #: when each of the pages said it; `event_at` for all when left out
    mode: AccessMode = AccessMode.PRIVATE
    is_over: bool = False  #: of a profile field: it no longer holds; an empty value stands for whichever did
    about: About = NOTHING  #: what was said of it beside its words
    is_told: bool = False  #: a caller says it now, whom its labels can be refused
    is_published: bool = False  #: by a trusted source: what contradicts it is not changed, but a change proposed

    @property
    def first_at(self) -> datetime:
        """When it was first said."""
        return min(self.moments, default=self.event_at)

    @property
    def only_contradicts(self) -> bool:
        """Whether all it says is that a trait does not show: that makes no trait, but weakens one that is known."""
        return isinstance(self.payload, Trait) and bool(self.pages) and set(self.pages) <= set(self.payload.counter)

    def protected(self, privacy: OwnerProtection) -> Lesson:
        """Return it with the words that may be stored. Raises PrivacyRefused."""
        if privacy.is_off:
            return self
        tags = privacy.tags(self.payload, self.about)
        about = privacy.value("", self.about).tagged(tags)
        return replace(self, payload=privacy.value("", self.payload), about=about)

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing: a model's empty answer is no lesson."""
        if self.is_over:
            return False
        payload = self.payload
        said = payload.value if isinstance(payload, ProfileField) else payload.text
        return not said.strip()


def lesson_of(cube: MemCube) -> Lesson:
    """The lesson that says what a stored memory says."""
    if not isinstance(cube.payload, Learned):
        raise TypeError(f"{type(cube.payload).__name__} is not a part of a persona")
    known = cube.descriptive
    return Lesson(
        cube.payload, known.provenance, known.event_at, known.semantic_type, known.origin, about=about_of(cube)
    )


def identity(payload: object) -> Identity:
    """The key of a memory: equal facts, the same dimension or the same field are one memory."""
    if isinstance(payload, Fact):
        return fact_identity(payload, payload.text)
    if isinstance(payload, Trait):
        return (payload.type, payload.subject, payload.dimension)
    if isinstance(payload, ProfileField):
        return (payload.type, payload.subject, payload.field)
    raise TypeError(f"{type(payload).__name__} is not a part of a persona")


def fact_identity(fact: Fact, text: str) -> Identity:
    """The identity that the fact would have in these words."""
    return (fact.type, fact.subject, _plain(text))


def identities(payload: object) -> tuple[Identity, ...]:
    """The identities under which a memory is known: that of each of its wordings."""
    if isinstance(payload, Fact):
        return tuple(fact_identity(payload, text) for text in (payload.text, *payload.wordings))
    return (identity(payload),)


@text_cache(16_384)
def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
