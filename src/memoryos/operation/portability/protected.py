"""Protected: a memory that goes out of a store or comes into it, with the words that a policy allows."""

from __future__ import annotations

from dataclasses import replace

from memoryos.about import About
from memoryos.cube import MemCube, Page, Segment
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.page_entries import topic_words
from memoryos.privacy.protection import OwnerProtection


def protected(privacy: OwnerProtection, cube: MemCube) -> MemCube:
    """The memory with the allowed words, and the tags and keywords that belong to them. Raises PrivacyRefused."""
    told = About(privacy.tags(cube.payload, cube.descriptive)).add_to(privacy.value("", cube))
    if told.payload == cube.payload or isinstance(told.payload, Segment):
        return told
    words = topic_words(told.payload) if isinstance(told.payload, Page) else keywords(told.meaning)
    return replace(told, behaviour=replace(told.behaviour, fingerprint=tuple(words)))
