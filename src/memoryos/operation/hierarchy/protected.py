"""Protected: a memory that goes out of a store or comes into it, with the words that a policy allows."""

from __future__ import annotations

from dataclasses import replace

from memoryos.about import About
from memoryos.config import Settings
from memoryos.cube import MemCube, Page, Segment
from memoryos.language.words import keywords, words
from memoryos.operation.hierarchy.page_entries import topic_words
from memoryos.privacy.protection import OwnerProtection, Protection
from memoryos.privacy.sensitive import PrivacyAction, SensitiveKind


def protection_of(settings: Settings, action: PrivacyAction) -> Protection:
    """What these settings do with personal data and secrets, where that is done to them."""
    key = settings.privacy_key.get_secret_value() if settings.privacy_key else None
    return Protection.of(action, frozenset(settings.privacy_kinds or SensitiveKind), key, settings.privacy_names)


def protected(privacy: OwnerProtection, cube: MemCube) -> MemCube:
    """The memory with the allowed words, and the tags and keywords that belong to them. Raises PrivacyRefused."""
    told = About(privacy.tags(cube.payload, cube.descriptive)).add_to(privacy.value("", cube))
    if isinstance(told.payload, Segment):
        return replace(told, payload=_without_parts(told.payload)) if privacy.rewrites else told
    if told.payload == cube.payload:
        return told
    topics = topic_words(told.payload) if isinstance(told.payload, Page) else keywords(told.meaning)
    return replace(told, behaviour=replace(told.behaviour, fingerprint=tuple(topics)))


def _without_parts(segment: Segment) -> Segment:
    """The segment with the keywords that its summary has: others may be parts of an address on one of its pages."""
    said = set(words(segment.summary))
    return replace(segment, keywords=tuple(one for one in segment.keywords if one[0] in said))
