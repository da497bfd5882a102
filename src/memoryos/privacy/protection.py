"""Protection: what a policy does with the personal data and secrets in what a caller passes.

Values are walked as a whole: every text of a dataclass, a tuple or a dict is searched, unless its field is named in
`_KEPT`. A field that is added later is therefore searched, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar, cast

from memoryos.errors import PrivacyRefused
from memoryos.privacy.detector import detect
from memoryos.privacy.pseudonyms import Pseudonyms
from memoryos.privacy.sensitive import PrivacyAction, SensitiveKind, SensitiveSpan
from memoryos.scope import Scope

TAG = "privacy:"  # before the kind, in the tags of a memory

# Fields with ids, names of the library and hashes. Whose a memory is, is no content: choose user ids that say nothing.
_KEPT = {
    "MemCube": {"id", "scope", "version"},
    "Descriptive": {"provenance"},
    "Mention": {"source"},
    "Trait": {"counter"},
    "Blob": {"sha256", "format"},
}
_LONG = 10**6  # a smaller number is no number of a person
_BYTES = ("blob:", "data:")  # how the URI of an attachment begins if it stands for bytes

_Value = TypeVar("_Value")
_Rewrite = Callable[[str, str], Any]  # the place and the text


@dataclass(frozen=True, slots=True)
class Protection:
    """The policy of one store."""

    action: PrivacyAction = PrivacyAction.OFF
    kinds: frozenset[SensitiveKind] = frozenset(SensitiveKind)  #: what it applies to
    pseudonyms: Pseudonyms | None = None

    @classmethod
    def of(cls, action: PrivacyAction, kinds: frozenset[SensitiveKind], key: str | None) -> Protection:
        """Make the policy. Raises InvalidInput for a missing or short key, MissingExtra for a key without the extra."""
        needs_key = action is PrivacyAction.PSEUDONYM or key is not None
        return cls(action, kinds, Pseudonyms.of(key) if needs_key else None)

    def for_owner(self, owner: Scope) -> OwnerProtection:
        """The policy for what one user says."""
        return OwnerProtection(self, owner)

    def found(self, text: str) -> list[SensitiveSpan]:
        """What the policy applies to in a text."""
        return [span for span in detect(text) if span.kind in self.kinds]


UNPROTECTED = Protection()


@dataclass(frozen=True, slots=True)
class OwnerProtection:
    """The policy of a store for the memories of one user."""

    policy: Protection
    owner: Scope

    @property
    def is_off(self) -> bool:
        """Whether nothing is searched for."""
        return self.policy.action is PrivacyAction.OFF

    @property
    def rewrites(self) -> bool:
        """Whether other words are stored than those that were said."""
        return self.policy.action in (PrivacyAction.MASK, PrivacyAction.PSEUDONYM)

    @property
    def refuses(self) -> bool:
        """Whether what holds such data is not stored at all."""
        return self.policy.action is PrivacyAction.REFUSE

    def text(self, field: str, text: str) -> str:
        """Return the text as it may be stored. Raises PrivacyRefused."""
        return text if self.is_off else self._stored(field, text)

    def value(self, field: str, value: _Value) -> _Value:
        """Return a value with all of its texts as they may be stored. Raises PrivacyRefused."""
        if self.is_off or self.policy.action is PrivacyAction.TAG:
            return value
        return cast("_Value", _walked(field, value, self._stored))

    def tags(self, *values: object) -> tuple[str, ...]:
        """The tags that these values get; none unless the policy is to tag."""
        if self.policy.action is not PrivacyAction.TAG:
            return ()
        kinds: set[SensitiveKind] = set()

        def look(_: str, text: str) -> str:
            kinds.update(span.kind for span in self.policy.found(text))
            return text

        for value in values:
            _walked("", value, look)
        return tuple(f"{TAG}{kind.value}" for kind in SensitiveKind if kind in kinds)

    def question(self, text: str) -> str:
        """Return a question in the words that memories have. It is never refused, because it is not stored."""
        return text if self.policy.action in (PrivacyAction.OFF, PrivacyAction.TAG) else self.masked(text)

    def masked(self, text: str) -> str:
        """Return the text with pseudonyms or masks, never refused."""
        return self._without(text, self.policy.found(text))

    def revealed(self, text: str) -> str:
        """Return the text with the pseudonyms of this user turned back. Raises InvalidInput."""
        return (self.policy.pseudonyms or Pseudonyms.of(None)).revealed(text, self.owner)

    def _stored(self, field: str, text: str) -> str:
        if self.policy.action is PrivacyAction.TAG or not (found := self.policy.found(text)):
            return text
        if self.policy.action is PrivacyAction.REFUSE:
            raise PrivacyRefused(field, [span.kind.value for span in found])
        return self._without(text, found)

    def _without(self, text: str, found: list[SensitiveSpan]) -> str:
        if not found:
            return text
        edges = [0, *(edge for span in found for edge in (span.start, span.end)), len(text)]
        pieces = [text[start:end] for start, end in pairwise(edges)]
        for number, span in enumerate(found):
            pieces[2 * number + 1] = self._instead(span.kind, pieces[2 * number + 1])
        return "".join(pieces)

    def _instead(self, kind: SensitiveKind, text: str) -> str:
        if self.policy.action is PrivacyAction.PSEUDONYM and self.policy.pseudonyms is not None:
            return self.policy.pseudonyms.hidden(kind, text, self.owner)
        return f"[{kind.value}]"


def _walked(place: str, value: Any, rewrite: _Rewrite) -> Any:
    """The value with each of its texts rewritten; itself if nothing changes."""
    if type(value) is str:  # and no enum
        return rewrite(place, value)
    if type(value) is int and abs(value) >= _LONG:  # a card number may be a number of JSON
        told = rewrite(place, str(value))
        return value if told == str(value) else told
    if isinstance(value, Mapping):
        return {rewrite(place, key): _walked(f"{place}.{key}", one, rewrite) for key, one in value.items()}
    if isinstance(value, tuple | list):
        walked = [_walked(f"{place}[{number}]", one, rewrite) for number, one in enumerate(value)]
        return value if all(map(_is, walked, value)) else type(value)(walked)
    return _fields_walked(place, value, rewrite) if is_dataclass(value) and not isinstance(value, type) else value


def _fields_walked(place: str, value: Any, rewrite: _Rewrite) -> Any:
    changed = {}
    for name, old in _texts_of(value):
        inner = place if name == "text" and place else f"{place}.{name}".lstrip(".")
        if name == "uri" and isinstance(old, str) and old.startswith(_BYTES):
            continue
        new = _json_walked(inner, old, rewrite) if name == "metadata" and old else _walked(inner, old, rewrite)
        if new is not old:
            changed[name] = new
    return replace(value, **changed) if changed else value


def _texts_of(value: Any) -> Iterator[tuple[str, Any]]:
    kept: Set[str] = _KEPT.get(type(value).__name__, set())
    return ((one.name, getattr(value, one.name)) for one in fields(value) if one.name not in kept)


def _json_walked(place: str, text: str, rewrite: _Rewrite) -> str:
    known = json.loads(text)
    walked = _walked(place, known, rewrite)
    return text if walked == known else json.dumps(walked, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _is(new: object, old: object) -> bool:
    return new is old
