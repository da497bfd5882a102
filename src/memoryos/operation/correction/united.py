"""United: what a merge makes of the words of a memory and of new ones.

A page keeps its lines and gets those that it does not have. A fact has one value: the one that was said later.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memoryos.cube import Fact, MemCube, Payload, ProfileField
from memoryos.kinds import Origin
from memoryos.operation.knowledge.likeness import more_specific, says_the_same
from memoryos.operation.recall.repetition import plain_words

BY_MERGE = "merge"  # in the place of what derived a fact: its time is that of the merged words


def with_new_lines(old: str, new: str) -> str:
    """The old text, and each line of the new one that it does not have, apart from case, spaces and punctuation."""
    known = {plain_words(line) for line in old.splitlines()}
    added = list[str]()
    for line in new.splitlines():
        words = plain_words(line)
        if words and words not in known:
            known.add(words)
            added.append(line.strip())
    return "\n".join([old, *added] if old else added)


def later_value(cube: MemCube, old: Fact | ProfileField, new: Fact | ProfileField, at: datetime) -> Payload:
    """The value that was said later; of two that say the same, the wording that says more, beside the other one."""
    said, text = _value(old), _value(new)
    is_same = plain_words(said) == plain_words(text) or says_the_same(said, text)
    if is_same and more_specific(said, text) == said:
        return _with_wording(old, text)
    if at < _said_last(cube):
        return old
    return _with_wording(new, said) if is_same else new


def _value(payload: Fact | ProfileField) -> str:
    return payload.text if isinstance(payload, Fact) else payload.value


def _with_wording(payload: Fact | ProfileField, text: str) -> Payload:
    """The fact with these words beside its own ones; a profile field has one wording."""
    if isinstance(payload, ProfileField):
        return payload
    known = {plain_words(one) for one in (payload.text, *payload.wordings)}
    return payload if plain_words(text) in known else replace(payload, wordings=(*payload.wordings, text))


def _said_last(cube: MemCube) -> datetime:
    """When the value of a fact was said last, in a page or by a caller who corrected it."""
    known = cube.descriptive
    is_corrected = cube.version.number > 1 and known.origin is Origin.USER_INPUT and known.derived_by != BY_MERGE
    moments = [known.event_at, *(mention.said for mention in known.mentions)]
    return max([*moments, known.updated_at] if is_corrected else moments)
